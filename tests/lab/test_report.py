"""Reports: everything to run it again, nothing from outside as markup, and one sentence where it cannot be written."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import pytest

from tutor.lab.report import LabReport, ReportError, ReportTable, as_html, save, versions
from tutor.lab.runs import Pair, RateCurve, at_rate, rate_curve, run_pair
from tutor.lab.scenario_text import STARTER, check, with_field

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CHANGED = with_field(STARTER, "server.max_seqs", "8")


def silent(done: int, total: int, what: str) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def pair() -> Pair:
    found = run_pair(scenario(CHANGED), scenario(STARTER), silent, lambda: False)
    assert found is not None
    return found


def scenario(text: str):  # type: ignore[no-untyped-def]
    """The scenario of a text that is one."""
    found = check(text).scenario
    assert found is not None
    return found


def report(pair: Pair | None, title: str = "Seats") -> LabReport:
    """What the lab would hand over."""
    table = ReportTable("All", ("", "value"), [("<b>TTFT</b>", "1")], "a note")
    return LabReport(title, ["Changed: server.max_seqs 64 → 8."], [table], CHANGED, STARTER, pair, (), NOW)


def test_html_holds_both_texts_seed_versions_and_escapes_all(pair: Pair, tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    assert save(report(pair, "<script>alert(1)</script>"), path) == []
    text = path.read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "&lt;b&gt;TTFT&lt;/b&gt;" in text
    assert escape(CHANGED) in text
    assert escape(STARTER) in text
    assert "seed 1" in text
    for name, one in versions().items():
        assert f"{name} {one}" in text
    assert "<svg" in text
    assert "http-equiv" not in text
    assert not [name for name in path.parent.iterdir() if name.suffix == ".part"]


def test_the_scenario_alone_is_a_file_that_runs_again(pair: Pair, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    save(report(pair), path)
    assert check(path.read_text(encoding="utf-8")).scenario == scenario(CHANGED)


def test_pictures_carry_the_scenario_and_are_the_same_each_time(pair: Pair, tmp_path: Path) -> None:
    for ending in (".svg", ".png"):
        one, other = tmp_path / f"one{ending}", tmp_path / f"other{ending}"
        save(report(pair), one)
        save(report(pair), other)
        assert one.read_bytes() == other.read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert b"max_seqs: 8" in (tmp_path / "one.png").read_bytes()
    root = ET.parse(tmp_path / "one.svg").getroot()
    assert "max_seqs: 8" in "".join(root.itertext())


def test_a_claim_without_a_run_has_words_only(tmp_path: Path) -> None:
    assert "<svg" not in as_html(report(None))
    with pytest.raises(ReportError, match="no run to draw"):
        save(report(None), tmp_path / "x.png")


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.htm"])
def test_other_endings_are_refused(pair: Pair, tmp_path: Path, name: str) -> None:
    with pytest.raises(ReportError, match=r"\.html, \.svg, \.png or"):
        save(report(pair), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_a_sentence(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReportError, match="cannot be written"):
        save(report(pair), tmp_path / "file" / "report.html")


def test_both_sides_see_the_same_requests_and_limits(pair: Pair) -> None:
    assert pair.baseline is not None
    assert pair.baseline.submitted == pair.yours.submitted
    first = [row.segments[0].start_s for row in pair.yours.timeline]
    assert first == [row.segments[0].start_s for row in pair.baseline.timeline]
    ttft = next(one for one in pair.yours.distributions if one.metric == "ttft")
    assert ttft.limit_ms == 500.0
    assert list(ttft.curve.xs) == sorted(ttft.curve.xs)
    assert ttft.curve.ys[-1] == 1.0
    # The p95 of the summary is where the drawn curve reaches 0.95, up to the points that were left out.
    at = next(x for x, y in zip(ttft.curve.xs, ttft.curve.ys, strict=True) if y >= 0.95)
    assert at == pytest.approx(dict(ttft.percentiles_ms)["p95"], rel=0.05)


def test_a_stopped_run_gives_no_pair_or_a_partial_one() -> None:
    assert run_pair(scenario(CHANGED), scenario(STARTER), silent, lambda: True) is None
    alone = run_pair(scenario(CHANGED.replace("count: 1500", "count: 100000")), None, silent, lambda: True)
    assert alone is not None
    assert alone.yours.partial
    assert alone.yours.fates.endswith("in flight")


def test_more_traffic_gives_more_throughput_until_the_limit() -> None:
    curve = rate_curve(scenario(CHANGED), "yours", silent, lambda: False)
    assert isinstance(curve, RateCurve)
    assert curve.metric == "chat.ttft_s.p95"
    assert curve.limit_ms == 500.0
    latencies = [point.latency_ms or 0 for point in curve.points]
    assert latencies[-1] > latencies[0]
    more = at_rate(scenario(STARTER), 2.0)
    assert more is not None
    assert more.classes[0].arrivals.rate_per_s == 20.0  # type: ignore[union-attr]
    fixed = STARTER.replace("{kind: poisson, rate_per_s: 10, count: 1500}", "{kind: times, times_s: [0.0]}")
    assert rate_curve(scenario(fixed), "yours", silent, lambda: False) is None
