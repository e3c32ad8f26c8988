"""A settled claim in words and numbers; the same on every face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tutor.lab.statements import named, shown_in, words_of
from tutor.lab.words import measured, signed

if TYPE_CHECKING:
    from sim.experiment.comparison import Outcome, TermOutcome
    from tutor.lab.overturn import Probed

SYMBOLS: Final[Mapping[str, str]] = {"supported": "✓", "refuted": "✗", "undetermined": "?"}
STOPPED: Final[Mapping[str, str]] = {
    "decided": "every statement was decided",
    "nothing random": "every run gave the same: nothing in it is random",
    "budget": "the budget ended",
    "cancelled": "stopped by you",
    "too few samples": "a percentile has too few samples",
}


def effort_words(outcome: Outcome) -> str:
    """12 replications, 48,000 requests, 3.1 s; every statement was decided"""
    if outcome.stopped == "measured":
        return f"{outcome.requests:,} measured requests"
    return (
        f"{outcome.replications} replications, {outcome.requests:,} requests, {outcome.seconds:.1f} s; "
        f"{STOPPED.get(outcome.stopped, outcome.stopped)}"
    )


def numbers_words(outcome: TermOutcome) -> str:
    """The estimate with its interval, both sides, and how many samples a run has; or why there are none."""
    if outcome.estimate is None or outcome.interval is None:
        return f"{outcome.note[:1].upper()}{outcome.note[1:]}."
    _, factor, unit = shown_in(outcome)
    low, high = (value * factor for value in outcome.interval)
    say = signed if outcome.term.subject != "value" else measured
    known = f" [{say(low)}, {say(high)}] at {100 * outcome.level:.4g} %" if low != high else " in every run"
    _, scale, plain_unit = named(outcome.term.metric)
    sides = ""
    if outcome.baseline is not None and outcome.changed is not None:
        sides = f"; {measured(outcome.baseline * scale)} → {measured(outcome.changed * scale)} {plain_unit}"
    thin = f"; {outcome.note}" if outcome.note else f"; n {outcome.samples:,} a run"
    return f"{say(outcome.estimate * factor)} {unit}{known}{sides}{thin}"


def brief_words(outcome: Outcome) -> str:
    """The estimates with their intervals, in short."""
    parts = []
    for term in outcome.terms:
        if term.estimate is not None and term.interval is not None:
            _, factor, unit = shown_in(term)
            say = signed if term.term.subject != "value" else measured
            low, high = (value * factor for value in term.interval)
            parts.append(f"{say(term.estimate * factor)} [{say(low)}, {say(high)}] {unit}")
    return "; ".join(parts)


def claim_lines(outcome: Outcome) -> list[str]:
    """The verdict and every statement, as plain lines."""
    lines = [f"{SYMBOLS[outcome.verdict]} {outcome.verdict}  {effort_words(outcome)}"]
    for one in outcome.terms:
        lines += [f"{SYMBOLS[one.verdict]} {words_of(one.term)}: {one.verdict}", f"  {numbers_words(one)}"]
    return lines


def probe_line(one: Probed) -> str:
    """What one attempt to overturn it gave."""
    if one.outcome is None:
        return f"– {one.name}: not tried, {one.note}"
    over = "overturned: " if one.flips else ""
    return (
        f"{SYMBOLS[one.outcome.verdict]} {one.name}: {over}{one.outcome.verdict}  {brief_words(one.outcome)}".rstrip()
    )
