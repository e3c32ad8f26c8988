"""Published what-ifs and directions that must keep coming out; `docs/experiments.md` has all of them."""

from __future__ import annotations

import pytest

from benchmarks.papers import distserve, order, paged, what_if
from benchmarks.papers.common import Claim, Experiment


def by_name(experiment: Experiment, start: str) -> Claim:
    """The one claim that starts so."""
    (found,) = [claim for claim in experiment.claims if claim.what.startswith(start)]
    return found


def test_what_ifs_of_the_measured_run() -> None:
    """Blocks, watermark and makespan of a measured vLLM run, as another simulation of it found them."""
    experiment = what_if.experiment()
    assert by_name(experiment, "preemptions").got == "186, 86, 46, 32"
    assert by_name(experiment, "the same with 1,500").verdict == "same"
    assert by_name(experiment, "time until all").verdict == "same within 1 %"
    ttft = float(by_name(experiment, "mean time to first token").got)
    assert abs(ttft / 65.46 - 1) < 0.005


@pytest.mark.slow
def test_blocks_on_demand_hold_about_four_times_the_requests() -> None:
    experiment = paged.experiment()
    assert by_name(experiment, "requests in the batch, paged over reserved for the longest").verdict.startswith("same")
    assert by_name(experiment, "rate over Orca(Max)").verdict == "same"
    assert by_name(experiment, "latency is flat").verdict == "same"


def test_short_answers_first_helps_the_mean_and_hurts_long_ones() -> None:
    assert by_name(order.experiment(), "mean end-to-end").verdict == "same direction"


@pytest.mark.slow
def test_splitting_the_phases_pays_under_two_limits() -> None:
    assert by_name(distserve.experiment(), "two prefill and one decode").verdict == "same direction"
