"""Attempts to overturn a verdict: the same statements where the load, the machines or the draws are otherwise.

A probe changes both sides in the same way, so that the claimed change stays the only difference. What a scenario has
no room for (a lost replica where there is one) is not tried, and is named among what was not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sim.errors import ScenarioError
from sim.experiment.comparison import Outcome, compare
from sim.experiment.terms import Budget, Term

if TYPE_CHECKING:
    from sim import Scenario
    from sim.traffic import TrafficClass

OTHER_SEEDS: Final = 1_000_000
BURST: Final = 4.0
"""How many times the mean rate comes while a burst lasts."""
BURST_REQUESTS: Final = 40
"""Requests in a burst, in the mean."""
CV: Final = 2.0
MORE: Final = 1.2
SPREAD: Final = 0.8
"""Sigma of lognormal lengths where the scenario's are fixed; 0.4 more where they are lognormal."""
OUTAGE: Final = 1 / 3
"""Part of the arrivals' time for which a replica is gone, from a third of it on."""
COLD: Final = 0.05
"""Part of that time in which nothing is there at the start."""
BUDGET: Final = Budget(replications=16, seconds=15.0, requests=3_000_000)


@dataclass(frozen=True, slots=True)
class Probe:
    """One other world."""

    name: str
    change: Callable[[Scenario], Scenario | None]
    """None where the scenario has no room for it."""
    missing: str
    """Why it has none."""
    seed_shift: int = 0
    warm_up: bool = True
    """Whether the start is left out; it is what a cold start is about."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe gave."""

    name: str
    outcome: Outcome | None
    flips: bool
    """Whether the verdict there is the opposite one."""
    note: str = ""
    """Why it was not tried or did not run."""


def overturn(
    baseline: Scenario | None,
    changed: Scenario,
    terms: Sequence[Term],
    verdict: str,
    progress: Callable[[int, int, str], None],
    stop: Callable[[], bool],
    budget: Budget = BUDGET,
) -> list[Probed]:
    """Settle the statements under every probe; those not begun when stopped are left out. Blocking."""
    found: list[Probed] = []
    for number, probe in enumerate(PROBES):
        if stop():
            break
        progress(number, len(PROBES), probe.name)
        sides = [None if one is None else probe.change(one) for one in (baseline, changed)]
        if sides[1] is None or (baseline is not None and sides[0] is None):
            found.append(Probed(probe.name, None, False, probe.missing))
            continue
        seed = changed.seed + probe.seed_shift
        try:
            outcome = compare(sides[0], sides[1], terms, budget, first_seed=seed, warm_up=probe.warm_up, stop=stop)
        except ScenarioError as error:
            found.append(Probed(probe.name, None, False, str(error)))
            continue
        if stop():
            break
        opposite = {"supported": "refuted", "refuted": "supported"}.get(verdict, "")
        found.append(Probed(probe.name, outcome, outcome.verdict == opposite))
    return found


def summary(terms_words: Sequence[str], outcome: Outcome, probed: Sequence[Probed]) -> str:
    """One line: what holds for what, because of what, and what was not shown."""
    what = " and ".join(terms_words)
    head = {
        "supported": f"For the stated mix and targets, {what}",
        "refuted": f"For the stated mix and targets it is not so that {what}",
        "undetermined": f"It is open whether {what}",
    }[outcome.verdict]
    because = f", in {outcome.replications} runs on the same requests ({outcome.requests:,} of them)"
    over = [one.name for one in probed if one.flips]
    held = [one.name for one in probed if one.outcome is not None and one.outcome.verdict == outcome.verdict]
    open_ = [one.name for one in probed if one.outcome is not None and one.outcome.verdict == "undetermined"]
    untried = [f"{one.name} ({one.note})" for one in probed if one.outcome is None]
    parts = [f"{head}{because}."]
    if probed and outcome.verdict == "undetermined":
        decided = [
            f"{one.name} ({one.outcome.verdict})"
            for one in probed
            if one.outcome is not None and one.outcome.verdict != "undetermined"
        ]
        parts.append(f"Decided under: {', '.join(decided)}." if decided else "Open under all that was tried, too.")
    elif probed:
        parts.append(f"Overturned by: {', '.join(over)}." if over else "Nothing that was tried overturned it.")
        parts += [f"Held under: {', '.join(held)}."] if held else []
        parts += [f"Undecided under: {', '.join(open_)}."] if open_ else []
    unseen = [*untried, "real hardware"] if probed else ["other loads and faults, not tried yet", "real hardware"]
    parts.append(f"Not shown: {'; '.join(unseen)}.")
    return " ".join(parts)


# ---- the probes ------------------------------------------------------------------------------------


def _same(scenario: Scenario) -> Scenario:
    return scenario


def _arrivals(scenario: Scenario, change: Callable[[float, dict[str, Any]], dict[str, Any]]) -> Scenario | None:
    """Other arrivals for every class that comes at one rate with gaps of its own."""

    def each(item: TrafficClass) -> dict[str, Any] | None:
        arrivals = item.arrivals.model_dump()
        if arrivals["kind"] not in ("poisson", "gamma", "deterministic"):
            return None
        return {"arrivals": change(arrivals["rate_per_s"], arrivals)}

    return _classes(scenario, each)


