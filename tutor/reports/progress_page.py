"""The progress report as HTML and as Markdown: one outline, so that both say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tutor.drills.forecast import LONGEST_DAYS
from tutor.lab.surprise import CALIBRATED_BITS
from tutor.reports import words as w
from tutor.reports.markdown import plain, table
from tutor.reports.page import esc, page, told
from tutor.reports.progress import depths, verdict_words
from tutor.reports.progress_pictures import ahead_picture, calibration_picture, readiness_picture, weeks_picture

if TYPE_CHECKING:
    from tutor.drills.forecast import CatchUpForecast
    from tutor.drills.mastery import Status, TopicMastery
    from tutor.reports.progress import Figures

_STATUS: Final[dict[Status, str]] = {
    "not begun": "–\u00a0not\u00a0begun",
    "learning": "…\u00a0learning",
    "fading": "↓\u00a0fading",
    "mastered": "✓\u00a0mastered",
}


@dataclass(frozen=True)
class _Block:
    """A heading with sentences, a picture and a table."""

    title: str
    sentences: Sequence[str] = ()
    picture: str = ""
    key: str = ""
    """What the picture's marks mean."""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    numbers: frozenset[int] = field(default_factory=frozenset)
    """Columns that are numbers."""
    notes: Sequence[str] = ()


def _blocks(found: Figures) -> list[_Block]:
    return [
        _now(found),
        _calibration(found),
        _topics(found.topics),
        _weeks(found),
        _readiness(found),
        *_surprise(found),
    ]


def _now(found: Figures) -> _Block:
    counts = found.counts
    sentences = [
        f"{counts.today:,} to ask today: {counts.due:,} due, {counts.overdue:,} overdue, {counts.today_new:,} new.",
        f"{counts.done_today:,} answered today, {counts.buried:,} buried, {counts.suspended:,} suspended, "
        f"{counts.leeches:,} keep being forgotten.",
        _catching(found.catching),
    ]
    return _Block(
        "Now and the coming days",
        [each for each in sentences if each],
        ahead_picture(found.ahead),
        "By what is known now; new items and misses add to it.",
    )


def _catching(catching: CatchUpForecast) -> str:
    if catching.never:
        return f"At {catching.per_day} answers a day the backlog is not worked off in {LONGEST_DAYS} days."
    if not catching.backlog:
        return ""
    low, high = catching.days[0], min(catching.days[-1], LONGEST_DAYS)
    span = w.plural(high, "day") if low == high else f"{low} to {high} days"
    return f"What is due is worked off in {span} at {catching.per_day} answers a day."


def _calibration(found: Figures) -> _Block:
    everything = found.everything
    title = "Confidence against outcome"
    if not everything.answers:
        return _Block(title, ["No answer had its confidence stated so far."])
    sentences = [verdict_words(everything)]
    if everything.brier is not None:
        sentences.append(f"Brier score {everything.brier:.3f}; 0 is perfect, 0.25 is always saying 50 %.")
    titles = {topic.topic: topic.title for topic in found.topics}
    rows = [
        (
            titles.get(each.topic, each.topic),
            str(each.answers),
            f"{each.stated:.0%}" if each.stated is not None else "–",
            f"{each.observed:.0%}" if each.observed is not None else "–",
            each.verdict or "too few",
        )
        for each in found.by_topic
    ]
    return _Block(
        title,
        sentences,
        calibration_picture(everything),
        "Dashed: what the level is taken for. Dot: what came out. Line: its 95 % interval.",
        ("topic", "answers", "said", "right", "in words"),
        rows,
        frozenset({1, 2, 3}),
    )


def _topics(topics: Sequence[TopicMastery]) -> _Block:
    mastered = sum(topic.status == "mastered" for topic in topics)
    titles = {topic.topic: topic.title for topic in topics}
    steps = depths(topics)
    rows = []
    for topic in sorted(topics, key=lambda each: steps[each.topic]):
        needs = [
            f"{'✗' if each in topic.missing else '✓'} {titles[each]}" for each in topic.prerequisites if each in titles
        ]
        rows.append(
            (
                str(steps[topic.topic] + 1),
                topic.title,
                f"{topic.mastery:.0%}",
                _STATUS[topic.status],
                f"{topic.asked} of {topic.items}",
                ", ".join(needs) or "–",
            )
        )
    return _Block(
        "Topics",
        [f"{mastered} of {len(topics)} topics mastered. An item counts once it was right on two days."],
        header=("step", "topic", "mastery", "status", "asked", "needs"),
        rows=rows,
        numbers=frozenset({0, 2, 4}),
        notes=["Mastery fades with the chance to remember. After “needs”: ✓ is mastered, ✗ is not."],
    )


