"""`tutor drill`: what is due, a sitting line by line, and everything else about drills, for scripts too."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from tutor.cli.drill_kit import as_day, as_json, now, open_drills, show_json
from tutor.cli.drill_views import VIEWS
from tutor.errors import TutorError
from tutor.text import sanitize

CONTEXT: Final = {"help_option_names": ["-h", "--help"]}
KINDS: Final = {
    "checkpoint": ("checkpoint",),
    "recall": ("recall", "probe"),
    "numbers": ("exercise",),
    "prediction": ("prediction",),
}


@click.group(name="drill", invoke_without_command=True, context_settings=CONTEXT)
@as_json
@click.pass_context
def drill_command(ctx: click.Context, as_json: bool) -> None:
    """Show what is due, run a sitting, and look after what is remembered."""
    if ctx.invoked_subcommand is None:
        _status(ctx.obj, as_json)


@drill_command.command("status")
@as_json
@click.pass_obj
def status(flags: dict[str, object], as_json: bool) -> None:
    """How much is due, new and overdue today."""
    _status(flags, as_json)


def _status(flags: dict[str, object], as_json: bool) -> None:
    with open_drills(flags) as drills:
        at = now()
        counts = drills.counts(at)
        next_due, due_then = drills.queue.next_due(at)
        if as_json:
            from dataclasses import asdict

            show_json({**asdict(counts), "backlog": counts.backlog, "next_due": next_due, "due_then": due_then})
            return
        click.echo(f"{counts.day}: {counts.due} due ({counts.overdue} overdue), {counts.new} new")
        click.echo(f"today {counts.today} to answer ({counts.today_new} of them new), {counts.done_today} done")
        extras = (
            (counts.confident_wrong, "wrong though you were sure"),
            (counts.again, "to get right once more"),
            (counts.suspended, "suspended"),
            (counts.buried, "buried"),
            (counts.leeches, "kept being forgotten"),
        )
        said = [f"{number} {words}" for number, words in extras if number]
        if said:
            click.echo(", ".join(said))
        if next_due is not None:
            click.echo(f"next after today: {due_then} on {next_due}")
        if counts.today or counts.again:
            click.echo("'tutor drill run' asks them.")


@drill_command.command("run")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="How many answers at most.")
@click.option("--kind", "kinds", type=click.Choice(list(KINDS)), multiple=True, help="Only this kind; several times.")
@click.option("--lesson", "lessons", multiple=True, help="Only items whose id begins so; may be given several times.")
@click.option("--full", is_flag=True, help="Answer exercises and probes in full, graded on all four criteria.")
@as_json
@click.pass_obj
def run(
    flags: dict[str, object],
    limit: int,
    kinds: tuple[str, ...],
    lessons: tuple[str, ...],
    full: bool,
    as_json: bool,
) -> Any:
    """Ask what is due, line by line. No model is needed but for --full."""
    from tutor.cli.drill_run import sit

    with open_drills(flags) as drills:
        wanted = [kind for each in kinds for kind in KINDS[each]]
        return sit(flags, drills, limit=limit, kinds=wanted, lessons=lessons, full=full, as_json=as_json)


@drill_command.command("undo")
@click.pass_obj
def undo(flags: dict[str, object]) -> Any:
    """Take back the last action; exit code 1 when there is none."""
    with open_drills(flags) as drills:
        undone = drills.undo(now())
    if undone is None:
        click.echo("There is nothing to undo.")
        return 1
    about = f" of {undone.item_id}" if undone.item_id else ""
    click.echo(f"Undone: {undone.words}{about}, {undone.at:%Y-%m-%d %H:%M}")
    return 0


@drill_command.command("suspend")
@click.argument("item_id")
@click.pass_obj
def suspend(flags: dict[str, object], item_id: str) -> None:
    """Do not ask an item until it is resumed."""
    with open_drills(flags) as drills:
        drills.suspend(item_id, now())
    click.echo(f"{item_id} is not asked until 'tutor drill resume {item_id}'.")


@drill_command.command("resume")
@click.argument("item_id")
@click.pass_obj
def resume(flags: dict[str, object], item_id: str) -> None:
    """Ask an item again that was suspended or buried."""
    with open_drills(flags) as drills:
        drills.resume(item_id, now())
    click.echo(f"{item_id} is asked again.")


@drill_command.command("bury")
@click.argument("item_id")
@click.option("--days", type=click.IntRange(1, 365), default=1, show_default=True, help="For how many days.")
@click.pass_obj
def bury(flags: dict[str, object], item_id: str, days: int) -> None:
    """Leave an item until tomorrow, or for more days."""
    with open_drills(flags) as drills:
        until = drills.bury(item_id, now(), days=days)
    click.echo(f"{item_id} is not asked before {until}.")


@drill_command.command("note")
@click.argument("item_id")
@click.argument("text", required=False)
@click.pass_obj
def note(flags: dict[str, object], item_id: str, text: str | None) -> None:
    """Show your note on an item, or keep TEXT as your note; an empty TEXT takes it away."""
    with open_drills(flags) as drills:
        if text is not None:
            drills.note(item_id, text, now())
        kept = drills.card(item_id).state.note
    click.echo(sanitize(kept) if kept else "There is no note.")


@drill_command.command("card")
@click.argument("item_id")
@as_json
@click.pass_obj
def card(flags: dict[str, object], item_id: str, as_json: bool) -> None:
    """Show what is known about one item."""
    with open_drills(flags) as drills:
        known = drills.card(item_id)
        state = known.state
        likely = None
        if state.memory is not None and state.last_day is not None:
            elapsed = (drills.today(now()) - state.last_day).days
            likely = drills.cache.model.retrievability(state.memory.stability, elapsed)
    if as_json:
        from dataclasses import asdict

        fields = {key: value for key, value in asdict(state).items() if key not in ("success_keys", "tries")}
        show_json({**fields, "due_day": known.due_day, "leech": state.leech, "retrievability": likely})
        return
    if state.new:
        click.echo(f"{item_id} is new.")
    else:
        assert state.memory is not None
        assert likely is not None
        click.echo(f"{item_id}: due {known.due_day}, remembered with {likely:.0%}")
        click.echo(
            f"  {state.reviews} reviews, {state.lapses} lapses, last on {state.last_day}, stability "
            f"{state.memory.stability:.1f} days, difficulty {state.memory.difficulty:.1f} of 10"
        )
    for words, holds in (("suspended", state.suspended), ("keeps being forgotten", state.leech)):
        if holds:
            click.echo(f"  {words}")
    if state.note:
        click.echo(f"  note: {sanitize(state.note)}")


@drill_command.command("plan")
@click.option("--name", default="all", show_default=True, help="Which plan.")
@click.option("--lesson", "lessons", multiple=True, help="For this pack, lesson or item; may be given several times.")
@click.option(
    "--retention",
    "desired_retention",
    type=click.FloatRange(0.7, 0.97),
    help="Chance to remember at which an item is asked.",
)
@click.option("--interview", help="Day of the interview, such as 2026-03-20; 'none' takes it away.")
@click.option("--new", "new_per_day", type=click.IntRange(0, 1000), help="New items a day.")
@click.option("--reviews", "reviews_per_day", type=click.IntRange(1, 10_000), help="Reviews a day.")
@click.option("--longest", "max_interval_days", type=click.IntRange(1, 36_500), help="Longest interval in days.")
@click.option("--rollover", "rollover_h", type=click.IntRange(0, 12), help="Hour at which a day begins.")
@click.option("--drop", is_flag=True, help="Forget the plan of this name.")
@as_json
@click.pass_obj
def plan(
    flags: dict[str, object], /, name: str, interview: str | None, drop: bool, as_json: bool, **given: Any
) -> None:
    """Show the plans, or change one: what is not named stays as it is."""
    from pydantic import ValidationError

    from tutor.drills import DrillPlan

    with open_drills(flags) as drills:
        plans = {each.name: each for each in drills.cache.settings.plans}
        changes = {key: value for key, value in given.items() if value not in (None, ())}
        if interview is not None:
            changes["interview_day"] = None if interview == "none" else as_day(interview)
        if drop:
            drills.log.drop_plan(name, now())
            drills.queue.refresh(now())
        elif changes:
            current = plans[name].model_dump() if name in plans else {"name": name}
            try:
                changed = DrillPlan.model_validate({**current, **changes})
            except ValidationError as error:
                message = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise TutorError(f"{name}: {message}.", hint="'tutor drill plan --help' says how.") from None
            drills.set_plan(changed, now())
        shown = drills.cache.settings.plans or (DrillPlan(),)
    if as_json:
        show_json([each.model_dump(mode="json") for each in shown])
        return
    for each in shown:
        until = f", interview on {each.interview_day}" if each.interview_day else ""
        click.echo(f"{each.name}: {', '.join(each.lessons) or 'all items'}")
        click.echo(
            f"  asked when remembered with {each.desired_retention:.0%}, {each.new_per_day} new and "
            f"{each.reviews_per_day} reviews a day, at the latest after {each.max_interval_days} days{until}; "
            f"the day begins at {each.rollover_h}:00"
        )


@drill_command.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--reviews", is_flag=True, help="The reviews instead of the items, as comma-separated values.")
@click.pass_obj
def export(flags: dict[str, object], file: Path, reviews: bool) -> None:
    """Write the items for Anki (.apkg, .tsv or .csv), or the reviews (--reviews, .csv)."""
    from tutor.drills.anki import write_apkg
    from tutor.drills.tables import item_table, review_table
    from tutor.paths import private_opener

    form = file.suffix.lower()
    if form not in ((".csv",) if reviews else (".apkg", ".tsv", ".txt", ".csv")):
        raise TutorError(f"{file}: the form {form or 'without an ending'} is unknown.", hint="Name it .apkg or .csv.")
    with open_drills(flags) as drills:
        if form == ".apkg":
            click.echo(f"{file}: {write_apkg(drills, file, timestamp=now().timestamp())} notes")
            return
        lines = review_table(drills) if reviews else item_table(drills, "comma" if form == ".csv" else "tab")
        try:
            with open(file, "x", encoding="utf-8", newline="", opener=private_opener) as out:
                count = sum(1 for line in lines if out.write(f"{line}\n") and not line.startswith("#"))
        except FileExistsError:
            raise TutorError(f"{file} is there already.", hint="Name another file, or remove it.") from None
        except OSError as error:
            raise TutorError(f"{file} cannot be written: {error.strerror or error}.", hint="Name another.") from None
    click.echo(f"{file}: {count - 1 if reviews else count} {'reviews' if reviews else 'items'}")


@drill_command.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def import_(flags: dict[str, object], file: Path) -> None:
    """Take in reviews from an Anki collection (.anki2, .apkg, .colpkg), or notes from a table (.tsv, .csv).

    Doing it twice changes nothing.
    """
    from tutor.drills.anki_history import read_history
    from tutor.drills.tables import read_notes

    with open_drills(flags) as drills:
        if file.suffix.lower() in (".csv", ".tsv", ".txt"):
            try:
                lines = file.read_text(encoding="utf-8-sig").splitlines(keepends=True)
            except UnicodeDecodeError:
                raise TutorError(f"{file} is not UTF-8 text.", hint="Save it as UTF-8.") from None
            except OSError as error:
                raise TutorError(f"{file}: {error.strerror or error}.", hint="Give a readable file.") from None
            notes = read_notes(drills, lines, now(), source=str(file))
            click.echo(f"{notes.changed} notes changed, {notes.same} as before, {notes.of_others} rows of others")
            return
        history = read_history(drills, file)
        drills.queue.refresh(now())
    click.echo(
        f"{history.added} reviews added, {history.known} were here already, {history.not_counted} not counted, "
        f"{history.of_others} of other notes"
    )


@drill_command.command("check")
@click.option("--repair", is_flag=True, help="Replay what is wrong.")
@click.pass_obj
def check(flags: dict[str, object], repair: bool) -> Any:
    """Replay the log and compare; exit code 1 when something differs."""
    with open_drills(flags) as drills:
        problems = drills.check(repair=repair)
        items = len(drills.log.item_ids())
    for problem in problems:
        click.echo(f"{sanitize(problem.what)} {problem.remedy}")
    click.echo(f"{items} items replayed, {len(problems)} differ")
    return 1 if problems else 0


for view in VIEWS:
    drill_command.add_command(view)
