"""Attempts to overturn a verdict: what each changes, that the mean load stays, and the line that sums it up."""

from __future__ import annotations

import pytest

from sim import Scenario, simulate
from sim.experiment.comparison import compare
from sim.experiment.terms import Budget, Term
from tutor.lab.overturn import PROBES, Probed, overturn, summary
from tutor.lab.scenario_text import STARTER, check, with_field

SMALL = Budget(replications=4, seconds=20, jobs=1)


def scenario(text: str) -> Scenario:
    """The scenario of a text that is one."""
    found = check(text).scenario
    assert found is not None
    return found


SHORT = scenario(STARTER.replace("count: 1500", "count: 300"))
PAIR = scenario(with_field(STARTER.replace("count: 1500", "count: 300"), "fleet.replicas", "2"))


def silent(done: int, total: int, what: str) -> None:
    """Nobody watches."""


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_every_probe_gives_a_scenario_that_runs_with_as_many_requests(probe) -> None:  # type: ignore[no-untyped-def]
    for one in (SHORT, PAIR):
        changed = probe.change(one)
        if changed is None:
            assert probe.name.startswith("a replica lost")
            assert len(one.fleet.replicas) == 1
            continue
        assert Scenario.model_validate(changed.model_dump()) == changed
        result = simulate(changed)
        assert result.counts.submitted == 300
        if "traffic" not in probe.name:
            # The mean rate of arrivals is the same: the load changes in its shape only.
            arrivals = result.columns["arrival"] / 1e12
            assert 300 / float(arrivals.max()) == pytest.approx(10.0, rel=0.5)


def test_bursts_are_burstier_and_a_cv_of_two_is_more_uneven() -> None:
    import numpy as np

    def cv(one: Scenario) -> float:
        gaps = np.diff(np.sort(simulate(one).columns["arrival"]))
        return float(gaps.std() / gaps.mean())

    by_name = {probe.name: probe for probe in PROBES}
    plain = cv(SHORT)
    for name in ("bursts of 4 times the rate", "arrivals with a CV of 2"):
        other = by_name[name].change(SHORT)
        assert other is not None
        assert cv(other) > 1.3 * plain


def test_a_lost_replica_overturns_what_two_just_manage() -> None:
    # 40 requests/s of 200 tokens are about what two replicas of 16 seats can do.
    text = with_field(with_field(STARTER, "fleet.replicas", "2"), "server.max_seqs", "16")
    tight = scenario(text.replace("rate_per_s: 10, count: 1500", "rate_per_s: 12, count: 600"))
    term = Term("chat.ttft_s.p95", "at_most", 0.5)
    outcome = compare(None, tight, [term], SMALL)
    assert outcome.verdict == "supported"
    probed = {one.name: one for one in overturn(None, tight, [term], outcome.verdict, silent, lambda: False, SMALL)}
    assert len(probed) == len(PROBES)
    assert not probed["other seeds"].flips
    assert probed["a replica lost for a third of the time"].flips
    line = summary(["chat TTFT p95 at most 500 ms"], outcome, list(probed.values()))
    assert line.startswith("For the stated mix and targets, chat TTFT p95 at most 500 ms, in ")
    assert "Overturned by: " in line
    assert "a replica lost for a third of the time" in line.partition("Held under")[0]
    assert line.endswith("Not shown: real hardware.")


def test_stopping_keeps_what_was_tried_and_given_times_have_no_rate_to_vary() -> None:
    asked = iter([False, False, True])
    term = Term("chat.ttft_s.p95", "at_most", 5.0)
    found = overturn(None, SHORT, [term], "supported", silent, lambda: next(asked, True), SMALL)
    assert len(found) <= 1
    fixed = scenario(STARTER.replace("{kind: poisson, rate_per_s: 10, count: 1500}", "{kind: times, times_s: [0.0]}"))
    tried = overturn(None, fixed, [Term("chat.ttft_s.mean", "at_most", 5.0)], "supported", silent, lambda: False, SMALL)
    assert [one.name for one in tried if one.outcome is not None] == ["other seeds", "lengths with a longer tail"]
    assert all(isinstance(one, Probed) and (one.outcome or one.note) for one in tried)
