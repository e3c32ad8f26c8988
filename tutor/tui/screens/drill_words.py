"""What the drill screen says: counts, why an item is asked, what became of it, and what a sitting came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from textual.content import Content

from tutor.drills.words import return_line
from tutor.tui.safe import join, lines, one_line
from tutor.tui.words import SYMBOLS, TONES, clip_cells, number, pad, plural

if TYPE_CHECKING:
    from datetime import date

    from tutor.checking import CheckedRun
    from tutor.drills import Answered, Counts, SessionSummary
    from tutor.drills.drills import Presentation
    from tutor.drills.session import Learned

WHY: Final[Mapping[str, str]] = {
    "confident_wrong": "you were sure and wrong",
    "review": "due",
    "new": "new",
    "again": "once more today",
}
MODE: Final[Mapping[str, str]] = {
    "checkpoint": "checkpoint",
    "recall": "recall",
    "numbers": "numbers only",
    "prediction": "prediction",
    "full": "in full",
}
KIND_SETS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("all kinds", ()),
    ("checkpoints", ("checkpoint",)),
    ("recalls", ("recall", "probe")),
    ("numbers", ("exercise",)),
    ("predictions", ("prediction",)),
)
"""What k turns through: a name, and the kinds of items."""


def kinds_name(kinds: tuple[str, ...]) -> str:
    """What a set of kinds is called."""
    return next((name for name, each in KIND_SETS if each == kinds), ", ".join(kinds))


def counts_words(counts: Counts, kinds: tuple[str, ...] = ()) -> str:
    """12 due, 3 overdue · 8 of 190 new · 4 done today · 1 again"""
    due = f"{counts.due:,} due"
    if counts.due:
        due += f", {counts.overdue:,} overdue"
    parts = [due, f"{counts.today_new:,} of {counts.new:,} new", f"{counts.done_today:,} done today"]
    if counts.again:
        parts.append(f"{counts.again} again")
    if kinds:
        parts.insert(0, f"only {kinds_name(kinds)}")
    return " · ".join(parts)


def outcome_content(answered: Answered) -> Content:
    """✓ right: why, and when it returns."""
    outcome = answered.outcome
    verdict = "not_graded" if outcome.rating is None else "met" if outcome.right else "not_met"
    word = {"met": "right", "not_met": "not right", "not_graded": "not counted"}[verdict]
    reason = one_line(outcome.reason)
    if reason in ("Right.", "The answer is wrong."):  # the word says it
        reason = ""
    head = join((f"{SYMBOLS[verdict]} {word}", f"bold {TONES[verdict]}"), f"  {reason}" if reason else "")
    parts = [head, join(("Returns  ", "$secondary"), return_line(answered))]
    return lines(*parts)


def way_in_content(words: str, opened: int, ways: int) -> Content:
    """! forgotten 4 times: …"""
    tail = "w opens it." if not opened else f"w opens another of {ways} ways." if ways > 1 else "w opens it again."
    return join(("! ", "bold $warning"), one_line(words), (f" {tail}", "$accent"))


def values_content(run: CheckedRun) -> Content:
    """Predicted beside simulated, a row each."""
    rows = []
    for each in run.values:
        predicted = "–" if each.predicted is None else number(each.predicted)
        simulated = "no sample" if each.simulated is None else number(each.simulated)
        ratio = "" if each.ratio is None else f"   ratio {each.ratio:.2f}"
        rows.append(
            join(
                pad(one_line(each.label), 22),
                f" predicted {predicted}, simulated {simulated} {one_line(each.unit)}{ratio}",
            )
        )
    return lines(*rows)


def item_content(shown: Presentation, due: date | None) -> Content:
    """What is known about the item at hand, for the second column."""
    card = shown.card
    rows = [
        f"kind        {shown.item.kind}, {shown.item.minutes:g} min",
        f"topics      {', '.join(one_line(topic) for topic in shown.item.topics)}",
        f"asked       {plural(card.presentations, 'time')}, counted {card.reviews}",
    ]
    if card.last_day is not None:
        rows.append(f"last        {card.last_day}")
        rows.append(f"forgotten   {plural(card.lapses, 'time')}")
    if due is not None:
        rows.append(f"due         {due}")
    return join("\n".join(rows))


def sitting_content(done: tuple[Answered, ...], width: int) -> Content:
    """A row for each answer of the sitting, newest first."""
    rows = []
    for each in reversed(done):
        outcome = each.outcome
        verdict = "not_graded" if outcome.rating is None else "met" if outcome.right else "not_met"
        when = f"{each.days} d" if each.days is not None else "–"
        title = pad(one_line(each.presentation.item.title), max(8, width - 10))
        rows.append(join((f"{SYMBOLS[verdict]} ", TONES[verdict]), title, (f"{when:>6}", "$secondary")))
    return lines(*rows) if rows else join(("Answers of this sitting are listed here.", "$secondary"))


def summary_content(summary: SessionSummary, width: int, kinds: tuple[str, ...], limit_words: str) -> Content:
    """What was learned, what was missed, and when the next is due."""
    if not summary.answered:
        return empty_content(summary, kinds, limit_words)
    minutes = max(1, round(summary.seconds / 60))
    extra = f", {summary.not_counted} not counted" if summary.not_counted else ""
    rows = [
        join(
            (f"{plural(summary.answered, 'answer')} in {minutes} min", "bold"),
            f": {summary.right} right, {summary.wrong} not right{extra}.",
        )
    ]
    if summary.ratings:
        words = ", ".join(f"{rating.name.capitalize()} {count}" for rating, count in sorted(summary.ratings.items()))
        rows.append(join((f"Ratings: {words}", "$secondary")))
    rows += _listed("✓ Learned", "$success", summary.learned, width)
    sure = {each.item_id for each in summary.confident_misses}
    rows += _listed("✗ Missed at first", "$error", summary.missed, width, sure)
    rows += [join(""), join(next_words(summary))]
    return lines(*rows)


def next_words(summary: SessionSummary) -> str:
    """When something is due again."""
    if summary.left_today:
        left = f"{plural(summary.left_today, 'item')} left today."
        return f"{left} n goes on."
    if summary.next_due is None:
        return "Nothing is due on any day yet."
    return f"Next: {plural(summary.due_then, 'item')} due on {summary.next_due}."


def empty_content(summary: SessionSummary, kinds: tuple[str, ...], limit_words: str) -> Content:
    """Nothing was answered: what would be here, and how it gets there."""
    if summary.left_today and not kinds:
        return join(("Nothing was answered. ", "bold"), next_words(summary))
    first = f"No {kinds_name(kinds)} are left today." if kinds else "Nothing is due now."
    rows = [join((first, "bold")), join(next_words(summary) if not summary.left_today else "")]
    if kinds:
        rows.append(join("k asks other kinds."))
    rows += [
        join(
            "Here come items you missed, just before you would forget them, with other numbers; and new ones, "
            f"{limit_words}. An answer in an interview enters too, once it is graded."
        ),
        join("Esc goes back to Home, where i starts an interview; p shows your progress."),
    ]
    return lines(*(row for row in rows if row.plain))


def _listed(
    heading: str, tone: str, items: tuple[Learned, ...], width: int, sure: set[str] | None = None
) -> list[Content]:
    if not items:
        return []
    rows = [join(""), join((f"{heading} ({len(items)})", f"bold {tone}"))]
    for each in items:
        due = f"due {each.due_day}" if each.due_day is not None else "due today"
        note = "  sure and wrong: first tomorrow" if sure and each.item_id in sure else ""
        room = max(10, width - len(due) - len(note) - 4)
        rows.append(
            join(f"  {pad(clip_cells(one_line(each.title), room), min(room, 44))} ", (due + note, "$secondary"))
        )
    return rows
