"""The pages of the progress screen as text: tables that read line by line, with bars only beside their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from textual.content import Content

from tutor.drills.calibration import Calibration, LevelRate
from tutor.drills.forecast import LONGEST_DAYS
from tutor.lab.surprise import CALIBRATED_BITS
from tutor.reports.progress import depths, verdict_words
from tutor.tui.safe import indented, join, lines, one_line
from tutor.tui.words import CONFIDENCE, pad, plural

if TYPE_CHECKING:
    from tutor.drills import Counts
    from tutor.drills.forecast import CatchUpForecast, DueDay
    from tutor.drills.history import Period
    from tutor.drills.mastery import Status, TopicMastery
    from tutor.drills.readiness import Readiness
    from tutor.lab.surprise import TopicSurprise

STATUS: Final[Mapping[Status, tuple[str, str]]] = {
    "not begun": ("–", "$secondary"),
    "learning": ("…", ""),
    "fading": ("↓", "$warning"),
    "mastered": ("✓", "$success"),
}


def share_bar(share: float, cells: int) -> str:
    """████▁▁ in so many columns."""
    full = round(max(0.0, min(1.0, share)) * cells)
    return "█" * full + "▁" * (cells - full)


# --- topics -----------------------------------------------------------------------------------------------------


def topics_content(topics: Sequence[TopicMastery], width: int) -> Content:
    """The map: step by step from what builds on nothing, each topic with what it needs."""
    if not any(topic.asked for topic in topics):
        first = "Nothing was asked so far. Drill (Esc, then d) or be interviewed (i), and topics fill up here."
    else:
        mastered = sum(topic.status == "mastered" for topic in topics)
        first = f"{mastered} of {len(topics)} topics mastered. An item counts once it was right on two days."
    rows = [join((indented(first, width, 0), "$secondary")), join("")]
    titles = {topic.topic: one_line(topic.title) for topic in topics}
    steps = depths(topics)
    name = max(12, min(34, width - 37))
    head = f"  {pad('topic', name)} {'mastery':>11}  {'status':<10} {'asked':>8}"
    for step in sorted(set(steps.values())):
        rows.append(join((f"Step {step + 1}", "bold"), (" builds on nothing here" if step == 0 else "", "$secondary")))
        rows.append(join((head, "$secondary")))
        for topic in topics:
            if steps[topic.topic] == step:
                rows += _topic_rows(topic, titles, name, width)
    return lines(*rows)


def _topic_rows(topic: TopicMastery, titles: Mapping[str, str], name: int, width: int) -> list[Content]:
    symbol, tone = STATUS[topic.status]
    rows = [
        join(
            (f"{symbol} ", tone),
            pad(titles[topic.topic], name),
            (f" {share_bar(topic.mastery, 6)} {topic.mastery:>4.0%}", tone),
            f"  {topic.status:<10} {f'{topic.asked} of {topic.items}':>8}",
        )
    ]
    needs = [
        f"{'✗' if each in topic.missing else '✓'} {titles[each]}" for each in topic.prerequisites if each in titles
    ]
    if needs:
        rows.append(join((indented(f"needs {' · '.join(needs)}", width, 4), "$secondary")))
    return rows


# --- confidence -------------------------------------------------------------------------------------------------


def level_picture(level: LevelRate, cells: int) -> str:
    """┊ what was stated, ● what came out, ├─┤ its 95 % interval, from 0 to 100 %."""
    row = [" "] * cells

    def at(share: float) -> int:
        return min(cells - 1, round(share * (cells - 1)))

    if level.rate is not None:
        low, high = at(level.low), at(level.high)
        row[low : high + 1] = "─" * (high - low + 1)
        row[low], row[high] = "├", "┤"
        row[at(level.rate)] = "●"
    if row[at(level.stated)] != "●":
        row[at(level.stated)] = "┊"
    return "".join(row)


def calibration_content(everything: Calibration, by_topic: Sequence[Calibration], width: int) -> Content:
    """Stated confidence against what came out, by level and by topic."""
    if not everything.answers:
        return join(
            indented(
                "No answer had its confidence stated so far. In drills and interviews you say 1, 2 or 3 before you "
                "answer; here stands how often each of them was right.",
                width,
                0,
            )
        )
    beside = width >= 72  # else each picture stands below its row
    cells = min(41, width - 50) if beside else max(11, min(41, width - 4))
    lead = " " if beside else "\n  "
    axis = f"0 %{'100 %':>{cells - 3}}"
    rows = [join((f"  {'said before':<15} {'right':>9} {'rate':>5}  {'95 % interval':<13}{lead}{axis}", "$secondary"))]
    for level in everything.levels:
        rate = "–" if level.rate is None else f"{level.rate:.0%}"
        interval = "" if level.rate is None else f"{level.low:.0%} to {level.high:.0%}"
        rows.append(
            join(
                f"{level.level} {CONFIDENCE[level.level]:<15} {f'{level.right} of {level.answers}':>9} {rate:>5}  "
                f"{interval:<13}{lead}{level_picture(level, cells)}"
            )
        )
    rows += [
        join((indented("┊ the level is taken for 30, 60 and 85 %   ● came out   ├─┤ 95 % interval", width, 2),
              "$secondary")),
        join(""),
        join((indented(verdict_words(everything), width, 0), "bold")),
        join(indented(f"Brier score {everything.brier:.3f}; 0 is perfect, 0.25 is always saying 50 %.", width, 0)),
        join(""),
        join((f"  {pad('topic', 24)} {'answers':>7} {'said':>5} {'right':>5}  in words", "$secondary")),
    ]  # fmt: skip
    for each in by_topic:
        words = each.verdict or "too few"
        rows.append(
            join(
                f"  {pad(one_line(each.topic), 24)} {each.answers:>7} ",
                f"{each.stated:>5.0%} {each.observed:>5.0%}  {words}",
            )
        )
    return lines(*rows)


def surprise_content(surprises: Sequence[TopicSurprise], width: int) -> Content:
    """How much predicted numbers missed by, topic by topic; empty without predictions that were run."""
    if not surprises:
        return join("")
    head = f"  {'predicted numbers':<24} {'n':>4} {'inside':>7} {'said':>5} {'bits':>5}"
    rows = [join(""), join((head, "$secondary"))]
    rows += [
        join(
            f"  {pad(one_line(each.topic), 24)} {each.predictions:>4} {each.inside:>7} "
            f"{each.stated:>5.0%} {each.mean_bits:>5.1f}"
        )
        for each in surprises
    ]
    words = f"Bits: mean surprise; {CALIBRATED_BITS:.1f} is the mean of ranges that hold as often as they say."
    return lines(*rows, join((indented(words, width, 0), "$secondary")))


# --- weeks and days ---------------------------------------------------------------------------------------------


def weeks_content(weeks: Sequence[Period], width: int) -> Content:
    """What was done week by week, the newest first."""
    if not weeks:
        return join(indented("No week has an answer yet. Each week with drills gets a row here.", width, 0))
    most = max(each.reviews for each in weeks)
    cells = max(4, min(30, width - 58))
    head = f"{'week from':<10} {'answered':>8} {'new':>4} {'minutes':>7} {'remembered':>14} {'expected':>8}"
    rows = [join((head, "$secondary"))]
    for each in reversed(weeks):
        kept = f"{each.remembered} of {each.repeated}" if each.repeated else "–"
        share = f" {each.retention:>4.0%}" if each.retention is not None else ""
        expected = f"{each.expected:.0%}" if each.expected is not None else "–"
        rows.append(
            join(
                f"{each.first_day} {each.reviews:>8,} {each.new:>4} {each.minutes:>7.0f} ",
                f"{kept + share:>14} {expected:>8} ",
                ("▪" * max(1, round(cells * each.reviews / most)), "$secondary"),
            )
        )
    rows += [join(""), join((indented("Remembered: of the items that had been asked before. Expected: the mean chance "
                                      "by FSRS. Each item counts once a day.", width, 0), "$secondary"))]  # fmt: skip
    return lines(*rows)


def ahead_content(counts: Counts, ahead: Sequence[DueDay], catching: CatchUpForecast, width: int) -> Content:
    """Now, what is due on the coming days, and how long a backlog takes."""
    rows = [
        join((f"Today {counts.today:,} to ask", "bold"),
             f": {counts.due:,} due, {counts.overdue:,} overdue, {counts.today_new:,} new."),
        join((f"{counts.done_today:,} answered today · {counts.buried:,} buried · {counts.suspended:,} suspended · "
              f"{counts.leeches:,} keep being forgotten", "$secondary")),
    ]  # fmt: skip
    if catching.never:
        rows.append(join(f"At {catching.per_day} answers a day the backlog is not worked off in {LONGEST_DAYS} days."))
    elif catching.backlog:
        low, high = catching.days[0], min(catching.days[-1], LONGEST_DAYS)
        span = plural(high, "day") if low == high else f"{low} to {high} days"
        rows.append(join(f"What is due is worked off in {span} at {catching.per_day} answers a day."))
    most = max(1, *(each.due for each in ahead))
    cells = max(6, min(50, width - 24))
    rows += [join(""), join((f"{'day':<14} {'due':>5}", "$secondary"))]
    for each in ahead:
        bar = "▪" * (max(1, round(cells * each.due / most)) if each.due else 0)
        rows.append(join(f"{each.day:%a} {each.day} {each.due:>5,} ", (bar, "$secondary")))
    rows.append(join(("By what is known now; new items and misses add to it.", "$secondary")))
    return lines(*rows)


def readiness_content(ready: Readiness | None, width: int) -> Content:
    """A range, and what it rests on."""
    if ready is None:
        return join(
            indented("No interview day is set. i asks for one; then a range stands here, with what it rests on.",
                     width, 0)
        )  # fmt: skip
    left = "today" if ready.days_left == 0 else f"in {plural(ready.days_left, 'day')}"
    rows = [join((f"Interview on {ready.interview_day}, {left}", "bold"))]
    if ready.low is None or ready.high is None:
        rows.append(join("Too early to give a range."))
    else:
        cells = max(11, min(41, width - 8))
        low, high = (round(share * (cells - 1)) for share in (ready.low, ready.high))
        picture = " " * low + "├" + "─" * max(0, high - low - 1) + ("┤" if high > low else "")
        rows += [
            join((f"{ready.low:.0%} to {ready.high:.0%}", "bold"), f" of {ready.items} items would be answered right."),
            join((f"0 %{'100 %':>{cells - 3}}", "$secondary")),
            join(picture),
        ]
    rows += [join(""), *(join((indented(sentence, width, 2), "$secondary")) for sentence in ready.basis)]
    return lines(*rows)