def _classes(scenario: Scenario, change: Callable[[TrafficClass], dict[str, Any] | None]) -> Scenario | None:
    from sim.traffic import TrafficClass

    classes, found = [], False
    for item in scenario.classes:
        update = change(item)
        if update:
            found = True
            item = TrafficClass.model_validate(
                {**{name: getattr(item, name) for name in item.model_fields_set}, **update}
            )
        classes.append(item)
    return scenario.model_copy(update={"classes": tuple(classes)}) if found else None


def _more(scenario: Scenario) -> Scenario | None:
    return _arrivals(scenario, lambda rate, kept: {**kept, "rate_per_s": rate * MORE})


def _bursts(scenario: Scenario) -> Scenario | None:
    def bursts(rate: float, kept: dict[str, Any]) -> dict[str, Any]:
        on_s = BURST_REQUESTS / (BURST * rate)
        return {
            "kind": "bursts",
            "on_rate_per_s": BURST * rate,
            "on_s": on_s,
            "off_rate_per_s": 0.0,
            "off_s": (BURST - 1) * on_s,
            "count": kept["count"],
            "start_s": kept.get("start_s", 0.0),
        }

    return _arrivals(scenario, bursts)


def _uneven(scenario: Scenario) -> Scenario | None:
    def uneven(rate: float, kept: dict[str, Any]) -> dict[str, Any]:
        return {
            "kind": "gamma",
            "rate_per_s": rate,
            "cv": CV,
            "count": kept["count"],
            "start_s": kept.get("start_s", 0.0),
        }

    return _arrivals(scenario, uneven)


def _spread(scenario: Scenario) -> Scenario | None:
    """Lengths with the same median and a longer tail."""

    def each(item: TrafficClass) -> dict[str, Any] | None:
        update: dict[str, Any] = {}
        for name in ("prompt_tokens", "output_tokens"):
            length = getattr(item, name)
            if length is None or (name == "prompt_tokens" and item.prefix is not None):
                continue
            data = length.model_dump()
            if data["dist"] == "fixed" and data["tokens"] > 1:
                update[name] = {
                    "dist": "lognormal",
                    "median_tokens": data["tokens"],
                    "sigma": SPREAD,
                    "max_tokens": 4 * data["tokens"],
                }
            elif data["dist"] == "lognormal":
                update[name] = {**data, "sigma": min(data["sigma"] + SPREAD / 2, 5.0)}
        return update or None

    return _classes(scenario, each)


def _span_s(scenario: Scenario) -> float | None:
    """How long the arrivals at given rates last, in the mean; None where no class has one."""
    spans = []
    for item in scenario.classes:
        rate, count = getattr(item.arrivals, "rate_per_s", None), getattr(item.arrivals, "count", None)
        if rate and count:
            spans.append(count / rate)
    return max(spans, default=None)


def _fleet(scenario: Scenario, **update: Any) -> Scenario:
    from sim.fleet.spec import Fleet

    kept = {name: getattr(scenario.fleet, name) for name in scenario.fleet.model_fields_set}
    return scenario.model_copy(update={"fleet": Fleet.model_validate({**kept, **update})})


def _loss(scenario: Scenario) -> Scenario | None:
    span = _span_s(scenario)
    if span is None or len(scenario.fleet.replicas) < 2:
        return None
    last = len(scenario.fleet.replicas) - 1
    fault = {"kind": "loss", "replica": last, "at_s": span / 3, "down_s": span * OUTAGE}
    return _fleet(scenario, faults=(*scenario.fleet.faults, fault))


def _slow(scenario: Scenario) -> Scenario | None:
    span = _span_s(scenario)
    if span is None:
        return None
    fault = {"kind": "slow", "replica": 0, "from_s": span / 3, "to_s": span * (1 / 3 + OUTAGE), "factor": 1.5}
    return _fleet(scenario, faults=(*scenario.fleet.faults, fault))


def _cold(scenario: Scenario) -> Scenario | None:
    span = _span_s(scenario)
    if span is None:
        return None
    faults: Iterator[dict[str, Any]] = (
        {"kind": "loss", "replica": number, "at_s": 0.0, "down_s": span * COLD}
        for number in range(len(scenario.fleet.replicas))
    )
    return _fleet(scenario, faults=(*scenario.fleet.faults, *faults))


_NO_RATE: Final = "no arrivals come at a rate of their own"
PROBES: Final = (
    Probe("other seeds", _same, "", OTHER_SEEDS),
    Probe(f"{100 * (MORE - 1):.0f} % more traffic", _more, _NO_RATE),
    Probe(f"bursts of {BURST:g} times the rate", _bursts, _NO_RATE),
    Probe(f"arrivals with a CV of {CV:g}", _uneven, _NO_RATE),
    Probe("lengths with a longer tail", _spread, "no lengths that could vary"),
    Probe("a replica lost for a third of the time", _loss, "there is one replica, or no rate"),
    Probe("a replica 1.5 times slower for a third of the time", _slow, _NO_RATE),
    Probe("a cold start", _cold, _NO_RATE, warm_up=False),
)