def _weeks(found: Figures) -> _Block:
    if not found.weeks:
        return _Block("Weeks", ["No week has an answer yet."])
    rows = [
        (
            str(each.first_day),
            f"{each.reviews:,}",
            str(each.new),
            f"{each.minutes:.0f}",
            f"{each.remembered} of {each.repeated}" if each.repeated else "–",
            f"{each.retention:.0%}" if each.retention is not None else "–",
            f"{each.expected:.0%}" if each.expected is not None else "–",
        )
        for each in reversed(found.weeks)
    ]
    return _Block(
        "Weeks",
        picture=weeks_picture(found.weeks),
        key="Answers per week; kept: the share remembered of what had been asked before.",
        header=("week from", "answered", "new", "minutes", "remembered", "share", "expected"),
        rows=rows,
        numbers=frozenset(range(1, 7)),
        notes=["Expected: the mean chance by FSRS. Each item counts once a day."],
    )


def _readiness(found: Figures) -> _Block:
    ready = found.ready
    if ready is None:
        return _Block(
            "Readiness", ["No interview day is set; --day names one, and the plan of the drills can keep it."]
        )
    left = "today" if ready.days_left == 0 else f"in {w.plural(ready.days_left, 'day')}"
    sentences = [f"Interview on {ready.interview_day}, {left}."]
    if ready.low is None or ready.high is None:
        sentences.append("Too early to give a range.")
    else:
        sentences.append(f"{ready.low:.0%} to {ready.high:.0%} of {ready.items} items would be answered right.")
    return _Block("Readiness", sentences, readiness_picture(ready), notes=ready.basis)


def _surprise(found: Figures) -> list[_Block]:
    if not found.surprises:
        return []
    rows = [
        (each.topic, str(each.predictions), str(each.inside), f"{each.stated:.0%}", f"{each.mean_bits:.1f}")
        for each in found.surprises
    ]
    words = f"Bits are the mean surprise; {CALIBRATED_BITS:.1f} is the mean of ranges that hold as often as they say."
    return [
        _Block(
            "Predicted numbers",
            header=("topic", "n", "inside", "said", "bits"),
            rows=rows,
            numbers=frozenset({1, 2, 3, 4}),
            notes=[words],
        )
    ]


def _foot(found: Figures) -> str:
    from tutor import __version__

    return f"Made by tutor {__version__} on {w.day(found.made_at)}. Everything here is derived from the log of answers."


def progress_markdown(found: Figures) -> str:
    """The report as Markdown, without its pictures: their numbers stand in it."""
    lines = ["# Progress", "", f"{found.made_at:%Y-%m-%d %H:%M}"]
    for block in _blocks(found):
        lines += ["", f"## {block.title}"]
        for sentence in block.sentences:
            lines += ["", plain(sentence)]
        if block.title == "Confidence against outcome" and found.everything.answers:
            lines += ["", *table(("said before", "right", "rate", "95 % interval"), _levels(found))]
        if block.rows:
            lines += ["", *table(block.header, block.rows)]
        for note in block.notes:
            lines += ["", plain(note)]
    return "\n".join([*lines, "", "---", "", _foot(found)]) + "\n"


def _levels(found: Figures) -> list[tuple[str, ...]]:
    return [
        (
            w.CONFIDENCE[each.level],
            f"{each.right} of {each.answers}",
            "–" if each.rate is None else f"{each.rate:.0%}",
            "–" if each.rate is None else f"{each.low:.0%} to {each.high:.0%}",
        )
        for each in found.everything.levels
    ]


def progress_html(found: Figures) -> str:
    """The report as one HTML file."""
    parts = [f'<header><h1>Progress</h1><p class="soft">{w.day(found.made_at)}</p></header>']
    for block in _blocks(found):
        inner = [f"<h2>{esc(block.title)}</h2>", *(told(sentence) for sentence in block.sentences)]
        if block.picture:
            inner.append(f'<figure class="alone">{block.picture}<p class="soft small">{esc(block.key)}</p></figure>')
        if block.title == "Confidence against outcome" and found.everything.answers:
            levels = ("said before", "right", "rate", "95 % interval")
            inner.append(_table(levels, _levels(found), frozenset({1, 2, 3})))
        if block.rows:
            inner.append(_table(block.header, block.rows, block.numbers))
        inner += [told(note, "soft small") for note in block.notes]
        parts.append(f"<section>{''.join(inner)}</section>")
    parts.append(f"<footer>{told(_foot(found))}</footer>")
    return page(f"Progress, {w.day(found.made_at)}", "\n".join(parts))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[int]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        return "".join(
            f"<{tag}{scope}{' class=n' if column in numbers else ''}>{esc(cell)}</{tag}>"
            for column, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return f'<div class="wide"><table><thead><tr>{row(header, "th")}</tr></thead><tbody>{body}</tbody></table></div>'
