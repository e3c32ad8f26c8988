"""Predictions of one's own: locked, run, compared, explained; and all predictions of the store by topic."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ValidationError

from tutor.drills.wanted import want_topics
from tutor.errors import TutorError
from tutor.lab import events as ev
from tutor.lab.interval import estimate
from tutor.lab.surprise import Range, TopicSurprise, by_topic, surprise_bits

if TYPE_CHECKING:
    from pathlib import Path

    from question_bank import Bank
    from tutor.store import Store

Verdict = Literal["inside", "above", "below"]
REPLICATIONS: Final = 12
SAME_WITHIN: Final = 0.05
"""About the same: the mean moves by less than this part of the baseline."""


class PredictionError(TutorError):
    """A prediction cannot be locked, run or explained."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One prediction and what became of it."""

    id: str
    locked: ev.Locked
    at: datetime
    simulated: ev.Simulated | None = None
    explanation: str = ""

    @property
    def stated(self) -> Range:
        """The range."""
        return Range(self.locked.low, self.locked.high)

    @property
    def ratio(self) -> float | None:
        """Predicted over simulated; None before the run and where that is 0."""
        return None if self.simulated is None or not self.simulated.value else self.locked.value / self.simulated.value

    @property
    def verdict(self) -> Verdict | None:
        """Where the outcome lies to the range: `above` it, `below` it or inside; None before the run."""
        if self.simulated is None:
            return None
        if self.stated.holds(self.simulated.value):
            return "inside"
        return "above" if self.simulated.value > self.locked.high else "below"

    @property
    def moved(self) -> ev.Direction:
        """Which way the metric went; empty before the run and without a baseline."""
        found = self.simulated
        if found is None or found.baseline is None or found.difference_low is None or found.difference_high is None:
            return ""
        middle = (found.difference_low + found.difference_high) / 2
        if abs(middle) <= SAME_WITHIN * abs(found.baseline) or found.difference_low <= 0 <= found.difference_high:
            return "same"
        return "higher" if middle > 0 else "lower"

    @property
    def direction_right(self) -> bool | None:
        """Whether it went the predicted way; None where none was predicted or it was not run."""
        return None if not self.moved or not self.locked.direction else self.moved == self.locked.direction

    @property
    def missed(self) -> bool | None:
        """Outside the range, or the other way; None before the run."""
        return None if self.simulated is None else self.verdict != "inside" or self.direction_right is False

    @property
    def bits(self) -> float | None:
        """Bits of surprise; None before the run."""
        found, locked = self.simulated, self.locked
        if found is None:
            return None
        interval = Range(found.low, found.high)
        return surprise_bits(locked.value, self.stated, locked.confidence, found.value, interval)


def lock(store: Store, locked: ev.Locked, at: datetime, *, new_id: Callable[[], str] | None = None) -> Prediction:
    """Store a prediction; from here on it can be run and never changed.

    Raises:
        PredictionError: the same change was predicted for this metric and run before: its outcome has been seen.
        StoreError: it could not be written.
    """
    for known in predictions(store):
        same = (known.locked.scenario, known.locked.baseline, known.locked.metric) == (
            locked.scenario,
            locked.baseline,
            locked.metric,
        )
        if same and known.simulated is not None:
            raise PredictionError(
                f"This was run on {known.at:%Y-%m-%d}: a number that has been seen is no prediction.",
                hint="Change the scenario or choose another number.",
            )
    identity = (new_id or (lambda: secrets.token_hex(8)))()
    store.append(f"{ev.STREAM_PREFIX}{identity}", ev.Locked.kind, locked.model_dump(mode="json"), at)
    return Prediction(identity, locked, at)


def record(store: Store, prediction: Prediction, simulated: ev.Simulated, at: datetime) -> Prediction:
    """Store what came out; the first outcome counts, and a second one is not kept. A miss feeds the drills.

    Raises:
        StoreError: it could not be written.
    """
    if prediction.simulated is not None:
        return prediction
    done = replace(prediction, simulated=simulated)
    with store.writing():
        store.append(f"{ev.STREAM_PREFIX}{prediction.id}", simulated.kind, simulated.model_dump(mode="json"), at)
        if done.missed:
            want_topics(store, done.locked.topics, f"a prediction of {done.locked.metric} missed", at)
    return done


def explain(store: Store, prediction: Prediction, text: str, at: datetime) -> Prediction:
    """Store why it came out so.

    Raises:
        PredictionError: there is nothing to explain yet, or the text is empty or too long.
        StoreError: it could not be written.
    """
    if prediction.simulated is None:
        raise PredictionError("There is nothing to explain before the run.", hint="Run it first.")
    try:
        explained = ev.Explained(text=" ".join(text.split()))
    except ValidationError:
        raise PredictionError(
            f"An explanation has 1 to {ev.LONGEST_EXPLANATION} characters.", hint="Say it in one line."
        ) from None
    store.append(f"{ev.STREAM_PREFIX}{prediction.id}", explained.kind, explained.model_dump(mode="json"), at)
    return replace(prediction, explanation=explained.text)


def predictions(store: Store) -> list[Prediction]:
    """All of the lab's, in order of locking. Raises PredictionEventError for one that cannot be read."""
    found = []
    for stream in store.streams(ev.STREAM_PREFIX):
        made: Prediction | None = None
        for event in store.events(stream):
            payload = ev.parse(event.kind, event.payload)
            if isinstance(payload, ev.Locked) and made is None:
                made = Prediction(stream.removeprefix(ev.STREAM_PREFIX), payload, event.at)
            elif isinstance(payload, ev.Simulated) and made is not None and made.simulated is None:
                made = replace(made, simulated=payload)
            elif isinstance(payload, ev.Explained) and made is not None:
                made = replace(made, explanation=payload.text)
        if made is not None:
            found.append(made)
    return sorted(found, key=lambda one: (one.at, one.id))


