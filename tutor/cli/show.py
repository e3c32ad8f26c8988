"""Plain lines for a grade: the words, symbols and order of the interview screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tutor.text import sanitize

if TYPE_CHECKING:
    from tutor.grading.models import Grade

SYMBOLS: Final = {"met": "✓", "not_met": "✗", "unsure": "?", "not_graded": "–"}
WORDS: Final = {"met": "met", "not_met": "not met", "unsure": "unsure", "not_graded": "not graded"}


def grade_lines(grade: Grade) -> list[str]:
    """One line a criterion (symbol, name, verdict, who decided), its quote and reason below, then the total."""
    lines = []
    for criterion in grade.criteria:
        decided = criterion.decided_by or "nobody"
        lines.append(f"{SYMBOLS[criterion.verdict]} {criterion.criterion:<13}{WORDS[criterion.verdict]:<11} {decided}")
        if criterion.quote is not None:
            lines.append(f'    "{sanitize(" ".join(criterion.quote.text.split()))}"')
        lines.append(f"    {sanitize(criterion.reason)}")
    extras = [
        f"{count} {word}"
        for count, word in ((grade.unsure_count, "unsure"), (grade.not_graded_count, "not graded"))
        if count
    ]
    lines.append(" · ".join([f"{grade.met_count} of {grade.of}", *extras]))
    source = grade.provenance
    lines.append(
        f"grader {source.grader_version} · {source.model or 'no model'} · {source.seconds:.1f} s · "
        f"{source.prompt_tokens} prompt tokens ({source.cached_tokens} cached) · rubric {source.rubric_hash[:8]} · "
        f"prompts {source.prompt_hash[:8] or '–'}"
    )
    return lines
