"""Which reader a file needs, told by its first line."""

from __future__ import annotations

from pathlib import Path

from question_bank import Bank
from tutor.evaluation.cases import Case, CaseSet, EvaluationError, read_rows
from tutor.evaluation.gold import default_gold, is_gold, read_gold
from tutor.evaluation.pairs import is_question, read_pairs
from tutor.evaluation.public_sets import is_khan, is_saf, read_khan, read_saf


def load_cases(path: Path | None, bank: Bank, *, questions: Path | None = None, answers: Path | None = None) -> CaseSet:
    """The labelled answers of a file or folder (ours when none is named), or of a pair of files without a bank.

    Raises:
        EvaluationError: a file cannot be read or is of no known shape, or only one file of a pair is named.
    """
    if questions is not None or answers is not None:
        if questions is None or answers is None:
            raise EvaluationError(
                "Questions without a bank come as two files.", hint="Give both --questions and --answers."
            )
        if path is not None:
            raise EvaluationError(f"{path} and --questions exclude each other.", hint="Leave one out.")
        return read_pairs(questions, answers)
    if path is None or path.is_dir():
        return read_gold(path or default_gold(), bank)
    where, row = next(read_rows(path), ("", {}))
    if is_gold(row):
        return read_gold(path, bank)
    if is_khan(row):
        return read_khan(path)
    if is_saf(row):
        return read_saf(path)
    if is_question(row):
        raise EvaluationError(f"{path}: holds questions.", hint=f"Use --questions {path} --answers FILE.")
    if "question_id" in row:
        raise EvaluationError(f"{path}: holds answers without their questions.", hint="Add --questions FILE.")
    raise EvaluationError(
        f"{where or path}: is of no known shape.",
        hint="Known are our labelled answers, the Khan and SAF sets, and --questions with --answers.",
    )


def narrowed(cases: CaseSet, *, split: str = "all", items: tuple[str, ...] = (), limit: int | None = None) -> CaseSet:
    """Only a part: a split, items whose id holds one of the given texts, the first `limit` of those left.

    Raises:
        EvaluationError: nothing is left, or the source is not split.
    """
    kept = cases.cases
    if split != "all":
        if not any(case.split for case in kept):
            raise EvaluationError(
                f"{cases.name} is not split into calibration and test.", hint="Leave --split out, or use our format."
            )
        kept = tuple(case for case in kept if case.split == split)
    if items:
        kept = tuple(case for case in kept if any(wanted in case.item for wanted in items))
    # Spread over the items, so that a few answers are not all to one question.
    if limit is not None and len(kept) > limit:
        kept = _spread(kept, limit)
    if not kept:
        raise EvaluationError(
            "No answer is left to grade.", hint=f"Check --split and --items; items are {_some_items(cases)}."
        )
    parts = [f"{sum(case.split == part for case in kept)} for {part}" for part in ("calibration", "test")]
    notes = (f"By part: {', '.join(parts)}.",) if any(case.split for case in kept) else ()
    return cases.model_copy(update={"cases": kept, "notes": (*cases.notes, *notes)})


def _spread(cases: tuple[Case, ...], limit: int) -> tuple[Case, ...]:
    by_item: dict[str, list[Case]] = {}
    for case in cases:
        by_item.setdefault(case.item, []).append(case)
    rounds = max(len(of_item) for of_item in by_item.values())
    turns = [of_item[n] for n in range(rounds) for of_item in by_item.values() if n < len(of_item)]
    taken = {case.id for case in turns[:limit]}
    return tuple(case for case in cases if case.id in taken)


def _some_items(cases: CaseSet) -> str:
    items = list(dict.fromkeys(case.item for case in cases.cases))
    return ", ".join(items[:3]) + (f" and {len(items) - 3} more" if len(items) > 3 else "")
