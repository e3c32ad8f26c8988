"""How reports word verdicts, times and numbers, in every form of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

from tutor.lab.words import CONFIDENCE, MOVES, measured

if TYPE_CHECKING:
    from tutor.grading.models import Verdict
    from tutor.reports.models import (
        ClaimReport,
        CriterionReport,
        DirectionReport,
        ItemReport,
        PredictedReport,
        Report,
        ScheduledReport,
    )

__all__ = ["CONFIDENCE", "MOVES", "measured"]

SYMBOLS: Final[Mapping[Verdict, str]] = {"met": "✓", "not_met": "✗", "unsure": "?", "not_graded": "–"}
VERDICTS: Final[Mapping[Verdict, str]] = {
    "met": "met",
    "not_met": "not met",
    "unsure": "unsure",
    "not_graded": "not graded",
}
DECIDERS: Final[Mapping[str | None, str]] = {
    "code": "by code",
    "model": "by the model",
    "evidence": "by evidence in the answer",
    "self": "by you",
    None: "",
}


def minutes(seconds: float | None) -> str:
    """45 s, 4 min 10 s, 1 h 05 min; – where it is not known. From two hours on there were breaks, so no figure."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s" if whole % 60 else f"{whole // 60} min"
    if whole < 7200:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return "over 2 h, with breaks"


def day(moment: datetime | date) -> str:
    """2 March 2026"""
    return f"{moment.day} {moment:%B %Y}"


def plural(count: int, noun: str) -> str:
    """1 item, 2 items"""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def outcome_words(item: ItemReport) -> str:
    """How an item went, in a few words."""
    match item.outcome:
        case "graded" if item.of is None:
            return "graded by another version of this program"
        case "graded":
            verdicts = [one.verdict for one in item.criteria]
            rest = [f"{verdicts.count(kind)} {VERDICTS[kind]}" for kind in ("unsure", "not_graded") if kind in verdicts]
            return ", ".join([f"{item.met} of {item.of} met", *rest])
        case "right":
            return "right"
        case "wrong":
            return "not right"
        case "recalled":
            return "recalled from memory, not graded"
        case "predicted":
            simulator = item.simulator
            if simulator is None or not simulator.ran:
                return "predicted, not run"
            known = [one.inside for one in simulator.values if one.inside is not None]
            return f"{sum(known)} of {len(known)} ranges held" if known else "predicted and run"
        case "skipped":
            return "skipped"
        case "waits":
            return "handed in, not graded yet"
        case _:
            return "not answered"


def total_words(report: Report) -> str:
    """The whole in one sentence."""
    graded = sum(item.of is not None for item in report.items)
    told = [f"{plural(len(report.items), 'question')}, {graded} graded"]
    if report.of:
        told.append(f"{report.met} of {report.of} criteria met")
    chosen = [item.outcome == "right" for item in report.items if item.outcome in ("right", "wrong")]
    if chosen:
        told.append(f"{sum(chosen)} of {plural(len(chosen), 'checkpoint')} right")
    return ": ".join(told[:2]) + "".join(f", {each}" for each in told[2:]) + "."


def before_words(report: Report) -> str:
    """Against the same plan the last time; empty when there was none."""
    if report.before is None:
        return ""
    was = report.before
    return f"The last time this plan was held, on {day(was.at)}, {was.met} of {was.of} criteria were met."


def time_words(report: Report) -> str:
    """Time taken, and planned where a time was planned."""
    planned = f" of {minutes(report.planned_s)} planned" if report.planned_s is not None else ""
    return f"{minutes(report.spent_s)} spent on answers{planned}"


def state_words(report: Report) -> str:
    """Whether it came to its end."""
    if report.ended is None:
        return f"not finished: question {len(report.items)} of {report.questions_planned}"
    if report.ended == "stopped":
        return f"ended after question {len(report.items)} of {report.questions_planned}"
    return "finished"


def own_words(one: CriterionReport) -> str:
    """What the candidate said of a criterion, with the grader's verdict beside it; empty when nothing was said."""
    if one.own is None:
        return ""
    if one.own.kind == "self_mark":
        return f"Marked {VERDICTS[one.own.verdict]} by you; the grader had left it {VERDICTS[one.grader_verdict]}."
    told = f"Contested: {VERDICTS[one.own.verdict]} in your view, {VERDICTS[one.grader_verdict]} in the grader's"
    told += f" (“{one.own.note}”)." if one.own.note else "."
    if one.own.judged_again is not None:
        again = f" Judged once more: {VERDICTS[one.own.judged_again]}"
        told += f"{again}, {one.own.judged_reason}" if one.own.judged_reason else f"{again}."
    return f"{told} Yours counts."


def decided_words(one: CriterionReport) -> str:
    """Who decided, and how sure that is."""
    sure = f", P(met) {one.p_met:.2f}" if one.p_met is not None else ""
    return f"{DECIDERS[one.decided_by]}{sure}"


def facts(item: ItemReport) -> list[str]:
    """Confidence, time, hints and attempts, each in a few words."""
    told = [f"confidence: {CONFIDENCE[item.confidence]}"] if item.confidence is not None else []
    if item.spent_s is not None:
        planned = f" of {minutes(item.planned_s)}" if item.planned_s is not None else ""
        told.append(f"time: {minutes(item.spent_s)}{planned}")
    if item.hints_of:
        told.append(f"hints: {item.hints_used} of {item.hints_of}")
    if item.attempts > 1:
        told.append(f"handed in {item.attempts} times")
    return told


