"""A prediction beside what came out, in words, numbers and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tutor.lab.surprise import CALIBRATED_BITS, Range
from tutor.tui.safe import join
from tutor.tui.screens.lab_words import measured
from tutor.tui.words import CONFIDENCE

if TYPE_CHECKING:
    from tutor.lab.predictions import Prediction

WORDS = {"inside": "inside your range", "above": "above your range", "below": "below your range"}
MOVES = {"lower": "lower", "higher": "higher", "same": "about the same", "": ""}


def outcome_content(made: Prediction, width: int) -> Content:
    """Four lines, and a picture of both on one scale."""
    found, locked = made.simulated, made.locked
    assert found is not None
    unit = locked.unit
    interval = Range(found.low, found.high)
    width_known = found.low != found.high
    lines = [
        predicted_content(made),
        join(
            ("Simulated  ", "$secondary"),
            f"{measured(found.value)} {unit} "
            + (
                f"[{measured(found.low)}, {measured(found.high)}], the 95 % interval of the mean"
                if width_known
                else "in every run: nothing in it is random"
            ),
        ),
        verdict_content(made),
    ]
    if found.baseline is not None:
        lines.append(_moved_content(made))
    bits = made.bits or 0.0
    lines.append(
        join(
            ("Surprise   ", "$secondary"),
            f"{bits:.1f} bits ({CALIBRATED_BITS:.1f} is the mean of honest ranges)",
        )
    )
    lines.append(Content(""))
    lines.append(scale_picture(locked.value, made.stated, found.value, interval, width, found.baseline))
    return Content("\n").join(lines)


def predicted_content(made: Prediction) -> Content:
    """What was locked."""
    locked = made.locked
    return join(
        ("Predicted  ", "$secondary"),
        f"{measured(locked.value)} {locked.unit}, between {measured(locked.low)} and {measured(locked.high)}, "
        f"{CONFIDENCE[locked.confidence]}" + (f", {MOVES[locked.direction]}" if locked.direction else ""),
    )


def signed(value: float) -> str:
    """As `measured`, with the sign in front."""
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{measured(abs(value))}"


def verdict_content(made: Prediction) -> Content:
    """Right or wrong, by how much, and with its sign."""
    verdict = made.verdict or "inside"
    inside = verdict == "inside"
    assert made.simulated is not None
    off = made.locked.value - made.simulated.value
    ratio = f"ratio {made.ratio:.2f}" if made.ratio is not None else "ratio –"
    sign = "exactly" if abs(off) < 1e-9 * max(1.0, abs(made.locked.value)) else f"{signed(off)} {made.locked.unit}"
    how = "" if sign == "exactly" else (" too high" if off > 0 else " too low")
    return join(
        ("Compared   ", "$secondary"),
        (f"{'✓' if inside else '✗'} {WORDS[verdict]}", "$success" if inside else "$error"),
        f", {ratio}, {sign}{how}",
    )


def _moved_content(made: Prediction) -> Content:
    found = made.simulated
    assert found is not None
    assert found.baseline is not None
    right = made.direction_right
    low, high = found.difference_low, found.difference_high
    change = ""
    if low is not None and high is not None:
        middle = (low + high) / 2
        change = f"{signed(middle)} {made.locked.unit}"
        if low != high:
            change += f" [{signed(low)}, {signed(high)}]"
    return join(
        ("Direction  ", "$secondary"),
        (f"{'✓' if right else '✗'} ", "$success" if right else "$error") if right is not None else "",
        f"{MOVES[made.moved]}: from {measured(found.baseline)} by {change}",
    )


def scale_picture(
    predicted: float, stated: Range, outcome: float, interval: Range, width: int, baseline: float | None = None
) -> Content:
    """Both on one scale, the prediction above: the range with its number, below it the interval with its mean."""
    values = [predicted, stated.low, stated.high, outcome, interval.low, interval.high]
    values += [] if baseline is None else [baseline]
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0
    cells = max(20, width - 11)

    def column(value: float) -> int:
        return round((value - low) / span * (cells - 1))

    def row(name: str, between: Range, at: float, style: str) -> Content:
        bar = [" "] * cells
        first, last = column(between.low), column(between.high)
        for place in range(first, last + 1):
            bar[place] = "─"
        bar[first], bar[last] = "├", "┤"
        bar[column(at)] = "●"
        return join((f"{name:<11}", "$secondary"), ("".join(bar).rstrip(), style))

    lines = [row("you", stated, predicted, "$accent"), row("simulator", interval, outcome, "$foreground")]
    if baseline is not None:
        lines.append(join((f"{'baseline':<11}", "$secondary"), (" " * column(baseline) + "○", "$secondary")))
    left, right = measured(low), measured(high)
    lines.append(Content.styled(f"{'':<11}{left}{right:>{max(1, cells - len(left))}}", "$secondary"))
    return Content("\n").join(lines)
