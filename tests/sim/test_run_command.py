"""`python -m sim run` and `sweep`: changes, files, order, reasons, and an end before the end."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import ScenarioError, parse_scenario, simulate
from sim.__main__ import main
from sim.commands.overrides import apply_changes, parse_change, parse_choices
from sim.commands.progress import Watch
from sim.report import render_text


def crowd(requests: int) -> dict[str, object]:
    return {
        "name": "a crowd",
        "classes": [
            {
                "name": "chat",
                "prompt_tokens": 100,
                "output_tokens": 20,
                "arrivals": {"kind": "poisson", "rate_per_s": 10, "count": requests},
                "slo": {"ttft_s": 0.5},
            }
        ],
        "server": {"policy": "vllm", "max_seqs": 32},
        "step_cost": {"kind": "linear", "base_s": 0.01},
    }


# ---- changes ---------------------------------------------------------------------------------------


def test_values_of_changes_are_yaml() -> None:
    assert parse_change("server.max_seqs=16") == ("server.max_seqs", 16)
    assert parse_change("name=a=b") == ("name", "a=b")
    assert parse_change("horizon_s=null") == ("horizon_s", None)
    assert parse_choices("seed=1, 2,3") == ("seed", [1, 2, 3])
    dist = {"dist": "uniform", "low_tokens": 1, "high_tokens": 5}
    path, values = parse_choices("classes.chat.prompt_tokens=10,{dist: uniform, low_tokens: 1, high_tokens: 5}")
    assert (path, values) == ("classes.chat.prompt_tokens", [10, dist])


@pytest.mark.parametrize("text", ["seed", "=3", "seed=", "seed=]", "seed={"])
def test_a_change_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="--set"):
        parse_change(text)
    with pytest.raises(ScenarioError, match="--set"):
        parse_choices(text)


def test_a_path_goes_through_lists_by_name_and_by_place() -> None:
    data = crowd(3)
    apply_changes(data, [("classes.chat.arrivals.rate_per_s", 5), ("classes.0.output_tokens", 7), ("seed", 9)])
    scenario = parse_scenario(data, "a test")
    assert scenario.seed == 9
    assert scenario.classes[0].output_tokens.tokens == 7  # type: ignore[union-attr]
    assert scenario.classes[0].arrivals.rate_per_s == 5  # type: ignore[union-attr]


def test_a_path_may_name_a_part_that_the_file_leaves_out() -> None:
    data = crowd(3)
    apply_changes(data, [("fleet.replicas", 3)])
    assert len(parse_scenario(data, "a test").fleet.replicas) == 3


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("classes.caht.output_tokens", "did you mean 'chat'"),
        ("classes.1.output_tokens", "place from 0 to 0"),
        ("seed.more", "set seed itself"),
        ("server..max_seqs", "single dots"),
        (".seed", "single dots"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_a_remedy(path: str, remedy: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        apply_changes({"seed": 1, **crowd(3)}, [(path, 1)])
    assert remedy in str(caught.value)


@given(st.one_of(st.text(max_size=40), st.builds("{}={}".format, st.text(min_size=1), st.text(min_size=1))))
def test_any_text_makes_a_change_or_one_sentence(text: str) -> None:
    data, complaint = crowd(3), ""
    try:
        apply_changes(data, [parse_change(text)])
        parse_scenario(data, "a test")
    except ScenarioError as error:
        complaint = str(error)
    assert len(complaint.splitlines()) <= 1


# ---- run -------------------------------------------------------------------------------------------


def test_a_run_writes_all_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("all.json", "requests.csv", "requests.parquet", "trace.json", "metrics.txt", "bench.json", "load.svg")
    paths = {name: tmp_path / name for name in names}
    folder = tmp_path / "everything"
    code = main(
        [
            *("run", "trial_baseline", "--set", "classes.chat.arrivals.count=5", "--seed", "7", "--json", "--brief"),
            *("--out", str(folder), "--out", str(paths["all.json"]), "--out", str(paths["requests.csv"])),
            *("--out", str(paths["requests.parquet"]), "--perfetto", str(paths["trace.json"])),
            *("--prometheus", str(paths["metrics.txt"]), "--bench", str(paths["bench.json"])),
            *("--plot", f"load={paths['load.svg']}", "--plot", str(tmp_path / "over=view.png")),
        ]
    )
    assert code == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["seed"], printed["classes"]["chat"]["counts"]["submitted"]) == (7, 5)
    assert "requests" not in printed
    assert all(path.stat().st_size for path in paths.values())
    assert (tmp_path / "over=view.png").stat().st_size
    assert sorted(path.name for path in folder.iterdir()) == [
        "requests.csv",
        "scenario.json",
        "steps.csv",
        "summary.json",
    ]
    assert json.loads((folder / "summary.json").read_text()) == printed
    # The written scenario gives the same run again.
    assert main(["run", str(folder / "scenario.json"), "--json", "--brief"]) == 0
    assert json.loads(capsys.readouterr().out) == printed


def test_single_numbers_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "exercise", "--metric", "yours.ttft_s", "--metric", "earlier.itl_s"]) == 0
    assert capsys.readouterr().out == "yours.ttft_s   0.3\nearlier.itl_s  no sample\n"
    assert main(["run", "exercise", "--metric", "yours.ttft_s", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"yours.ttft_s": 0.3}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "server.max_seq=3"], "did you mean 'max_seqs'"),
        (["--metric", "yours.tttf_s"], "did you mean 'yours.ttft_s'"),
        (["--plot", "laod=x.png"], "did you mean 'load'"),
        (["--plot", "x.bmp"], ".svg"),
        (["--out", "x.xls"], ".csv, .parquet or .json"),
        (["--out", "no/such/folder/x.csv"], "cannot be written"),
        (["--perfetto", "no/such/folder/x.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "exercise", *arguments]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert len(shown.err.splitlines()) == 1


# ---- stopped ---------------------------------------------------------------------------------------


def test_the_first_interrupt_ends_the_run_with_a_partial_result() -> None:
    calls: list[int] = []

    def interrupt(done: int, total: int, now_s: float) -> None:
        calls.append(done)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with Watch() as watch:
        result = simulate(parse_scenario(crowd(30_000), "a test"), interrupt, watch.stop)
        assert watch.stopped
    assert signal.getsignal(signal.SIGINT) is before
    assert len(calls) == 1
    assert result.partial
    counts = result.counts
    assert 0 < counts.completed < 30_000
    assert counts.submitted == sum(counts) - counts.submitted - counts.admitted
    assert result.to_dict(details=False)["partial"] is True
    text = render_text(result)
    assert "PARTIAL" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_second_interrupt_ends_the_program() -> None:
    with Watch():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.commands.progress._EVERY_S", 0.0)
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        with Watch(stream) as watch:
            simulate(parse_scenario(crowd(30_000), "a test"), watch.progress, watch.stop)
        assert ("of 30,000 requests done" in stream.getvalue()) is shown
        assert stream.getvalue().endswith("\r") is shown


def test_progress_is_shown_at_most_five_times_a_second() -> None:
    stream = Terminal()
    with Watch(stream) as watch:
        for done in range(1000):
            watch.progress(done, 1000, 0.0)
    assert stream.getvalue().count("requests done") <= 2


# ---- sweep -----------------------------------------------------------------------------------------

SWEEP = ["sweep", "trial_baseline", "--set", "server.max_seqs=4,8", "--set", "seed=1,2,3"]


def test_a_sweep_runs_every_combination_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SWEEP, "--json", "--jobs", "1", "--metric", "chat.ttft_s.p95"]) == 0
    rows = json.loads(capsys.readouterr().out)
    pairs = [(row["server.max_seqs"], row["seed"]) for row in rows]
    assert pairs == [(seats, seed) for seats in (4, 8) for seed in (1, 2, 3)]
    main(
        ["run", "trial_baseline", "--set", "server.max_seqs=8", "--seed", "2", "--json", "--metric", "chat.ttft_s.p95"]
    )
    assert json.loads(capsys.readouterr().out)["chat.ttft_s.p95"] == rows[4]["chat.ttft_s.p95"]


def test_processes_do_not_change_the_figures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outputs = []
    for jobs in ("1", "2"):
        path = tmp_path / f"{jobs}.csv"
        assert main([*SWEEP, "--jobs", jobs, "--out", str(path)]) == 0
        outputs.append((capsys.readouterr().out, path.read_text(encoding="utf-8")))
    assert outputs[0] == outputs[1]
    assert [row["completed"] for row in csv.DictReader(io.StringIO(outputs[0][1]))] == ["50"] * 6
    assert all(len(line) <= 80 for line in outputs[0][0].splitlines())


def test_a_failed_point_says_why_and_the_others_stand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "curve.svg"
    arguments = ["sweep", "exercise", "--set", "server.max_seqs=0,4", "--jobs", "1", "--plot", str(picture)]
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert "failed" in out
    assert "server.max_seqs = 0:" in out
    assert "must be at least 1" in out
    assert "2/2" in out
    assert picture.stat().st_size


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "seed=1,2", "--metric", "yours.tttf_s"], "did you mean 'yours.ttft_s'"),
        (["--set", "seed=1", "--set", "seed=2"], "twice"),
        (["--set", "seed"], "path=value"),
        (["--set", "seed=" + ",".join(["1"] * 101), "--set", "name=" + ",".join(["a"] * 100)], "10,000"),
        (["--set", "seed=1", "--jobs", "0"], "at least 1"),
        (["--set", "seed=1", "--out", "x.txt"], ".csv, .json"),
        (["--set", "seed=1", "--metric", "completed", "--plot", "x.png"], "--metric output_tokens_per_s"),
    ],
)
def test_a_sweep_that_cannot_be_run_is_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "exercise", "--jobs", "1", *arguments]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_stopped_sweep_keeps_what_is_done() -> None:
    from sim.commands.points import grid, sweep

    asked: list[int] = []
    points = grid([("seed", [1, 2, 3, 4])])
    done = list(
        sweep(
            "exercise",
            points,
            ["attainment"],
            jobs=1,
            progress=lambda ready, total: asked.append(ready),
            stop=lambda: len(asked) >= 2,
        )
    )
    assert [point.values for point in done] == [{"attainment": 1.0}] * 2 + [{}] * 2
    assert [point.error for point in done] == [None] * 2 + ["stopped before this point"] * 2


def test_stopping_ends_the_points_under_way_too(tmp_path: Path) -> None:
    from sim.commands.points import grid, sweep

    path = tmp_path / "crowd.json"
    path.write_text(json.dumps(crowd(500_000)), encoding="utf-8")
    points = grid([("seed", [1, 2, 3])])
    done = list(sweep(str(path), points, ["attainment"], jobs=2, stop=lambda: True))
    assert {point.error for point in done} <= {"stopped before this point", "stopped before its end"}
    assert len(done) == 3
