"""`tutor drill forecast`, `calibration`, `mastery`, `ready`, `weeks` and `fit`: what the log says, in figures."""

from __future__ import annotations

from typing import Any, Final

import click

from tutor.cli.drill_kit import as_day, as_json, now, open_drills, show_json


@click.command("forecast")
@click.option("--days", type=click.IntRange(1, 365), default=14, show_default=True, help="How many days ahead.")
@click.option("--per-day", type=click.IntRange(1, 10_000), help="Answers a day for the backlog; else the plan's.")
@as_json
@click.pass_obj
def forecast(flags: dict[str, object], days: int, per_day: int | None, as_json: bool) -> None:
    """What is due on the coming days, and how long a backlog takes to work off."""
    from tutor.drills.forecast import LONGEST_DAYS, catch_up, due_days

    with open_drills(flags) as drills:
        ahead = due_days(drills, now(), days)
        catching = catch_up(drills, now(), per_day=per_day)
    if as_json:
        show_json({"due": ahead, "catch_up": catching})
        return
    most = max(1, *(each.due for each in ahead))
    for each in ahead:
        click.echo(f"{each.day} {each.due:>6} {'▪' * round(40 * each.due / most)}")
    if catching.never:
        click.echo(f"At {catching.per_day} answers a day the {catching.backlog} due are not worked off in 120 days.")
    elif catching.backlog:
        low, high = catching.days[0], min(catching.days[-1], LONGEST_DAYS)
        span = f"{low}" if low == high else f"{low} to {high}"
        click.echo(f"{catching.backlog} due: worked off in {span} days at {catching.per_day} answers a day.")


@click.command("calibration")
@as_json
@click.pass_obj
def calibration_(flags: dict[str, object], as_json: bool) -> None:
    """Whether you are as often right as you think."""
    from tutor.drills.calibration import ENOUGH, calibration

    with open_drills(flags) as drills:
        everything, topics = calibration(drills)
    if as_json:
        show_json({"all": everything, "topics": topics})
        return
    for level in everything.levels:
        rate = "–" if level.rate is None else f"{level.rate:.0%} right ({level.low:.0%} to {level.high:.0%})"
        click.echo(f"confidence {level.level} ({level.stated:.0%}): {level.answers} answers, {rate}")
    if everything.brier is not None:
        click.echo(f"Brier score {everything.brier:.3f} (0 is perfect, 0.25 is guessing)")
    for each in (everything, *topics):
        words = each.verdict or f"no verdict under {ENOUGH} answers"
        gap = "" if each.gap is None else f", said {each.stated:.0%}, was {each.observed:.0%}"
        click.echo(f"{each.topic or 'all topics'}: {each.answers} answers{gap}: {words}")


@click.command("mastery")
@as_json
@click.pass_obj
def mastery_(flags: dict[str, object], as_json: bool) -> None:
    """How far each topic is mastered, and what it builds on."""
    from tutor.drills.mastery import mastery

    with open_drills(flags) as drills:
        topics = mastery(drills, now())
    if as_json:
        show_json(topics)
        return
    for each in topics:
        before = f", first {', '.join(each.missing)}" if each.missing else ""
        click.echo(
            f"{each.topic:<28} {each.mastery:>4.0%} {each.status:<10} {each.asked} of {each.items} asked{before}"
        )


@click.command("ready")
@click.argument("day")
@click.option("--lesson", "lessons", multiple=True, help="What the interview is about; may be given several times.")
@as_json
@click.pass_obj
def ready(flags: dict[str, object], day: str, lessons: tuple[str, ...], as_json: bool) -> None:
    """How ready you would be on DAY, as a range, and what it rests on."""
    from tutor.drills.readiness import readiness

    with open_drills(flags) as drills:
        found = readiness(drills, now(), as_day(day), lessons=lessons)
    if as_json:
        show_json(found)
        return
    if found.low is None or found.high is None:
        click.echo(f"{found.interview_day}: too early to say.")
    else:
        click.echo(f"{found.interview_day}: {found.low:.0%} to {found.high:.0%} of {found.items} items right.")
    for sentence in found.basis:
        click.echo(f"  {sentence}")


@click.command("weeks")
@as_json
@click.pass_obj
def weeks_(flags: dict[str, object], as_json: bool) -> None:
    """What was done week by week, and how much was remembered."""
    from tutor.drills.history import weeks

    with open_drills(flags) as drills:
        periods = weeks(drills)
    if as_json:
        show_json(periods)
        return
    for each in periods:
        kept = ""
        if each.retention is not None and each.expected is not None:
            kept = f", {each.retention:.0%} of {each.repeated} remembered ({each.expected:.0%} expected)"
        click.echo(f"{each.first_day}: {each.reviews} answered, {each.new} new, {each.minutes:.0f} min{kept}")


@click.command("fit")
@click.option("--use", is_flag=True, help="Use the fitted parameters when they are better.")
@click.option("--defaults", is_flag=True, help="Go back to FSRS-6's defaults.")
@click.pass_obj
def fit_(flags: dict[str, object], use: bool, defaults: bool) -> Any:
    """Fit the schedule to your own answers; exit code 1 when that is no better."""
    from tutor.drills.optimise import fit

    with open_drills(flags) as drills:
        if defaults:
            drills.log.set_parameters(None, "defaults", now())
            drills.queue.refresh(now())
            click.echo("FSRS-6's defaults are in use.")
            return 0
        found = fit(drills)
        click.echo(f"log loss of {found.repeats} repeated answers: {found.loss:.4f}, before {found.loss_before:.4f}")
        if found.better and use:
            drills.log.set_parameters(found.parameters, f"{found.repeats} repeated answers", now())
            drills.queue.refresh(now())
            click.echo("In use; 'tutor drill undo' takes it back.")
    return 0 if found.better else 1


VIEWS: Final = (forecast, calibration_, mastery_, ready, weeks_, fit_)