# ---- running ---------------------------------------------------------------------------------------


def simulate_prediction(
    locked: ev.Locked,
    progress: Callable[[int, int, str], None],
    stop: Callable[[], bool],
    *,
    folder: Path | None = None,
    replications: int = REPLICATIONS,
    version: str = "",
) -> ev.Simulated | None:
    """Run both sides on the same requests, so many times on seeds that follow each other. Blocking.

    `folder` is where paths of recorded traces start. Runs that all give the same need no more than three. None when
    stopped before the second run.

    Raises:
        PredictionError: no run gives the metric a sample.
        ScenarioError: a scenario cannot be run.
    """
    from sim import simulate
    from tutor.lab.scenario_text import check
    from tutor.lab.words import measured

    begun = perf_counter()
    scenarios = [check(text, folder).scenario for text in (locked.scenario, locked.baseline) if text]
    if any(scenario is None for scenario in scenarios):
        raise PredictionError(
            "The scenario cannot be read any more.", hint="Open it in the lab; it says what is wrong."
        )
    pairs: list[tuple[float, ...]] = []
    requests = 0
    for number in range(replications):
        so_far = f"so far {measured(fmean(pair[0] for pair in pairs))} {locked.unit}" if pairs else ""
        progress(number, replications, so_far)
        values: list[float] = []
        for scenario in scenarios:
            assert scenario is not None
            result = simulate(scenario.model_copy(update={"seed": scenario.seed + number}), None, stop)
            if stop():
                break
            value = result.metric(locked.metric)
            requests += result.counts.submitted
            if value is not None:
                values.append(value * locked.scale)
        if stop():
            break
        if len(values) == len(scenarios):
            pairs.append(tuple(values))
        if number == 2 and (not pairs or len(set(pairs)) == 1):
            break
    if stop() and len(pairs) < 2:
        return None
    found = estimate([pair[0] for pair in pairs])
    if found is None:
        raise PredictionError(
            f"No run gave {locked.metric} a sample.", hint="Choose another number, or let requests complete."
        )
    other = estimate([pair[1] for pair in pairs]) if len(scenarios) > 1 else None
    difference = estimate([pair[0] - pair[1] for pair in pairs]) if len(scenarios) > 1 else None
    return ev.Simulated(
        value=found.mean,
        low=found.low,
        high=found.high,
        baseline=None if other is None else other.mean,
        difference_low=None if difference is None else difference.low,
        difference_high=None if difference is None else difference.high,
        runs=found.runs,
        requests=requests,
        seconds=perf_counter() - begun,
        version=version,
    )


# ---- all of them -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Past:
    """One predicted number with its outcome, from the lab or from an interview's prediction item."""

    at: datetime
    title: str
    what: str
    topics: tuple[str, ...]
    unit: str
    value: float
    stated: Range
    confidence: int
    outcome: float
    bits: float
    missed: bool
    explanation: str


def past_predictions(store: Store, bank: Bank | None = None) -> list[Past]:
    """All that were run, in order of time. Those of interviews count where a range was stated."""
    found = [_past(one) for one in predictions(store) if one.simulated is not None]
    found += _of_interviews(store, bank)
    return sorted(found, key=lambda one: one.at)


def topic_surprises(past: Sequence[Past]) -> tuple[TopicSurprise, ...]:
    """By topic, the most surprising first."""
    return by_topic((one.topics, one.bits, one.stated.holds(one.outcome), one.confidence) for one in past)


def _past(one: Prediction) -> Past:
    assert one.simulated is not None
    locked = one.locked
    what = locked.metric if not locked.changes else f"{locked.metric}, {'; '.join(locked.changes)}"
    return Past(
        one.at, locked.title, what, locked.topics, locked.unit, locked.value, one.stated, locked.confidence,
        one.simulated.value, one.bits or 0.0, bool(one.missed), one.explanation,
    )  # fmt: skip


def _of_interviews(store: Store, bank: Bank | None) -> Iterator[Past]:
    from tutor.interview.events import STREAM_PREFIX
    from tutor.interview.health import replayed

    topics_by_item = {item.id: item.topics for item in bank.items} if bank is not None else {}
    for stream in store.streams(STREAM_PREFIX):
        state = replayed(store, stream.removeprefix(STREAM_PREFIX))
        for entry in state.entries if state is not None else ():
            outcomes: dict[str, dict[str, Any]] = dict((entry.simulation or {}).get("values", {}))
            labels = {each["name"]: each for each in entry.question.get("expected", ())}
            for name, stated in entry.ranges.items():
                outcome = outcomes.get(name, {})
                value = outcome.get("simulated")
                value = outcome.get("reference") if value is None else value
                if value is None or name not in labels or entry.confidence is None or state is None:
                    continue
                bounds = Range(stated[0], stated[1])
                interval = outcome.get("interval")
                known = Range(interval[0], interval[1]) if interval else None
                predicted = entry.predictions[name]
                yield Past(
                    state.started_at,
                    str(entry.question.get("title", entry.item_id)),
                    str(labels[name]["label"]),
                    tuple(topics_by_item.get(entry.item_id, ())),
                    str(labels[name]["unit"]),
                    predicted,
                    bounds,
                    entry.confidence,
                    value,
                    surprise_bits(predicted, bounds, entry.confidence, value, known),
                    not bounds.holds(value),
                    entry.explanation,
                )
