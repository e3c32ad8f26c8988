"""The largest or smallest value of a field that still keeps what is required, by bisection with intervals.

Each value is settled by replications (`sim.experiment.compare`), never by one run: it keeps the requirements, breaks
them, or cannot be told within the budget. The answer is therefore a place between the last value that is shown to keep
them and the first that is shown to break them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from sim.commands.files import load_changed
from sim.commands.overrides import Change
from sim.experiment.comparison import Outcome, compare
from sim.experiment.terms import Budget, Term, Verdict

if TYPE_CHECKING:
    from sim.sweep.plan import Range

SCOUTS: Final = 5
"""Values looked at first, over the whole range, to see whether keeping and breaking are on two sides at all."""
Tried = Callable[[float, Outcome], None]


@dataclass(frozen=True)
class Goal:
    """What was found."""

    path: str
    want: Literal["largest", "smallest"]
    kept: float | None
    """The outermost value that is shown to keep the requirements; None where none was."""
    broken: float | None
    """The nearest value beyond it that is shown to break them; None where the range ends first."""
    open_: tuple[float, ...]
    """Values between the two that the budget could not tell."""
    monotone: bool
    """Whether keeping and breaking lay on two sides, as bisection needs it."""
    tried: dict[float, Verdict] = field(default_factory=dict)
    notes: dict[float, str] = field(default_factory=dict)
    """Why a value could not be told, where it is known."""
    requests: int = 0


def seek(
    file: str,
    within: Range,
    terms: Sequence[Term],
    want: Literal["largest", "smallest"],
    *,
    changes: Sequence[Change] = (),
    tolerance: float = 0.02,
    budget: Budget | None = None,
    told: Tried | None = None,
    stop: Callable[[], bool] | None = None,
) -> Goal:
    """Find the outermost value in a range that keeps every requirement.

    Args:
        file: the scenario.
        within: the field and where its value may lie; whole numbers where both ends are.
        terms: what is required; all must hold.
        want: the largest or the smallest value.
        changes: made to the scenario first.
        tolerance: bisection ends at this share of the value (whole numbers: at neighbours).
        budget: for each value.
        told: called with each value and its outcome.
        stop: asked now and then.

    Raises:
        ScenarioError: a value makes no scenario, or a metric does not exist.
    """
    verdicts: dict[float, Verdict] = {}
    notes: dict[float, str] = {}
    requests = 0

    def settle(value: float) -> Verdict:
        nonlocal requests
        if value not in verdicts:
            exact = int(value) if within.whole else value
            scenario = load_changed(file, [*changes, (within.path, exact)])
            outcome = compare(None, scenario, terms, budget or Budget(replications=24, seconds=20), stop=stop)
            verdicts[value], requests = outcome.verdict, requests + outcome.requests
            why = [f"{each.term.metric}: {each.note}" for each in outcome.terms if each.note]
            if outcome.verdict == "undetermined" and why:
                notes[value] = why[0]
            if told is not None:
                told(value, outcome)
        return verdicts[value]

    for value in _spread(within, SCOUTS):
        settle(value)
        if stop is not None and stop():
            break
    ordered = sorted(verdicts, reverse=want == "smallest")
    said = [verdicts[value] for value in ordered if verdicts[value] != "undetermined"]
    monotone = said == sorted(said, key=lambda verdict: verdict != "supported")
    if monotone:
        _bisect(settle, verdicts, within, want, tolerance, stop)
    ordered = sorted(verdicts, reverse=want == "smallest")
    keeping = [value for value in ordered if verdicts[value] == "supported"]
    kept = keeping[-1] if keeping else None
    beyond = ordered[ordered.index(kept) + 1 :] if kept is not None else ordered
    broken = next((value for value in beyond if verdicts[value] == "refuted"), None)
    unknown = []
    for value in beyond:
        if value == broken:
            break
        unknown.append(value)
    return Goal(
        within.path, want, kept, broken, tuple(unknown), monotone, dict(sorted(verdicts.items())), notes, requests
    )


def _spread(within: Range, count: int) -> list[float]:
    step = (within.high - within.low) / (count - 1)
    found = [within.low + step * number for number in range(count)]
    return list(dict.fromkeys(float(round(value)) if within.whole else value for value in found))


def _bisect(
    settle: Callable[[float], Verdict],
    verdicts: dict[float, Verdict],
    within: Range,
    want: str,
    tolerance: float,
    stop: Callable[[], bool] | None,
) -> None:
    """Halve the gap between what keeps and what breaks; around what cannot be told, from both sides."""
    for wanted in ("supported", "refuted"):
        while stop is None or not stop():
            ordered = sorted(verdicts, reverse=want == "smallest")
            inside = [value for value in ordered if verdicts[value] == "supported"]
            outside = [value for value in ordered if verdicts[value] == "refuted"]
            if not inside or not outside:
                return
            near, far = inside[-1], outside[0]
            low, high = min(near, far), max(near, far)
            between = [value for value in ordered if verdicts[value] == "undetermined" and low < value < high]
            if between:
                near, far = (near, between[0]) if wanted == "supported" else (between[-1], far)
            middle = (near + far) / 2
            if within.whole:
                if abs(far - near) <= 1:
                    break
                middle = float(int(middle))
            elif abs(far - near) <= tolerance * max(abs(near), abs(far)):
                break
            settle(middle)
