"""Pictures: they show what the result says, with units and n, and come out equal for equal results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim import Result, ScenarioError, builtin_scenario, simulate
from sim.plots import KINDS, _thinned, plot, plot_tradeoff, save
from sim.series import Series


@pytest.fixture(scope="module")
def trial() -> Result:
    return simulate(builtin_scenario("trial_larger_prompt_batch"))


def texts_of(path: Path) -> str:
    """What the SVG says; its text is kept as text."""
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_is_drawn_as_png_and_svg(trial: Result, tmp_path: Path, kind: str) -> None:
    figure = plot(trial, kind)
    for ending, opening in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        path = tmp_path / f"picture{ending}"
        save(figure, path)
        assert path.read_bytes().startswith(opening)
    said = texts_of(tmp_path / "picture.svg")
    assert f"{trial.counts.submitted:,} requests" in said
    assert "seconds" in said


def test_distributions_show_units_samples_and_limits(trial: Result, tmp_path: Path) -> None:
    save(plot(trial, "distributions"), tmp_path / "picture.svg")
    said = texts_of(tmp_path / "picture.svg")
    ttft = trial.classes["chat"].ttft
    assert ttft is not None
    assert f"chat (n = {ttft.n:,})" in said
    assert "limit of chat, 700 ms" in said
    assert "milliseconds" in said


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        save(plot(simulate(builtin_scenario("exercise")), "requests"), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_the_tradeoff_has_a_point_for_each_result(tmp_path: Path) -> None:
    results = []
    for seats in (2, 4, 8):
        scenario = builtin_scenario("trial_baseline")
        server = scenario.server.model_copy(update={"max_seqs": seats})
        results.append(simulate(scenario.model_copy(update={"server": server})))
    figure = plot_tradeoff(results, y=["chat.ttft_s.p95"], labels=["2 seats", "4 seats", "8 seats"], limit_s=0.7)
    (line, _) = figure.axes[0].get_lines()
    assert np.asarray(line.get_xdata()).tolist() == [result.output_tokens_per_s for result in results]
    assert np.asarray(line.get_ydata()).tolist() == [
        1000 * (result.metric("chat.ttft_s.p95") or 0) for result in results
    ]
    save(figure, tmp_path / "curve.svg")
    said = texts_of(tmp_path / "curve.svg")
    assert all(words in said for words in ("chat TTFT p95", "output tokens/s", "4 seats", "limit, 700 ms"))


def test_thinning_a_long_series_keeps_its_peak() -> None:
    count = 100_000
    waiting = np.zeros(count, dtype=np.int64)
    waiting[54_321] = 7
    shown_at, shown = _thinned(np.arange(count, dtype=np.int64), waiting)
    assert len(shown) <= 2000
    assert shown.max() == 7
    assert abs(int(shown_at[shown.argmax()]) - 54_321) < 100


def test_a_replica_without_work_has_empty_seats() -> None:
    """Steps from 0 to 10 and from 10 to 20, nothing until 50, and a last one to 60."""
    start, end = np.array([0, 10, 50]), np.array([10, 20, 60])
    series = Series(0, start, end, np.array([1, 0, 2]), np.array([4, 3, 5]), np.array([8, 9, 7]), 10)
    assert [column.tolist() for column in series.points("running")] == [[0, 10, 20, 50, 60], [4, 3, 0, 5, 0]]
    assert [column.tolist() for column in series.points("kv_blocks")] == [[10, 20, 20, 60, 60], [8, 9, 0, 7, 0]]


def test_a_picture_or_an_ending_that_does_not_exist_is_refused(trial: Result, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="did you mean 'load'"):
        plot(trial, "laod")
    with pytest.raises(ScenarioError, match=r"\.png, \.svg or \.pdf"):
        save(plot(trial, "load"), tmp_path / "picture.bmp")
