"""Figures from records made by hand: what counts, what is counted apart, and what the report says of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rubrics import CriterionId
from tests.grading.questions import make_question
from tutor.evaluation.calibrate import calibrate, check_target, rows_of, to_yaml, write_coefficients
from tutor.evaluation.cases import Case, EvaluationError, make_set
from tutor.evaluation.picture import bars
from tutor.evaluation.published import load_published
from tutor.evaluation.record import AnswerRecord, CriterionRecord
from tutor.evaluation.report import make_report, markdown, write_report
from tutor.evaluation.runner import Outcome, identity
from tutor.evaluation.summary import summarise
from tutor.evaluation.terminal import calibration_lines, lines
from tutor.grading.combine import COEFFICIENTS, load_combiner
from tutor.grading.models import Decider, Verdict

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
QUESTION = make_question()


def made_case(number: int, item: str = "i", **labels: bool) -> Case:
    question = QUESTION.model_copy(update={"item_id": item})
    return Case.model_validate(
        {"id": f"a{number}", "question": question, "anchor": question, "answer": f"answer {number}", "labels": labels}
    )


def made_record(
    number: int, verdicts: dict[CriterionId, tuple[Verdict, float | None]], *, run: int = 0, by: Decider = "model",
    alone: float | None = None, evaluated: int = 100, cached: int = 300, seconds: float = 2.0,
) -> AnswerRecord:  # fmt: skip
    return AnswerRecord(
        case_id=f"a{number}", content_hash=str(number), run=run, seconds=seconds,
        criteria={
            c: CriterionRecord(verdict=v, p_met=p, decided_by=by if v != "not_graded" else None, alone=alone)
            for c, (v, p) in verdicts.items()
        },
        prompt_tokens=evaluated + cached, cached_tokens=cached, completion_tokens=3,
    )  # fmt: skip


def outcome_of(*records: AnswerRecord, model: str | None = "m") -> Outcome:
    return Outcome(identity(None).model_copy(update={"model": model}), list(records))


def test_unsure_and_not_graded_are_counted_apart_and_never_as_not_met() -> None:
    cases = [made_case(n, reasoning=n < 3) for n in range(6)]
    given: list[tuple[Verdict, float | None]] = [
        ("met", 0.9), ("unsure", 0.55), ("not_graded", None), ("not_met", 0.1), ("met", 0.8), ("unsure", 0.45),
    ]  # fmt: skip
    records = [made_record(n, {"reasoning": each}) for n, each in enumerate(given)]
    figures = summarise(cases, outcome_of(*records)).criteria[0]
    assert (figures.labelled, figures.unsure, figures.not_graded, figures.decided.answers) == (6, 2, 1, 3)
    assert figures.coverage == pytest.approx(0.5)
    # Decided: a0 right, a3 right, a4 falsely accepted.
    assert figures.decided.accuracy == pytest.approx(2 / 3)
    assert (figures.decided.false_accepts, figures.decided.false_rejects) == (1, 0)
    assert figures.decided.met_bias == pytest.approx(1 / 3)
    # At one half the two unsure ones are right as well: 4 of 5; κ: chance .6·.4 + .4·.6 = .48 → .32/.52
    assert figures.at_half.answers == 5
    assert figures.at_half.kappa.value == pytest.approx(0.32 / 0.52)


def test_margins_trade_coverage_for_agreement() -> None:
    cases = [made_case(n, failure=n in (0, 1)) for n in range(4)]
    p = (0.9, 0.42, 0.1, 0.58)
    records = [made_record(n, {"failure": ("met" if v > 0.5 else "not_met", v)}) for n, v in enumerate(p)]
    margins = {m.margin: m for m in summarise(cases, outcome_of(*records)).criteria[0].margins}
    assert (margins[0.0].coverage, margins[0.0].kappa) == (1.0, 0.0)
    assert (margins[0.1].coverage, margins[0.1].kappa) == (0.5, 1.0)


def test_totals_are_sums_of_decided_criteria() -> None:
    labels: dict[str, bool] = {"result": True, "reasoning": True, "failure": False, "verification": False}
    cases = [made_case(n).model_copy(update={"labels": labels}) for n in range(3)]
    right: dict[CriterionId, tuple[Verdict, float | None]] = {
        "result": ("met", 1.0), "reasoning": ("met", 0.9), "failure": ("not_met", 0.1), "verification": ("not_met", 0),
    }  # fmt: skip
    records = [
        made_record(0, right),
        made_record(1, right | {"failure": ("met", 0.8), "verification": ("met", 0.8)}),
        made_record(2, right | {"reasoning": ("unsure", 0.5)}),
    ]
    totals = summarise(cases, outcome_of(*records)).totals
    assert totals is not None
    assert (totals.of_answers, totals.answers, totals.criteria) == (3, 2, 4)
    assert (totals.exact, totals.within_one, totals.mean_difference) == (0.5, 0.5, 1.0)


def test_flips_are_verdicts_that_differ_between_runs() -> None:
    cases = [made_case(n, reasoning=True, failure=True) for n in range(2)]
    same: dict[CriterionId, tuple[Verdict, float | None]] = {"reasoning": ("met", 0.9), "failure": ("met", 0.8)}
    records = [made_record(n, same, run=run) for run in range(3) for n in range(2)]
    records[4] = made_record(0, same | {"failure": ("unsure", 0.55)}, run=2)
    flips = summarise(cases, outcome_of(*records)).flips
    assert flips is not None
    assert (flips.runs, flips.verdicts, flips.flipped, flips.answers_with_a_flip, flips.answers) == (3, 4, 1, 1, 2)
    assert summarise(cases, outcome_of(*records[:2])).flips is None


def test_cost_is_of_answers_that_reached_the_model() -> None:
    cases = [made_case(n, reasoning=True) for n in range(3)]
    met: dict[CriterionId, tuple[Verdict, float | None]] = {"reasoning": ("met", 0.9)}
    records = [
        made_record(0, met, evaluated=100, cached=300, seconds=2),
        made_record(1, met, evaluated=200, cached=500, seconds=4),
        made_record(2, met, evaluated=0, cached=0, seconds=0.01),
    ]
    cost = summarise(cases, outcome_of(*records)).cost
    assert (cost.answers, cost.seconds, cost.evaluated_tokens, cost.cached_tokens) == (2, 3.0, 150.0, 400.0)


def test_the_models_part_is_told_beside_evidence_alone() -> None:
    cases = [made_case(n, reasoning=n % 2 == 0) for n in range(8)]
    # With the model all are right; by evidence alone everything is met, so that κ is 0.
    records = [
        made_record(n, {"reasoning": ("met", 0.9) if n % 2 == 0 else ("not_met", 0.1)}, alone=0.7) for n in range(8)
    ]
    report = make_report(make_set("x", "gold", cases), outcome_of(*records), NOON)
    alone = report.summary.criteria[0].evidence_alone
    assert alone is not None
    assert (alone.kappa.value, alone.false_accepts) == (0.0, 4)
    assert "| reasoning | 0.00 | 1.00 | +1.00 |" in markdown(report)
    assert any("reasoning 0.00 → 1.00" in line for line in lines(report))


def test_results_in_numbers_are_told_apart_from_conclusions() -> None:
    plain = QUESTION.model_copy(update={"expected": ()})
    cases = [made_case(n, result=n != 1) for n in range(4)]
    cases[3] = cases[3].model_copy(update={"question": plain})
    records = [made_record(n, {"result": ("met", 1.0)}, by="code") for n in range(4)]
    figures = summarise(cases, outcome_of(*records)).criteria[0]
    assert figures.in_numbers is not None
    assert (figures.decided.answers, figures.in_numbers.answers, figures.in_numbers.false_accepts) == (4, 3, 1)


def test_code_is_certain_and_so_not_part_of_the_reliability() -> None:
    cases = [made_case(n, result=True) for n in range(2)]
    records = [made_record(0, {"result": ("met", 1.0)}, by="code"), made_record(1, {"result": ("met", 0.75)})]
    assert summarise(cases, outcome_of(*records)).criteria[0].reliability.answers == 1
    assert summarise(cases, outcome_of(*records)).criteria[0].reliability.ece == pytest.approx(0.25)


def test_partial_credit_is_set_beside_the_probability() -> None:
    cases = [made_case(n, result=n == 2).model_copy(update={"score": n / 2}) for n in range(3)]
    records = [made_record(n, {"result": ("met", 0.25 + n / 4)}) for n in range(3)]
    partial = summarise(cases, outcome_of(*records)).partial_credit
    assert partial is not None
    assert partial.correlation == pytest.approx(1.0)
    # Distances .25, 0 and .25
    assert partial.rmse == pytest.approx((0.125 / 3) ** 0.5)
    assert partial.rmse_of_mean == pytest.approx((0.5 / 3) ** 0.5)


def test_errors_are_told_by_what_the_answer_tries() -> None:
    kinds = (("terse",), ("terse", "hedged"), ("long",))
    cases = [made_case(n, reasoning=n == 0, failure=True).model_copy(update={"kinds": k}) for n, k in enumerate(kinds)]
    met: dict[CriterionId, tuple[Verdict, float | None]] = {"reasoning": ("met", 0.9), "failure": ("not_met", 0.2)}
    records = [made_record(0, met), made_record(1, met), made_record(2, met | {"failure": ("not_graded", None)})]
    found = {k.kind: k for k in summarise(cases, outcome_of(*records)).kinds}
    assert list(found) == ["hedged", "long", "terse"]
    terse = found["terse"]
    assert (terse.answers, terse.verdicts, terse.false_accepts, terse.false_rejects) == (2, 4, 1, 2)
    assert terse.accuracy == pytest.approx(0.25)
    assert (found["long"].verdicts, found["long"].without) == (1, 1)


def _report_cases(count: int = 12) -> tuple[list[Case], list[AnswerRecord]]:
    cases = [made_case(n, f"item {n % 3}", result=n % 2 == 0) for n in range(count)]
    p = [0.8 if n % 2 == 0 else 0.3 for n in range(count)]
    return cases, [made_record(n, {"result": ("met" if v > 0.5 else "not_met", v)}) for n, v in enumerate(p)]


def test_a_report_is_dated_and_stands_beside_the_lines_on_the_same_answers(tmp_path: Path) -> None:
    cases, records = _report_cases()
    report = make_report(make_set("khan_part", "khan", cases), outcome_of(*records, model="a/b"), NOON)
    paths = write_report(report, tmp_path)
    assert {p.name for p in paths} >= {"2026-12-01-khan_part-a-b.json", "2026-12-01-khan_part-a-b.md"}
    assert not list(tmp_path.glob(".*"))
    text = paths[1].read_text()
    assert "| Llama 3.1 8B, criteria and examples | kappa | 0.641" in text
    assert "ours, a/b | kappa | 1.000" in text
    assert "RiceChem" not in text
    assert type(report).model_validate_json(paths[0].read_text()) == report


def test_other_answers_lines_are_marked_as_such(tmp_path: Path) -> None:
    cases, records = _report_cases()
    report = make_report(make_set("mine", "pairs", cases), outcome_of(*records), NOON)
    assert "The others graded other answers" in markdown(report)
    assert all(line.set not in ("khan", "saf") for line in report.published)


def test_the_picture_is_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cases, records = _report_cases()
    report = make_report(make_set("x", "gold", cases), outcome_of(*records), NOON)
    first, second = (write_report(report, tmp_path / name)[-1] for name in ("a", "b"))
    assert first.suffix == ".svg"
    assert first.read_bytes() == second.read_bytes()


def test_bars_show_what_was_said_and_what_was() -> None:
    cases, records = _report_cases()
    drawn = bars(summarise(cases, outcome_of(*records)).criteria[0].reliability.bins)
    assert len(drawn) == 2
    assert drawn[0].startswith("0.3–0.4 ·········|")
    assert drawn[1].endswith("said 0.80, was 1.00 (6)")


def test_the_terminals_lines_fit_80_columns() -> None:
    cases, records = _report_cases(200)
    report = make_report(make_set("a name that is rather long for a set of answers" * 2, "khan", cases),
                         outcome_of(*records, model="an/extremely-long-model-name-" * 4), NOON)  # fmt: skip
    assert max(map(len, lines(report))) <= 80


def test_published_figures_have_sources_and_lie_in_range() -> None:
    published = load_published()
    assert all(0 <= line.value <= 1 for line in published.lines)
    llama = {line.grader: line.value for line in published.beside("khan")}
    assert llama["Llama 3.1 8B, criteria and examples"] == 0.641
    assert {line.metric for line in published.beside("saf")} == {"rmse", "r"}


def _calibration_set() -> tuple[list[Case], list[AnswerRecord]]:
    cases = [made_case(n, f"item {n % 4}", verification=n % 8 < 4, reasoning=True) for n in range(64)]
    records = []
    for n in range(64):
        features = dict.fromkeys(("measure", "refute", "together", "reference", "focus"), float(n % 8 < 4))
        given = CriterionRecord(verdict="not_met", decided_by="evidence", p_met=0.1, features=features, alone=0.1)
        records.append(made_record(n, {}).model_copy(update={"criteria": {"verification": given}}))
    return cases, records


def test_a_calibration_mends_what_can_be_mended_and_keeps_the_rest(tmp_path: Path) -> None:
    cases, records = _calibration_set()
    found = calibrate(make_set("x", "gold", cases), outcome_of(*records, model=None), NOON)
    only = found.criteria[0]
    assert (only.criterion, only.rows, found.kept) == ("verification", 64, ("result", "reasoning", "failure"))
    assert only.held_out.kappa.value == 1.0
    assert found.combiner.criteria["reasoning"] == load_combiner().criteria["reasoning"]
    path = tmp_path / "deep" / "mine.yaml"
    write_coefficients(found.combiner, path)
    assert load_combiner(path) == found.combiner
    assert "64 answers to 4 items" in load_combiner(path).provenance
    assert any("verification" in line for line in calibration_lines(found))


def test_coefficients_are_never_written_over_a_file_unasked(tmp_path: Path) -> None:
    shipped = COEFFICIENTS.read_bytes()
    with pytest.raises(EvaluationError, match="grades with"):
        write_coefficients(load_combiner(), COEFFICIENTS)
    assert COEFFICIENTS.read_bytes() == shipped
    there = tmp_path / "there.yaml"
    there.write_text("mine")
    with pytest.raises(EvaluationError, match="there already"):
        check_target(there, force=False)
    write_coefficients(load_combiner(), there, force=True)
    assert load_combiner(there).criteria == load_combiner().criteria


def test_the_coefficient_file_reads_back() -> None:
    text = to_yaml(load_combiner())
    assert "  reasoning: {bias: " in text
    assert max(map(len, text.splitlines())) <= 130


def test_what_code_decides_is_not_fitted_on() -> None:
    cases = [made_case(0, result=True), made_case(1, result=True)]
    by_code = made_record(0, {"result": ("met", 1.0)}, by="code")
    by_model = made_record(1, {"result": ("met", 0.9)}, alone=0.8)
    assert [row.case_id for row in rows_of(cases, [by_code, by_model], "result")] == ["a1"]
