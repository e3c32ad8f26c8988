"""Sweeps that are kept point by point: resumed after a kill, equal wherever they run, never all in memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import ScenarioError
from sim.__main__ import main
from sim.experiment import Budget, Term
from sim.sweep.goal import seek
from sim.sweep.kept import Kept
from sim.sweep.plan import Grid, LatinHypercube, Range, parse_range
from sim.sweep.run import locally, on_dask

QUEUE = """
name: A queue
classes:
  - {name: job, prompt_tokens: 1, output_tokens: 1, arrivals: {kind: poisson, rate_per_s: 5, count: 400}}
server: {policy: vllm, max_seqs: 1}
step_cost: {kind: linear, base_s: 0.1}
"""
METRICS = ("job.ttft_s.p95", "requests_per_s")


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    path = tmp_path / "queue.yaml"
    path.write_text(QUEUE)
    return path


def rows(path: Path) -> dict[int, dict[str, object]]:
    found = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert len({row["point"] for row in found}) == len(found)
    return {row["point"]: row for row in found}


# ---- points ----------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_a_grid_holds_every_combination_once_and_makes_none_before_it_is_asked(sizes: list[int]) -> None:
    grid = Grid(tuple((f"seed{axis}", range(size)) for axis, size in enumerate(sizes)))
    points = [grid[number] for number in range(len(grid))]
    assert len(set(points)) == len(points)
    assert points == sorted(points)
    if len(points) > 1:
        assert points[1][-1][1] == (1 if sizes[-1] > 1 else 0)


def test_a_grid_of_millions_takes_no_room() -> None:
    grid = Grid((("a", range(1000)), ("b", range(1000))))
    assert grid[999_999] == (("a", 999), ("b", 999))
    with pytest.raises(ScenarioError, match="more than"):
        Grid((("a", range(100_000)), ("b", range(1000))))


@settings(deadline=None)  # the first one imports SciPy
@given(st.integers(1, 60), st.integers(0, 1000))
def test_a_hypercube_has_one_point_in_every_slice(count: int, seed: int) -> None:
    cube = LatinHypercube([Range("a", 2.0, 4.0), Range("b", 0.0, 1.0)], count, seed)
    for axis, (low, width) in enumerate(((2.0, 2.0), (0.0, 1.0))):
        slices = sorted(int((float(str(cube[n][axis][1])) - low) / width * count) for n in range(count))
        assert slices == list(range(count))
    assert cube.identity == LatinHypercube([Range("a", 2.0, 4.0), Range("b", 0.0, 1.0)], count, seed).identity


def test_ranges_of_whole_numbers_give_whole_numbers() -> None:
    cube = LatinHypercube([parse_range("server.max_seqs=1..4")], 400, 1)
    values = [cube[number][0][1] for number in range(400)]
    assert set(values) == {1, 2, 3, 4}
    assert all(type(value) is int for value in values)


@pytest.mark.parametrize("text", ["a", "a=1", "a=1..x", "=1..2", "a=1..inf"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="--range"):
        parse_range(text)


# ---- kept ------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), max_size=80), st.integers(0, 60))
def test_each_point_is_kept_once_whatever_is_torn_off(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], cut: int
) -> None:
    path = tmp_path_factory.mktemp("kept") / "points.jsonl"
    kept = Kept(path, "x", 31)
    for point in order:
        kept.put(point, {"value": point * 2})
    kept.close()
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) - min(cut, len(raw))])
    again = Kept(path, "x", 31)
    for point in range(31):
        again.put(point, {"value": point * 2})
    again.close()
    assert {point: row["value"] for point, row in rows(path).items()} == {point: point * 2 for point in range(31)}


def test_a_file_of_another_sweep_or_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    Kept(path, "x", 5).close()
    with pytest.raises(ScenarioError, match="another sweep"):
        Kept(path, "y", 5)
    path.write_text("notes\n")
    with pytest.raises(ScenarioError, match="no file of a sweep"):
        Kept(path, "x", 5)
    assert path.read_text() == "notes\n"


def test_a_sweep_goes_to_parquet_and_the_same_command_runs_nothing_twice(
    queue: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "points.parquet"
    command = ["sweep", str(queue), "--set", "seed=1,2,3", "--set", "server.max_seqs=1,2", "--jobs", "1",
               "--metric", "job.ttft_s.p95", "--out", str(out)]  # fmt: skip
    assert main(command) == 0
    table = pq.read_table(out).to_pylist()
    assert [row["point"] for row in table] == list(range(6))
    assert table[0]["job.ttft_s.p95"] > table[1]["job.ttft_s.p95"]
    before = (tmp_path / "points.jsonl").read_bytes()
    assert main(command) == 0
    assert "6 of them from before" in capsys.readouterr().out
    assert (tmp_path / "points.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["--latin", "4"],
        ["--range", "seed=1..4"],
        ["--set", "seed=1,2", "--range", "seed=1..4", "--latin", "2"],
        ["--range", "seed=4..1", "--latin", "2"],
        ["--set", "seed=1,2", "--dask", "tcp://127.0.0.1:1"],
        [],
    ],
)
def test_options_that_do_not_go_together_are_one_sentence(
    queue: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(queue), *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_processes_give_the_points_that_one_process_gives(queue: Path) -> None:
    grid = Grid((("seed", range(1, 13)),))
    one = dict(locally(str(queue), grid, range(12), METRICS, 1, lambda: False))
    two = dict(locally(str(queue), grid, range(12), METRICS, 2, lambda: False))
    assert one == two
    assert len(one) == 12


@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on_and_loses_and_doubles_nothing(queue: Path, tmp_path: Path) -> None:
    out = tmp_path / "points.jsonl"
    command = [sys.executable, "-m", "sim", "sweep", str(queue), "--jobs", "1", "--out", str(out)]
    command += ["--set", f"seed={','.join(map(str, range(1, 301)))}", "--metric", "job.ttft_s.p95"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 40
    while (not out.exists() or len(out.read_bytes().splitlines()) < 30) and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = len(out.read_bytes().splitlines()) - 1
    assert 0 < before < 300
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "300 of 300 points" in done.stdout
    assert set(rows(out)) == set(range(300))


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_gives_what_one_machine_gives(queue: Path) -> None:
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen([*command, "--no-dashboard"], stderr=subprocess.PIPE, text=True)
    workers: list[subprocess.Popen[str]] = []
    try:
        assert scheduler.stderr is not None
        address = ""
        while not address:
            line = scheduler.stderr.readline()
            assert line or scheduler.poll() is None
            if "Scheduler at:" in line:
                address = line.split("Scheduler at:")[1].strip()
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        workers = [
            subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", address, *options],
                             stderr=subprocess.DEVNULL, text=True)
            for _ in range(2)
        ]  # fmt: skip
        grid = Grid((("seed", range(1, 241)),))
        found, killed = {}, False
        for number, point in on_dask(address, str(queue), grid, range(240), METRICS, lambda: False):
            assert number not in found
            found[number] = point
            if len(found) > 60 and not killed:
                os.kill(workers[0].pid, signal.SIGKILL)
                killed = True
        assert killed
        assert found == dict(locally(str(queue), grid, range(240), METRICS, 1, lambda: False))
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def test_an_address_without_a_scheduler_is_one_sentence(queue: Path) -> None:
    with pytest.raises(ScenarioError, match="no scheduler answers"):
        list(on_dask("not an address", str(queue), Grid((("seed", [1]),)), range(1), METRICS, lambda: False))


# ---- goals -----------------------------------------------------------------------------------------


def test_the_largest_rate_lies_where_the_queueing_formula_puts_it(queue: Path) -> None:
    # M/D/1 with s = 0.1 s: mean TTFT s + ρs/(2(1-ρ)) is 0.2 s at ρ = 2/3, which is 6.67 requests a second.
    goal = seek(
        str(queue), Range("classes.job.arrivals.rate_per_s", 2.0, 9.5), [Term("job.ttft_s", "at_most", 0.2)], "largest",
        changes=[("classes.job.arrivals.count", 4000)], budget=Budget(replications=16, seconds=20, jobs=1),
        tolerance=0.03,
    )  # fmt: skip
    assert goal.monotone
    assert goal.kept is not None
    assert goal.broken is not None
    # A run of 4,000 begins empty and so is a little quicker than the endless one of the formula: within one per cent.
    assert goal.kept < 6.67 * 1.01
    assert goal.broken > 6.67
    assert goal.broken - goal.kept < 0.9


def test_the_smallest_number_of_seats_is_a_whole_number(queue: Path) -> None:
    # All at once: with k seats the last of 20 jobs of 0.1 s ends after ceil(20 / k) / 10 s.
    changes = [("classes.job.arrivals", {"kind": "burst", "count": 20})]
    goal = seek(
        str(queue), Range("server.max_seqs", 1, 20), [Term("all.e2e_s.max", "at_most", 0.3001)], "smallest",
        changes=changes, budget=Budget(replications=4, jobs=1),
    )  # fmt: skip
    assert (goal.kept, goal.broken, goal.open_) == (7.0, 6.0, ())


def test_where_nothing_keeps_it_that_is_said(queue: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["goal", str(queue), "--largest", "server.max_seqs=1..3", "--require", "job.ttft_s<=0.01"]
    assert main([*command, "--replications", "4"]) == 1
    assert "no value of server.max_seqs looked at is shown" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--largest", "server.max_seqs=3..1", "--require", "job.ttft_s<=1"], "lower end"),
        (["--largest", "server.max_seqs=1..3", "--require", "job.ttft_s"], "--require"),
        (["--largest", "server.max_seqs=1..3", "--require", "job.ttf_s<=1"], "no metric"),
        (["--largest", "server.max_seqs=1..3"], "no class has a limit"),
    ],
)
def test_a_goal_that_cannot_be_sought_is_one_sentence(
    queue: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["goal", str(queue), *arguments]) == 2
    assert says in capsys.readouterr().err
