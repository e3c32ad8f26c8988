"""Colours can be told from their grounds: contrast by the formula of WCAG 2.2."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import Theme

from tutor.tui.theme import CONTRAST, THEMES


def luminance(color: Color) -> float:
    """Relative luminance of an sRGB colour."""

    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(part) for part in color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Of two colours, 1 to 21."""
    light, dark = sorted((luminance(Color.parse(one)), luminance(Color.parse(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_formula_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    # The standard's own example of grey that just passes on white.
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_text_colour_stands_out_from_every_ground(theme: Theme) -> None:
    least = 7.0 if theme is CONTRAST else 4.5
    named = ("primary", "secondary", "accent", "foreground", "success", "warning", "error")
    for name in named:
        for ground in ("background", "surface", "panel"):
            text, under = getattr(theme, name), getattr(theme, ground)
            assert contrast(text, under) >= least, f"{name} on {ground}: {contrast(text, under):.2f}"
    variables = theme.variables
    for name in ("footer-key-foreground", "footer-description-foreground"):
        assert contrast(variables[name], variables["footer-background"]) >= least