def compared_words(item: ItemReport) -> str:
    """Against the last attempt of the same item; empty when there was none."""
    was = item.before
    if was is None:
        return ""
    numbers = "the same numbers" if was.same_numbers else "other numbers"
    told = f"Last time, on {day(was.at)} with {numbers}: "
    if was.met is not None:
        told += f"{was.met} of {was.of} criteria met"
    elif was.right is not None:
        told += "right" if was.right else "not right"
    else:
        told += {"prediction": "predicted", "recall": "recalled"}.get(item.kind, "answered, not graded")
    if was.spent_s is not None:
        told += f" in {minutes(was.spent_s)}"
    changes = []
    if was.gained:
        changes.append(f"gained {' and '.join(was.gained)}")
    if was.lost:
        changes.append(f"lost {' and '.join(was.lost)}")
    return f"{told}; since then {', '.join(changes)}." if changes else f"{told}."


def scheduled_words(scheduled: ScheduledReport | None) -> str:
    """When the drills ask it again and why."""
    if scheduled is None:
        return ""
    if scheduled.suspended:
        return f"Suspended in the drills, so it is not asked. {scheduled.why}"
    if scheduled.due is None or scheduled.days is None:
        return f"New to the drills. {scheduled.why}"
    when = {0: "today", 1: "tomorrow"}.get(scheduled.days, f"in {scheduled.days} days, on {day(scheduled.due)}")
    return f"Asked again {when}. {scheduled.why}"


def predicted_words(one: PredictedReport) -> str:
    """A predicted number in one sentence."""
    told = f"{one.label}: "
    if one.predicted is None:
        told += "not predicted"
    else:
        told += f"predicted {measured(one.predicted)} {one.unit}".rstrip()
        if one.low is not None and one.high is not None:
            told += f", between {measured(one.low)} and {measured(one.high)}"
    if one.simulated is not None:
        told += f"; simulated {measured(one.simulated)} {one.unit}".rstrip()
        if one.interval is not None:
            told += f" [{measured(one.interval[0])}, {measured(one.interval[1])}]"
    elif one.reference is not None:
        told += f"; by the formula {measured(one.reference)} {one.unit}".rstrip()
    if one.inside is not None:
        told += "; inside your range" if one.inside else "; outside your range"
    return told


def coming(report: Report) -> list[tuple[str, str]]:
    """What is scheduled, the earliest first: when, and the item."""
    found = [(item.scheduled, item) for item in report.items if item.scheduled and item.scheduled.days is not None]
    order = sorted(found, key=lambda pair: (pair[0].days or 0, pair[1].number))
    told = []
    for scheduled, item in order:
        assert scheduled.due is not None
        days = scheduled.days or 0
        told.append(({0: "today", 1: "tomorrow"}.get(days, f"{scheduled.due:%a} {day(scheduled.due)}"), item.title))
    return told


def direction_words(one: DirectionReport) -> str:
    """A predicted direction in one sentence."""
    predicted = MOVES.get(one.predicted, one.predicted)
    if one.moved is None:
        return f"{one.metric}: predicted {predicted}; not known"
    right = "as predicted" if one.moved == one.predicted else "not as predicted"
    return f"{one.metric}: predicted {predicted}; went {MOVES.get(one.moved, one.moved)}, {right}"


def simulator_words(item: ItemReport) -> str:
    """How much was run."""
    simulator = item.simulator
    if simulator is None or not simulator.ran:
        return "not run."
    runs = plural(simulator.runs, "run") if simulator.runs is not None else "run"
    each = f" of {plural(simulator.requests, 'request')}" if simulator.requests is not None else ""
    return f"{runs}{each}."


def provenance_words(item: ItemReport) -> str:
    """What it takes to see whether the same would come out again."""
    told = [f"{item.item_id}, version {item.item_version}, numbers of seed {item.seed}"]
    one = item.provenance
    if one is not None:
        model = f"model {one.model} ({one.model_source})" if one.model else "no model"
        told.append(f"grader {one.grader_version}, {model}")
        if one.prompt_hash:
            told.append(f"prompts {one.prompt_hash[:12]}")
        if one.rubric_hash:
            told.append(f"rubric {one.rubric_hash[:12]}")
        if one.model:
            told.append(f"{one.seconds:.1f} s, {one.prompt_tokens:,} + {one.completion_tokens:,} tokens")
    return " · ".join(told)


def claim_words(one: ClaimReport) -> list[str]:
    """A claim, what the simulator said about each of its statements, and what overturned it."""
    mark = {"supported": "✓", "refuted": "✗"}.get(one.verdict, "?")
    changes = f", {'; '.join(one.changes)}" if one.changes else ""
    told = [f"{mark} {one.verdict}: {one.title}{changes}"]
    told += [f"{each.words}: {each.verdict}" for each in one.statements]
    runs = f"{plural(one.replications, 'replication')}, {plural(one.requests, 'request')}, first seed {one.first_seed}"
    told.append(f"{runs}.")
    told += [f"To overturn it, {name}: {verdict}" for name, verdict in one.probes]
    return [*told, one.summary] if one.summary else told
