"""What each measure of the evidence is worth: agreement on held-out items, with it and without it.

    python -m benchmarks.evidence

The calibration answers of rubrics/gold/serving, without a model; each item's answers are told by coefficients fitted
on the other items. The sentence encoder is used where its file is here. The test items are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from question_bank import load_bank
from rubrics import CriterionId
from tutor.evaluation.cases import Case
from tutor.evaluation.fitting import Row, held_out
from tutor.evaluation.gold import default_gold, read_gold
from tutor.evaluation.measures import rubric_words
from tutor.evaluation.metrics import area_under_curve, counts, kappa
from tutor.grading.evidence import FEATURES, NEAR, find_all
from tutor.grading.text import is_foreign
from tutor.llm.encoder import Encoder, find_encoder
from tutor.settings import load_settings

JUDGED: tuple[CriterionId, ...] = ("reasoning", "failure", "verification")


def measured(cases: Sequence[Case], encoder: Encoder | None) -> dict[CriterionId, list[Row]]:
    """A row an answer and criterion; answers in other languages are left open by the grader and so left out."""
    rows: dict[CriterionId, list[Row]] = {c: [] for c in JUDGED}
    for case in cases:
        if is_foreign(case.answer):
            continue
        for criterion, found in find_all(case.question, case.answer, JUDGED, rubric_words(), encoder).items():
            features = found.features if found.quote is not None else {}
            rows[criterion].append(Row(case.id, case.item, features, None, case.labels[criterion]))
    return rows


def worth(rows: Sequence[Row], criterion: CriterionId, without: str = "") -> str:
    """κ at one half and area under the curve on held-out items, with one measure set to zero."""
    kept = [replace(r, features={n: 0.0 if n == without else v for n, v in r.features.items()}) for r in rows]
    told = held_out(kept, criterion, len({r.item for r in rows}), with_model=False)
    predicted, met = [told[r.case_id] for r in kept], [r.met for r in kept]
    agreed = kappa(counts([int(p > 0.5) for p in predicted], [int(m) for m in met]))
    area = area_under_curve(predicted, met)
    return f"{agreed or 0:6.2f} {area or 0:6.2f}"


def main() -> None:
    """Print the table."""
    cases = [c for c in read_gold(default_gold(), load_bank()).cases if c.split == "calibration"]
    encoder = find_encoder(load_settings().model_dir)
    rows = measured(cases, encoder)
    print(f"{len(cases)} answers; encoder: {'yes' if encoder else 'no'}\n{'':<28}{'kappa':>6} {'area':>6}")
    for criterion in JUDGED:
        names = (*FEATURES[criterion], *((NEAR,) if encoder else ()))
        print(f"{criterion:<28}{worth(rows[criterion], criterion)}")
        for name in names:
            print(f"{'  without ' + name:<28}{worth(rows[criterion], criterion, name)}", flush=True)


if __name__ == "__main__":
    main()
