"""A report of an interview as one HTML file."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tutor.reports import words as w
from tutor.reports.page import esc, page, prose, told
from tutor.reports.pictures import criteria_grid, time_bars

if TYPE_CHECKING:
    from tutor.reports.models import CriterionReport, ItemReport, Report


def as_html(report: Report) -> str:
    """The whole page."""
    parts = [
        f"<header><h1>{esc(report.title)}</h1>",
        f'<p class="soft">{w.day(report.started_at)}, {report.started_at:%H:%M} · {report.mode} mode · '
        f"{esc(w.state_words(report))}</p>",
        f'<p class="lead"><strong>{esc(w.total_words(report))}</strong></p>',
        told(f"{w.time_words(report)}."),
        told(w.before_words(report)),
        "</header>",
        _pictures(report),
        _contents(report),
        *(_item(item) for item in report.items),
        _lab(report),
        f"<footer><p>Made by tutor {esc(report.program_version)} on {w.day(report.made_at)} from the log of interview "
        f"{esc(report.interview_id)}. Everything here is derived from what was recorded then.</p></footer>",
    ]
    return page(f"{report.title}, {w.day(report.started_at)}", "\n".join(part for part in parts if part))


def _pictures(report: Report) -> str:
    grid, times = criteria_grid(report.items), time_bars(report.items)
    figures = []
    if grid:
        own = any(one.own for item in report.items for one in item.criteria)
        key = "✓ met · ✗ not met · ? unsure · – not graded" + (" · * your own verdict" if own else "")
        figures.append(
            f'<figure><figcaption>Criteria per question</figcaption>{grid}<p class="soft small">{key}</p></figure>'
        )
    if times:
        tick = any(item.planned_s is not None and item.spent_s is not None for item in report.items)
        note = '<p class="soft small">The line marks the time planned.</p>' if tick else ""
        figures.append(f"<figure><figcaption>Time per question</figcaption>{times}{note}</figure>")
    return f'<section aria-label="Pictures"><div class="pair">{"".join(figures)}</div></section>' if figures else ""


def _contents(report: Report) -> str:
    rows = "".join(
        f'<tr><td class="n">{item.number}</td><td><a href="#q{item.number}">{esc(item.title)}</a></td>'
        f"<td>{esc(w.outcome_words(item))}</td>"
        f"<td>{esc(w.CONFIDENCE[item.confidence] if item.confidence is not None else '–')}</td>"
        f'<td class="n">{esc(w.minutes(item.spent_s))}</td></tr>'
        for item in report.items
    )
    table = (
        '<div class="wide"><table><thead><tr><th class="n" scope="col"></th><th scope="col">question</th>'
        '<th scope="col">outcome</th><th scope="col">confidence</th><th class="n" scope="col">time</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    coming = "".join(f"<li><strong>{esc(when)}</strong>: {esc(title)}</li>" for when, title in w.coming(report))
    back = f"<h3>What comes back</h3><ul>{coming}</ul>" if coming else ""
    return f'<section aria-label="Overview">{table}{back}</section>'


def _item(item: ItemReport) -> str:
    facts = " · ".join([item.kind, *w.facts(item)])
    parts = [
        f'<article id="q{item.number}"><h2>{item.number}. {esc(item.title)}</h2>',
        f'<p class="soft">{esc(facts)}</p>',
        f"<p><strong>{esc(w.outcome_words(item)).capitalize()}</strong></p>",
        f"<details open><summary>The question</summary>{prose(item.prompt)}</details>",
    ]
    if item.answer is not None:
        parts.append(f'<h3>Your answer</h3><div class="answer"><pre dir="auto">{_marked(item)}</pre></div>')
    if item.chosen is not None:
        parts.append(
            f'<h3>You chose</h3><div class="answer">{prose(item.chosen)}{told(item.chosen_reason, "soft")}</div>'
        )
    if item.waiting_reason:
        parts.append(told(f"Not graded: {item.waiting_reason}", "note"))
    if item.criteria:
        parts.append(f'<h3>Verdicts</h3><dl class="criteria">{"".join(_criterion(one) for one in item.criteria)}</dl>')
    parts += _misconceptions(item)
    for one in item.follow_ups:
        parts.append(f"<h3>{'Asked back' if one.clarifies else 'Follow-up'}</h3>{told(one.text)}")
        if one.answer is not None:
            parts.append(f'<div class="answer"><pre dir="auto">{esc(one.answer)}</pre></div>')
        else:
            parts.append(told("Skipped." if one.skipped else "Not answered.", "soft"))
    parts.append(_simulator(item))
    next_ = [each for each in (w.compared_words(item), w.scheduled_words(item.scheduled)) if each]
    if next_:
        parts.append("<h3>Before and next</h3>" + "".join(told(each) for each in next_))
    if item.reference:
        parts.append(f"<details><summary>Reference answer</summary>{prose(item.reference)}</details>")
    parts.append(f'<p class="soft small">{esc(w.provenance_words(item))}</p></article>')
    return "\n".join(part for part in parts if part)


def _lab(report: Report) -> str:
    """Claims and predictions of the lab while the interview was going on."""
    parts = []
    if report.claims:
        parts.append("<h2>Claims put to the test</h2>")
        for claim in report.claims:
            first, *rest = w.claim_words(claim)
            parts.append(f"<h3>{esc(first)}</h3><ul>{''.join(f'<li>{esc(each)}</li>' for each in rest)}</ul>")
    if report.lab_predictions:
        parts.append("<h2>Predicted in the lab</h2>")
        for made in report.lab_predictions:
            rows = [f"{label}: {f'{mark} {text}'.strip()}" for label, mark, text in made.rows]
            rows += [f"Why, in your words: {made.explanation}"] if made.explanation else []
            parts.append(f"<h3>{esc(made.title)}</h3><ul>{''.join(f'<li>{esc(each)}</li>' for each in rows)}</ul>")
    return f"<section>{''.join(parts)}</section>" if parts else ""


def _criterion(one: CriterionReport) -> str:
    chip = f'<span class="chip {one.verdict}">{w.SYMBOLS[one.verdict]} {w.VERDICTS[one.verdict]}</span>'
    by = f' <span class="soft small">{esc(w.decided_words(one))}</span>' if one.decided_by is not None else ""
    quote = f'<blockquote dir="auto">“{esc(one.quote.text)}”</blockquote>' if one.quote is not None else ""
    comment = told(f"The model adds: {one.comment}", "soft") if one.comment else ""
    return (
        f"<div><dt>{one.criterion.capitalize()} {chip}{by}</dt>"
        f"<dd>{quote}{told(one.reason)}{told(w.own_words(one), 'note')}{comment}</dd></div>"
    )


def _misconceptions(item: ItemReport) -> list[str]:
    parts = []
    for seen in item.misconceptions:
        instead = told(f"Instead: {seen.correction}") if seen.correction else ""
        look = told(f"Look at: {seen.check}") if seen.check else ""
        parts.append(f'<h3>Seen in the answer</h3><div class="note">{told(seen.what)}{instead}{look}</div>')
    return parts


def _simulator(item: ItemReport) -> str:
    simulator = item.simulator
    if simulator is None:
        return ""
    said = [w.predicted_words(one) for one in simulator.values] + [
        w.direction_words(one) for one in simulator.directions
    ]
    rows = "".join(f"<li>{esc(each)}</li>" for each in said)
    why = told(f"Why, in your words: {simulator.explanation}") if simulator.explanation else ""
    return f"<h3>What the simulator said</h3>{told(w.simulator_words(item).capitalize(), 'soft')}<ul>{rows}</ul>{why}"


def _marked(item: ItemReport) -> str:
    """The answer with the quotes underlined where they stand, each followed by the name of its criterion."""
    text = item.answer or ""
    quotes = [
        (one.quote.start, one.quote.end, one.criterion)
        for one in item.criteria
        if one.quote is not None and one.quote.text and text[one.quote.start : one.quote.end] == one.quote.text
    ]
    ends = sorted({0, len(text), *(edge for start, end, _ in quotes for edge in (start, end))})
    parts = []
    for start, end in pairwise(ends):
        inside = any(first <= start and end <= last for first, last, _ in quotes)
        piece = esc(text[start:end])
        parts.append(f"<mark>{piece}</mark>" if inside else piece)
        names = ", ".join(criterion for _, last, criterion in quotes if last == end)
        if names:
            parts.append(f"<sup>{names}</sup>")
    return "".join(parts)
