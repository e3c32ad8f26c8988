"""Three themes of our own with one accent colour: it marks what can be done next, and nothing else.

Every text colour has a contrast of at least 4.5 to 1 against its grounds, 7 to 1 in `tutor-contrast` (WCAG 2.2, 1.4.3
and 1.4.6). Textual's own `ansi-dark` and `ansi-light` use the terminal's colours.
"""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

DARK: Final = Theme(
    name="tutor-dark",
    primary="#6fb3d2",
    secondary="#8a9ba8",
    accent="#6fb3d2",
    foreground="#d8dee4",
    background="#14181c",
    surface="#1a1f24",
    panel="#222930",
    success="#8fbf8f",
    warning="#d9b36c",
    error="#d98c8c",
    dark=True,
    variables={
        "footer-background": "#222930",
        "footer-key-foreground": "#6fb3d2",
        "footer-description-foreground": "#b4bec8",
        "border": "#3a444e",
        "border-blurred": "#3a444e",
    },
)
LIGHT: Final = Theme(
    name="tutor-light",
    primary="#1d5f80",
    secondary="#53626e",
    accent="#1d5f80",
    foreground="#1c2126",
    background="#f7f7f5",
    surface="#ffffff",
    panel="#e9ebec",
    success="#2c6b2c",
    warning="#7a5200",
    error="#8e2b2b",
    dark=False,
    variables={
        "footer-background": "#e9ebec",
        "footer-key-foreground": "#1d5f80",
        "footer-description-foreground": "#39434b",
        "border": "#b4bec8",
        "border-blurred": "#b4bec8",
    },
)
CONTRAST: Final = Theme(
    name="tutor-contrast",
    primary="#ffe14d",
    secondary="#d0d0d0",
    accent="#ffe14d",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    success="#7dff7d",
    warning="#ffb84d",
    error="#ff9d9d",
    dark=True,
    variables={
        "footer-background": "#1c1c1c",
        "footer-key-foreground": "#ffe14d",
        "footer-description-foreground": "#ffffff",
        "border": "#ffffff",
        "border-blurred": "#ffffff",
    },
)
THEMES: Final = (DARK, LIGHT, CONTRAST)
DEFAULT: Final = "tutor-dark"
