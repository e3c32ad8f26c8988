"""How well code reads results: the labelled snippets of `rubrics/gold/numbers.jsonl`, without a model.

    python -m benchmarks.numbers            # accuracy by category; false accepts and rejects
    python -m benchmarks.numbers --show     # and each snippet read otherwise than labelled

A snippet is right when every quantity asked for is read as labelled and the verdict follows from that. A
false accept is a point given where the label gives none; a false reject is one refused where it is due.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from question_bank.question import CriterionGuide, Expected, Quantity, Question, Slip
from rubrics import CRITERION_IDS
from rubrics.number_gold import Label, NumberQuestion, NumberSnippet, load_number_gold
from tutor.grading import Verdict, grade_result
from tutor.grading.result import read_results

_EMPTY = CriterionGuide(statement="", key_points=(), not_enough=(), met_example="", nearly_example="")


@dataclass(frozen=True)
class Outcome:
    """One snippet, what was read in it, and the verdict given."""

    snippet: NumberSnippet
    read: dict[str, Label]
    verdict: Verdict

    @property
    def right(self) -> bool:
        """Whether reading and verdict are those of the label."""
        labels = self.snippet.label
        return self.verdict == self.snippet.verdict and all(same(self.read[name], labels[name]) for name in labels)

    @property
    def false_accept(self) -> bool:
        return self.verdict == "met" and self.snippet.verdict != "met"

    @property
    def false_reject(self) -> bool:
        return self.verdict == "not_met" and self.snippet.verdict == "met"


def same(a: Label, b: Label) -> bool:
    """Whether two labels say the same, values within 0.2 %, the order of several on offer apart."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        pairs = zip(sorted(a), sorted(b), strict=False)
        return len(a) == len(b) and all(math.isclose(x, y, rel_tol=0.002) for x, y in pairs)
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=0.002, abs_tol=1e-9)
    return a == b and type(a) is type(b)


def as_question(gold: NumberQuestion) -> Question:
    """The question as the grader takes it; what it has no use for here is empty."""
    return Question(
        item_id=f"gold/{gold.id}", item_version=1, kind="exercise", seed=0, title=gold.id, topics=(), difficulty=1,
        minutes=1, prompt=gold.prompt, parameters={},
        givens=tuple(Quantity(**q.model_dump()) for q in gold.givens),
        expected=tuple(Expected(**e.model_dump()) for e in gold.expected),
        slips=tuple(Slip(**s.model_dump()) for s in gold.slips),
        derived=tuple(Quantity(**q.model_dump()) for q in gold.derived),
        criteria=dict.fromkeys(CRITERION_IDS, _EMPTY), follow_ups=(), weak_indicators=(), hints=(), reference="",
        example_answers=(), options=(), simulation=None,
    )  # fmt: skip


def measure(snippets: Iterable[NumberSnippet]) -> tuple[Outcome, ...]:
    """Reads and grades each snippet."""
    questions: dict[str, Question] = {}
    outcomes = []
    for snippet in snippets:
        question = questions.setdefault(snippet.question.id, as_question(snippet.question))
        read: dict[str, Label] = {
            name: found.values[0] if found.kind == "value" else found.values if found.kind == "offered" else
            "ambiguous" if found.kind == "ambiguous" else None
            for name, found in read_results(question, snippet.text).items()
        }  # fmt: skip
        outcomes.append(Outcome(snippet, read, grade_result(question, snippet.text).verdict))
    return tuple(outcomes)


def accuracy(outcomes: Iterable[Outcome]) -> float:
    """The share read right; 1 where there is nothing."""
    listed = [o.right for o in outcomes]
    return sum(listed) / len(listed) if listed else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Accuracy of the reader of results on labelled snippets.")
    parser.add_argument("--show", action="store_true", help="list what was read otherwise than labelled")
    parser.add_argument("--half", choices=["tuned", "held-out"], help="one half only")
    options = parser.parse_args()
    snippets = load_number_gold()
    if options.half:
        snippets = tuple(s for s in snippets if s.held_out == (options.half == "held-out"))
    outcomes = measure(snippets)
    print(f"{'category':15}{'right':>12}{'accuracy':>10}{'false accepts':>15}{'false rejects':>15}")
    for category, count in Counter(o.snippet.category for o in outcomes).items():
        part = [o for o in outcomes if o.snippet.category == category]
        _line(category, part, count)
    print()
    _line("hard", [o for o in outcomes if o.snippet.hard])
    _line("tuned half", [o for o in outcomes if not o.snippet.held_out])
    _line("held-out half", [o for o in outcomes if o.snippet.held_out])
    _line("all", list(outcomes))
    if options.show:
        for o in outcomes:
            if not o.right:
                s = o.snippet
                print(f"{s.id} [{s.question.id}, {s.category}] {s.text!r}\n   labelled {s.label} {s.verdict}\n"
                      f"   read     {o.read} {o.verdict}")  # fmt: skip


def _line(name: str, part: list[Outcome], count: int | None = None) -> None:
    if not part:
        return
    right = sum(o.right for o in part)
    accepts, rejects = sum(o.false_accept for o in part), sum(o.false_reject for o in part)
    print(f"{name:15}{f'{right}/{count or len(part)}':>12}{right / len(part):10.3f}{accepts:15}{rejects:15}")


if __name__ == "__main__":
    main()
