"""The lab's numbers and outcomes in words; the same on every face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tutor.lab.surprise import CALIBRATED_BITS, Range, surprise_bits

if TYPE_CHECKING:
    from tutor.checking import CheckedDirection, CheckedRun, CheckedValue
    from tutor.lab.predictions import Prediction

CONFIDENCE: Final[Mapping[int, str]] = {1: "not yet", 2: "getting there", 3: "confident"}
WHERE: Final[Mapping[str, str]] = {
    "inside": "inside your range",
    "above": "above your range",
    "below": "below your range",
}
MOVES: Final[Mapping[str, str]] = {"lower": "lower", "higher": "higher", "same": "about the same", "": ""}


class Row(NamedTuple):
    """A line of an outcome."""

    label: str
    mark: str
    """✓, ✗ or nothing."""
    text: str


def measured(value: float | None) -> str:
    """A number with three digits that tell runs apart, and all before the point; "no sample" where there is none."""
    if value is None:
        return "no sample"
    size = abs(value)
    if size >= 1e7:
        return f"{value:.4g}"
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.3g}"


def signed(value: float) -> str:
    """As `measured`, with the sign in front."""
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{measured(abs(value))}"


def predicted_row(made: Prediction) -> Row:
    """What was locked."""
    locked = made.locked
    goes = f", {MOVES[locked.direction]}" if locked.direction else ""
    return Row(
        "Predicted",
        "",
        f"{measured(locked.value)} {locked.unit}, between {measured(locked.low)} and {measured(locked.high)}, "
        f"{CONFIDENCE[locked.confidence]}{goes}",
    )


def outcome_rows(made: Prediction) -> list[Row]:
    """Predicted, and once it was run: simulated, compared, direction and surprise."""
    rows = [predicted_row(made)]
    found, unit = made.simulated, made.locked.unit
    if found is None:
        return rows
    known = (
        f"[{measured(found.low)}, {measured(found.high)}], the 95 % interval of the mean"
        if found.low != found.high
        else "in every run: nothing in it is random"
    )
    rows.append(Row("Simulated", "", f"{measured(found.value)} {unit} {known}"))
    rows.append(_compared(made))
    if found.baseline is not None:
        rows.append(_direction(made))
    bits = made.bits or 0.0
    rows.append(Row("Surprise", "", f"{bits:.1f} bits ({CALIBRATED_BITS:.1f} is the mean of honest ranges)"))
    return rows


def _compared(made: Prediction) -> Row:
    """Inside or outside, by which ratio, and by how much."""
    assert made.simulated is not None
    off = made.locked.value - made.simulated.value
    ratio = f"ratio {made.ratio:.2f}" if made.ratio is not None else "ratio –"
    exact = abs(off) < 1e-9 * max(1.0, abs(made.locked.value))
    how = "exactly" if exact else f"{signed(off)} {made.locked.unit} too {'high' if off > 0 else 'low'}"
    verdict = made.verdict or "inside"
    return Row("Compared", "✓" if verdict == "inside" else "✗", f"{WHERE[verdict]}, {ratio}, {how}")


def _direction(made: Prediction) -> Row:
    found = made.simulated
    assert found is not None
    low, high = found.difference_low, found.difference_high
    change = ""
    if low is not None and high is not None:
        change = f" by {signed((low + high) / 2)} {made.locked.unit}"
        if low != high:
            change += f" [{signed(low)}, {signed(high)}]"
    right = made.direction_right
    mark = "" if right is None else "✓" if right else "✗"
    return Row("Direction", mark, f"{MOVES[made.moved]}: from {measured(found.baseline)}{change}")


def range_row(value: CheckedValue, stated: Range, confidence: int | None) -> Row:
    """Whether a range that was stated for an item's number holds what came out, and how surprising that is."""
    outcome = value.reference if value.simulated is None else value.simulated
    inside = stated.holds(outcome)
    where = "inside" if inside else "above" if outcome > stated.high else "below"
    known = ""
    interval = None if value.interval is None else Range(*value.interval)
    if interval is not None:
        known = f", 95 % [{measured(interval.low)}, {measured(interval.high)}]"
    bits = ""
    if confidence is not None and value.predicted is not None:
        bits = f", {surprise_bits(value.predicted, stated, confidence, outcome, interval):.1f} bits"
    return Row(
        where,
        "✓" if inside else "✗",
        f"your {measured(stated.low)} to {measured(stated.high)} {value.unit}: {value.label}{known}{bits}",
    )


def move_row(one: CheckedDirection) -> Row:
    """Which way an item's metric went, beside what was predicted."""
    from sim.metrics import name_in_words

    went = "no sample" if one.moved is None else MOVES[one.moved]
    if one.predicted is None:
        return Row("", "–", f"{name_in_words(one.metric)}: {went}")
    right = one.predicted == one.moved
    tail = "" if right else f", you said {MOVES[one.predicted]}"
    return Row("", "✓" if right else "✗", f"{name_in_words(one.metric)}: {went}{tail}")


def runs_words(run: CheckedRun) -> str:
    """What the numbers of an item's run rest on."""
    exact = all(value.interval is None for value in run.values)
    runs = f"{run.runs} runs gave the same: nothing in it is random" if exact else f"means of {run.runs} runs"
    return f"{runs}; {CALIBRATED_BITS:.1f} bits is the mean of honest ranges"
