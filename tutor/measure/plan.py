"""Which requests are sent, and when: drawn from a scenario exactly as the simulator draws them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from sim.arrivals import bodies, generate, think_times
from sim.scenario import Scenario
from sim.ticks import TICKS_PER_S
from sim.traffic import ClosedLoop, TrafficClass, request_count
from tutor.errors import TutorError

MAX_REQUESTS = 100_000
BUSIEST_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class Planned:
    """One request to be sent; tokens as the scenario asks for them."""

    class_name: str
    number: int
    """From 1, within its class."""
    due_s: float
    """Open load: when it is sent, from the start. Closed load: how long its user thinks before it."""
    prompt_tokens: int
    output_tokens: int
    prefix: tuple[tuple[str, int], ...] = ()
    """Text that its prompt begins with and shares with others: (name, tokens), in order."""


@dataclass(frozen=True, slots=True)
class UserGroup:
    """A closed loop: so many users, each sending the next request once its last one ended and it has thought."""

    class_name: str
    users: int
    start_s: float
    requests: tuple[Planned, ...]


@dataclass(frozen=True, slots=True)
class Patience:
    """When a class's clients give up, seconds after sending; None: never."""

    first_token_s: float | None = None
    whole_s: float | None = None


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """All that a scenario says about the load, and nothing about the server."""

    open: tuple[Planned, ...]
    """In the order in which they are sent."""
    closed: tuple[UserGroup, ...]
    patience: dict[str, Patience] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Requests in all."""
        return len(self.open) + sum(len(group.requests) for group in self.closed)

    @property
    def busiest_rate_per_s(self) -> float:
        """Most open requests due within one second. A closed loop adapts to the server and is bounded by its users."""
        due = [request.due_s for request in self.open]
        busiest = first = 0
        for last, time_s in enumerate(due):
            while due[first] <= time_s - BUSIEST_WINDOW_S:
                first += 1
            busiest = max(busiest, last - first + 1)
        return busiest / BUSIEST_WINDOW_S

    @property
    def users(self) -> int:
        """Users of all closed loops together."""
        return sum(group.users for group in self.closed)

    @property
    def longest_tokens(self) -> int:
        """The most prompt and output tokens that one request has."""
        return max((each.prompt_tokens + each.output_tokens for each in self.requests()), default=0)

    def requests(self) -> Iterator[Planned]:
        """Every request, open ones first."""
        yield from self.open
        for group in self.closed:
            yield from group.requests


def plan_load(scenario: Scenario) -> LoadPlan:
    """Draw the requests of a scenario; with the same seed they are those that `simulate` serves.

    Raises:
        TutorError: more requests than one run may send, or a class that only a simulation can have.
    """
    count = sum(request_count(item) for item in scenario.classes)
    if count > MAX_REQUESTS:
        raise TutorError(
            f"{scenario.name}: {count:,} requests are more than the {MAX_REQUESTS:,} that one measurement sends.",
            hint="Lower the counts of its classes.",
        )
    for item in scenario.classes:
        if item.prefilled:
            raise TutorError(
                f"{scenario.name}: the class {item.name!r} comes with its prompt computed; no server does that.",
                hint="Remove `prefilled` from it.",
            )
        if item.client.retries.max:
            raise TutorError(
                f"{scenario.name}: the class {item.name!r} retries, and a measurement sends each request once.",
                hint="Set its retries.max to 0.",
            )
    drawn = generate(scenario)
    names = [item.name for item in scenario.classes]
    planned = tuple(
        Planned(names[each.class_index], each.number, each.time / TICKS_PER_S, each.prompt_tokens, each.output_tokens,
                tuple(each.prefix))
        for each in drawn
    )  # fmt: skip
    groups = tuple(
        _group(item, item.arrivals, scenario.seed) for item in scenario.classes if isinstance(item.arrivals, ClosedLoop)
    )
    patience = {item.name: Patience(item.patience_s, item.client.timeout_s) for item in scenario.classes}
    return LoadPlan(planned, groups, patience)


def _group(item: TrafficClass, loop: ClosedLoop, seed: int) -> UserGroup:
    thinks = think_times(item, seed)
    requests = tuple(
        Planned(item.name, number, next(thinks) / TICKS_PER_S, body.prompt_tokens, body.output_tokens,
                tuple(body.prefix))
        for number, body in enumerate(islice(bodies(item, seed), loop.count), start=1)
    )  # fmt: skip
    return UserGroup(item.name, loop.users, loop.start_s, requests)
