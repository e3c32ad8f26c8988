"""Claims settled by measured runs: one run a side, several, and what a file cannot tell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.experiment.terms import Term
from tutor.errors import TutorError
from tutor.lab.claim_line import LineError, read_statements
from tutor.lab.measured import MeasuredRun, blocks, load_measured, settle_measured


def saved(path: Path, ttfts_s: list[float], gaps_s: list[float] | None = None, failed: int = 0) -> MeasuredRun:
    """A run as `vllm bench serve --save-detailed` has it: a request a second, each with the same gaps."""
    gaps = gaps_s or [0.02, 0.02]
    count = len(ttfts_s)
    data = {
        "input_lens": [100] * (count + failed),
        "output_lens": [len(gaps) + 1] * count + [0] * failed,
        "start_times": [float(n) for n in range(count + failed)],
        "ttfts": [*ttfts_s, *([0.0] * failed)],
        "itls": [gaps] * count + [[]] * failed,
    }
    path.write_text(json.dumps(data), encoding="utf-8")
    return load_measured(path)


def settle(line: str, changed: list[MeasuredRun], baseline: list[MeasuredRun] | None = None) -> tuple[str, str]:
    """The verdict and what is noted about the first statement."""
    terms = read_statements(line, ["all"], compares=bool(baseline))
    outcome = settle_measured(terms, changed, baseline or [])
    return outcome.verdict, outcome.terms[0].note


def test_equal_times_decide_at_once(tmp_path: Path) -> None:
    run = saved(tmp_path / "a.json", [0.1] * 40)
    assert settle("ttft mean at most 100.1 ms", [run])[0] == "supported"
    assert settle("ttft mean at most 99 ms", [run])[0] == "refuted"
    assert settle("itl p50 between 19 and 21 ms and e2e mean at most 0.2 s", [run])[0] == "supported"


def test_the_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    times = [0.05 + 0.001 * n for n in range(101)]
    run = saved(tmp_path / "a.json", times)
    terms = read_statements(
        "ttft p50 at most 1 s and e2e mean at most 1 s and tokens/s at least 1", ["all"], compares=False
    )
    middle, whole, rate = settle_measured(terms, [run]).terms
    assert middle.estimate == pytest.approx(0.1)
    assert middle.interval is not None
    assert middle.interval[0] < 0.1 < middle.interval[1]
    assert middle.samples == 101
    assert whole.estimate == pytest.approx(0.1 + 0.04)
    # 101 requests of three tokens from second 0 to the last token of the one sent at second 100.
    assert rate.estimate == pytest.approx(303 / (100 + 0.15 + 0.04))


def test_two_runs_that_differ_are_told_apart_and_two_alike_are_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    slow, fast, alike = (
        saved(tmp_path / f"{name}.json", list(rng.normal(mean, 0.01, 200)))
        for name, mean in (("slow", 0.2), ("fast", 0.1), ("alike", 0.2))
    )
    assert settle("ttft mean lower by 40 %", [fast], [slow])[0] == "supported"
    assert settle("ttft mean higher", [fast], [slow])[0] == "refuted"
    assert settle("ttft mean lower by 5 %", [alike], [slow])[0] == "refuted"
    assert settle("ttft mean lower by 60 %", [fast], [slow])[0] == "refuted"


def test_several_runs_a_side_are_replications(tmp_path: Path) -> None:
    # Means of 100, 102, 104 before and 90, 92, 94 after: Welch's 95 % interval of −10 is ± 2.776 · sqrt(8/3) = 4.53.
    before = [saved(tmp_path / f"b{n}.json", [t] * 20) for n, t in enumerate((0.1, 0.102, 0.104))]
    after = [saved(tmp_path / f"a{n}.json", [t] * 20) for n, t in enumerate((0.09, 0.092, 0.094))]
    outcome = settle_measured([Term("all.ttft_s.mean", "at_most", 0.0, "difference")], after, before)
    (one,) = outcome.terms
    assert outcome.replications == 3
    assert one.interval == pytest.approx((-0.01453, -0.00547), rel=2e-3)
    assert outcome.verdict == "supported"


def test_what_is_too_few_is_undetermined(tmp_path: Path) -> None:
    assert settle("ttft mean at most 1 s", [saved(tmp_path / "a.json", [0.1] * 3)]) == (
        "undetermined",
        "3 requests in a run; it takes 8",
    )
    verdict, note = settle("ttft p99 at most 1 s", [saved(tmp_path / "b.json", [0.1] * 50)])
    assert verdict == "undetermined"
    assert "p99 of 50 samples" in note


@pytest.mark.parametrize("metric", ["all.goodput", "all.queue_s.p95", "all.attainment"])
def test_limits_and_queues_are_not_in_a_result_file(tmp_path: Path, metric: str) -> None:
    run = saved(tmp_path / "a.json", [0.1] * 20)
    with pytest.raises(TutorError, match="cannot be read off a result file"):
        settle_measured([Term(metric, "at_most", 1.0)], [run])


def test_failed_requests_are_left_out_and_counted(tmp_path: Path) -> None:
    run = saved(tmp_path / "a.json", [0.1] * 20, failed=4)
    assert (len(run.requests), run.failed) == (20, 4)
    path = tmp_path / "none.json"
    with pytest.raises(TutorError, match="no request of it completed"):
        saved(path, [], failed=3)


def test_changes_have_no_place_in_a_claim_about_files() -> None:
    with pytest.raises(LineError, match="two files"):
        read_statements("server.max_seqs -> 4: itl p95 at most 50 ms", ["all"], compares=True)


@given(st.integers(1, 300), st.integers(1, 20), st.integers(0, 2**32))
def test_blocks_are_rows_of_the_run_and_neighbours_mostly_stay_together(count: int, times: int, seed: int) -> None:
    rows = blocks(count, times, np.random.default_rng(seed))
    assert rows.shape == (times, count)
    assert rows.min() >= 0
    assert rows.max() < count
    if count >= 16:
        together = (np.diff(rows, axis=1) % count == 1).mean()
        assert together > 0.8
