"""A run in which more comes than is served says so, and a busy but stable one does not."""

from __future__ import annotations

import pytest

from sim import Result, parse_scenario, simulate
from sim.overload import overload
from sim.report import render_text


def run(rate_per_s: float, seed: int = 1, **server: object) -> Result:
    """One seat, and 0.1 s of service for each request: ten a second is the limit."""
    return simulate(
        parse_scenario(
            {
                "name": "one seat",
                "seed": seed,
                "classes": [
                    {
                        "name": "a",
                        "prompt_tokens": 10,
                        "output_tokens": 1,
                        "arrivals": {"kind": "poisson", "rate_per_s": rate_per_s, "count": 2000},
                    }
                ],
                "server": {"policy": "vllm", "max_seqs": 1, **server},
                "step_cost": {"kind": "linear", "base_s": 0.1},
            },
            "test",
        )
    )


@pytest.mark.parametrize("rate_per_s", [12.0, 20.0, 1000.0])
def test_twelve_a_second_are_too_many_for_ten(rate_per_s: float) -> None:
    found = overload(run(rate_per_s).log)
    assert found is not None
    assert found.arrivals_per_s == pytest.approx(rate_per_s, rel=0.1)
    assert found.ended_per_s == pytest.approx(10, rel=0.05)
    assert found.unfinished == pytest.approx(2000 * (1 - 10 / rate_per_s), rel=0.15)


@pytest.mark.parametrize("seed", range(1, 9))
def test_nine_a_second_are_a_long_queue_and_no_overload(seed: int) -> None:
    assert overload(run(9.0, seed).log) is None


def test_turning_requests_away_is_no_overload() -> None:
    result = run(30.0, queue_limit=5)
    assert result.counts.rejected > 1000
    assert overload(result.log) is None


def test_the_report_says_it_in_a_sentence() -> None:
    text = " ".join(render_text(run(20.0)).split())
    assert "unstable more came than was served:" in text
    assert "waits grow with the length of the run" in text
    assert "unstable" not in render_text(run(5.0))
