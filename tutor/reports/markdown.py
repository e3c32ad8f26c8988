"""A report as Markdown: reads well as it stands, and nothing in it can pass for markup of the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tutor.reports import words as w

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from tutor.reports.models import ItemReport, Report

_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def plain(text: str) -> str:
    """Text that means itself, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def quoted(text: str) -> list[str]:
    """Someone's words, line by line, in a block of their own."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *text.splitlines(), fence]


def prose(markdown: str) -> list[str]:
    """Markdown of the question bank as a quotation; HTML in it means itself, and no picture is fetched."""
    if {"html_block", "html_inline", "image"} & set(_kinds(_reader().parse(markdown))):
        # As entities: a backslash of the pack's own in front would undo one of ours.
        markdown = markdown.replace("<", "&lt;").replace("![", "&#33;[")
    return [f"> {line}".rstrip() for line in markdown.splitlines()]


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def _kinds(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        yield token.type
        yield from _kinds(token.children or ())


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table; cells are plain text."""
    head = [plain(cell) for cell in header]
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(' --- ' for _ in head)}|"]
    return lines + [f"| {' | '.join(plain(cell) for cell in row)} |" for row in rows]


def as_markdown(report: Report) -> str:
    """The whole report."""
    lines = [
        f"# {plain(report.title)}",
        "",
        f"{report.started_at:%Y-%m-%d %H:%M} · {report.mode} mode · {w.state_words(report)}",
        "",
        f"**{w.total_words(report)}** {w.time_words(report)}.",
    ]
    if report.before is not None:
        lines += ["", w.before_words(report)]
    lines += ["", *table(("", "question", "outcome", "confidence", "time"), (_row(item) for item in report.items))]
    coming = w.coming(report)
    if coming:
        lines += ["", "## What comes back", "", *(f"- {when}: {plain(title)}" for when, title in coming)]
    for item in report.items:
        lines += _item(item)
    if report.claims:
        lines += ["", "## Claims put to the test"]
        for claim in report.claims:
            first, *rest = w.claim_words(claim)
            lines += ["", f"**{plain(first)}**", "", *(f"- {plain(each)}" for each in rest)]
    if report.lab_predictions:
        lines += ["", "## Predicted in the lab"]
        for made in report.lab_predictions:
            lines += ["", f"**{plain(made.title)}**", ""]
            lines += [f"- {label}: {plain(f'{mark} {text}'.strip())}" for label, mark, text in made.rows]
            lines += [f"- Why, in your words: {plain(made.explanation)}"] if made.explanation else []
    lines += ["", "---", "", f"Made by tutor {report.program_version} on {report.made_at:%Y-%m-%d %H:%M} from the "
              f"log of interview `{report.interview_id}`."]  # fmt: skip
    return "\n".join(lines) + "\n"


def _row(item: ItemReport) -> tuple[str, ...]:
    sure = w.CONFIDENCE[item.confidence] if item.confidence is not None else "–"
    return str(item.number), item.title, w.outcome_words(item), sure, w.minutes(item.spent_s)


def _item(item: ItemReport) -> list[str]:
    facts = " · ".join([item.kind, w.outcome_words(item), *w.facts(item)])
    lines = ["", f"## {item.number}. {plain(item.title)}", "", plain(facts), "", *prose(item.prompt)]
    if item.answer is not None:
        lines += ["", "Your answer:", "", *quoted(item.answer)]
    if item.chosen is not None:
        lines += ["", f"You chose: {plain(item.chosen)}"]
        lines += [plain(item.chosen_reason)] if item.chosen_reason else []
    if item.waiting_reason:
        lines += ["", f"Not graded: {plain(item.waiting_reason)}"]
    if item.criteria:
        rows = (
            (
                f"{w.SYMBOLS[one.verdict]} {one.criterion}",
                w.VERDICTS[one.verdict],
                w.decided_words(one),
                f"“{one.quote.text}”" if one.quote else "–",
                one.reason,
            )
            for one in item.criteria
        )
        lines += ["", *table(("criterion", "verdict", "decided", "quote", "reason"), rows)]
        lines += [f"\n{one.criterion}: {plain(told)}" for one in item.criteria if (told := w.own_words(one))]
        lines += [
            f"\n{one.criterion}, the model's comment: {plain(one.comment)}" for one in item.criteria if one.comment
        ]
    for seen in item.misconceptions:
        lines += ["", f"**Seen in the answer:** {plain(seen.what)}"]
        lines += [f"Instead: {plain(seen.correction)}"] if seen.correction else []
        lines += [f"Look at: {plain(seen.check)}"] if seen.check else []
    for one in item.follow_ups:
        lines += ["", f"**{'Asked back' if one.clarifies else 'Follow-up'}:** {plain(one.text)}"]
        lines += (
            ["", *quoted(one.answer)] if one.answer is not None else ["", "*Skipped.*" if one.skipped else "*Open.*"]
        )
    if item.simulator is not None:
        lines += ["", f"**Simulator:** {w.simulator_words(item)}", ""]
        lines += [f"- {plain(w.predicted_words(one))}" for one in item.simulator.values]
        lines += [f"- {plain(w.direction_words(one))}" for one in item.simulator.directions]
        if item.simulator.explanation:
            lines += ["", f"Why, in your words: {plain(item.simulator.explanation)}"]
    for told in (w.compared_words(item), w.scheduled_words(item.scheduled)):
        lines += ["", plain(told)] if told else []
    if item.reference:
        lines += ["", "Reference answer:", "", *prose(item.reference)]
    lines += ["", f"*{plain(w.provenance_words(item))}*"]
    return lines
