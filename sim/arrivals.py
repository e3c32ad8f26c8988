"""From a scenario's traffic classes to the requests that will arrive, as columns.

Each class draws its gaps, lengths and prefixes from streams of its own, seeded by the scenario's seed, the
class name and the use. Changing or adding one class leaves the others' requests as they were, and so does any
change of the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeVar, overload

from sim.arrival_times import arrival_times
from sim.draws import draw_lengths, draw_pairs, draw_prefixes, durations_s, stream
from sim.scenario import Scenario
from sim.ticks import TICKS_PER_S
from sim.traces.prefixes import Prefix
from sim.traffic import ClosedLoop, TraceArrivals, TrafficClass, request_count

__all__ = [
    "Arrival",
    "Body",
    "Prefix",
    "Requests",
    "arrival_times",
    "bodies",
    "durations_s",
    "generate",
    "label",
    "stream",
    "think_times",
]

Value = TypeVar("Value")


class Arrival(NamedTuple):
    """One request before it meets the server; `time` is in ticks."""

    time: int
    class_index: int
    number: int  # 1 for the first of its class
    prompt_tokens: int  # with the prefix
    output_tokens: int
    prefix: Prefix = ()
    priority: int = 0


class Body(NamedTuple):
    """What a request asks for, whenever it arrives."""

    prompt_tokens: int
    output_tokens: int
    prefix: Prefix


@dataclass(frozen=True, slots=True)
class Requests(Sequence[Arrival]):
    """Requests in order of arrival, a column for each of their properties.

    Read the columns where speed counts; as a sequence it makes an `Arrival` of a row when asked for it.
    """

    times: Sequence[int]  # ticks, ascending
    class_indexes: Sequence[int]
    numbers: Sequence[int]
    prompt_tokens: Sequence[int]
    output_tokens: Sequence[int]
    prefixes: Sequence[Prefix]  # () where nothing is shared
    priorities: Sequence[int]

    @property
    def columns(self) -> tuple[Sequence[int] | Sequence[Prefix], ...]:
        """The columns in the order of `Arrival`'s fields."""
        return (
            self.times,
            self.class_indexes,
            self.numbers,
            self.prompt_tokens,
            self.output_tokens,
            self.prefixes,
            self.priorities,
        )

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Arrival]:
        return map(
            Arrival,
            self.times,
            self.class_indexes,
            self.numbers,
            self.prompt_tokens,
            self.output_tokens,
            self.prefixes,
            self.priorities,
        )

    @overload
    def __getitem__(self, index: int) -> Arrival: ...
    @overload
    def __getitem__(self, index: slice) -> Requests: ...
    def __getitem__(self, index: int | slice) -> Arrival | Requests:
        if isinstance(index, slice):
            return Requests(
                self.times[index],
                self.class_indexes[index],
                self.numbers[index],
                self.prompt_tokens[index],
                self.output_tokens[index],
                self.prefixes[index],
                self.priorities[index],
            )
        return Arrival(
            self.times[index],
            self.class_indexes[index],
            self.numbers[index],
            self.prompt_tokens[index],
            self.output_tokens[index],
            self.prefixes[index],
            self.priorities[index],
        )


# ---- lengths and prefixes --------------------------------------------------------------------------


class _Bodies(NamedTuple):
    prompt_tokens: Sequence[int]
    output_tokens: Sequence[int]
    prefixes: Sequence[Prefix]


class _Drawer:
    """The streams that a class's requests get their lengths and prefixes from."""

    def __init__(self, item: TrafficClass, seed: int) -> None:
        self._item = item
        self._prompts = stream(seed, item.name, "prompt_tokens")
        self._outputs = stream(seed, item.name, "output_tokens")
        self._pairs = stream(seed, item.name, "lengths")
        self._prefixes = stream(seed, item.name, "prefix")

    def draw(self, count: int) -> _Bodies:
        """The next `count` requests of the class."""
        item = self._item
        drawn = self._lengths(count)
        if item.prefix is None:
            return drawn
        system = draw_prefixes(item.prefix, item.name, self._prefixes, count)
        return _Bodies(
            [prompt + item.prefix.tokens for prompt in drawn.prompt_tokens],
            drawn.output_tokens,
            [first + rest for first, rest in zip(system, drawn.prefixes, strict=True)]
            if any(drawn.prefixes)
            else system,
        )

    def _lengths(self, count: int) -> _Bodies:
        item = self._item
        if item.lengths is not None:
            prompts, outputs = draw_pairs(item.lengths, self._pairs, count)
            return _Bodies(prompts, outputs, [()] * count)
        if item.prompt_tokens is None or item.output_tokens is None:
            # Then the class replays a trace, and its requests come with their lengths.
            assert isinstance(item.arrivals, TraceArrivals)
            trace = item.arrivals.trace
            return _Bodies(trace.prompt_tokens, trace.output_tokens, trace.prefixes)
        prompts = draw_lengths(item.prompt_tokens, self._prompts, count)
        outputs = draw_lengths(item.output_tokens, self._outputs, count)
        return _Bodies(prompts, outputs, [()] * count)


def bodies(item: TrafficClass, seed: int) -> Iterator[Body]:
    """What a closed loop's first, second, … request asks for, without end."""
    drawer = _Drawer(item, seed)
    while True:
        one = drawer.draw(1)
        yield Body(one.prompt_tokens[0], one.output_tokens[0], one.prefixes[0])


# ---- closed loops ---------------------------------------------------------------------------------


def think_times(item: TrafficClass, seed: int) -> Iterator[int]:
    """Think times of a closed loop in ticks, without end, in the order in which they are needed.

    Raises ValueError for a class whose arrivals are not a closed loop.
    """
    if not isinstance(item.arrivals, ClosedLoop):
        raise ValueError(f"class {item.name!r} is not a closed loop")
    times_s = durations_s(item.arrivals.think_s, stream(seed, item.name, "think"))
    return (round(time_s * TICKS_PER_S) for time_s in times_s)


# ---- requests --------------------------------------------------------------------------------------


def generate(scenario: Scenario) -> Requests:
    """All requests in order of arrival; at equal times in the order of the classes.

    Classes that are closed loops send none here: `bodies` and `think_times` say what they will send.
    """
    parts = [_class_requests(index, item, scenario.seed) for index, item in enumerate(scenario.classes)]
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    times = list(chain.from_iterable(part.times for part in parts))
    order = sorted(range(len(times)), key=times.__getitem__)
    return Requests(
        [times[i] for i in order],
        _merged(order, (part.class_indexes for part in parts)),
        _merged(order, (part.numbers for part in parts)),
        _merged(order, (part.prompt_tokens for part in parts)),
        _merged(order, (part.output_tokens for part in parts)),
        _merged(order, (part.prefixes for part in parts)),
        _merged(order, (part.priorities for part in parts)),
    )


def _merged(order: Sequence[int], columns: Iterable[Sequence[Value]]) -> list[Value]:
    joined = list(chain.from_iterable(columns))
    return [joined[i] for i in order]


def _class_requests(index: int, item: TrafficClass, seed: int) -> Requests:
    times = arrival_times(item, seed)
    count = len(times)
    drawn = _Drawer(item, seed).draw(count)
    return Requests(
        times,
        [index] * count,
        range(1, count + 1),
        drawn.prompt_tokens,
        drawn.output_tokens,
        drawn.prefixes,
        [item.priority] * count,
    )


def label(item: TrafficClass, number: int) -> str:
    """What a person calls the request: the class name, numbered when the class sends several."""
    return item.name if request_count(item) == 1 else f"{item.name} {number}"
