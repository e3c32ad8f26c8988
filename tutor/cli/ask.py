"""`tutor ask`: a question or a plan without screens, line by line: for small terminals, pipes and screen readers."""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import click

from tutor.cli.common import load_bank_for, open_grader, run_async, settings_for
from tutor.cli.show import grade_lines
from tutor.errors import TutorError
from tutor.text import sanitize, unmarked

if TYPE_CHECKING:
    from question_bank import Bank, Question
    from tutor.grader import Grader
    from tutor.interview import Plan, Session
    from tutor.settings import Settings

    OpenedGrader = Callable[[], Awaitable[tuple[Grader, str]]]

LEVELS = "1 not yet, 2 getting there, 3 confident"
END_OF_ANSWER = "End with a line that holds only a full stop."


def now() -> datetime:
    """The time with this place's offset."""
    return datetime.now().astimezone()


@click.command(name="ask", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("item_id", required=False)
@click.option("--plan", "plan_name", metavar="NAME", help="screen, loop, weak, a LESSON or a LESSON/SECTION.")
@click.option("--seed", type=click.IntRange(0), help="What is drawn; something else each time when not given.")
@click.option("--minutes", type=float, help="Time for the whole plan, 5 to 480.")
@click.option("--adaptive/--fixed", default=None, help="Follow the answers; by default only without --seed.")
@click.option("--pack", "pack_id", metavar="ID", help="Which pack screen, loop and weak draw from.")
@click.option("--list", "listed", is_flag=True, help="Show what would be asked, and ask nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --list: the whole plan as JSON.")
@click.pass_obj
def ask_command(
    flags: dict[str, object],
    item_id: str | None,
    plan_name: str | None,
    seed: int | None,
    minutes: float | None,
    adaptive: bool | None,
    pack_id: str | None,
    listed: bool,
    as_json: bool,
) -> Any:
    """Ask one question, or a plan of several, here in the terminal, line by line, and grade the answers.

    ITEM_ID is one of 'tutor bank list'; the first exercise when not given. Everything is kept as in the screens.
    With --plan and --seed the interview is the same for everyone: the same questions with the same numbers.
    """
    if plan_name is None:
        if minutes is not None or adaptive is not None or pack_id is not None:
            raise click.UsageError("--minutes, --adaptive, --fixed and --pack belong to --plan.")
    elif item_id is not None:
        raise click.UsageError("Give an item or --plan, not both.")
    if as_json and not listed:
        raise click.UsageError("--json belongs to --list.")
    from tutor.interview import Past, Session, make_plan, past_of, single_item_plan
    from tutor.store import open_store

    settings, bank = settings_for(flags), load_bank_for(flags)
    drawn = secrets.randbelow(1_000_000) if seed is None else seed
    with open_store(settings.store_file) as store:
        if plan_name is None:
            item = bank.item(item_id) if item_id else next(item for item in bank.items if item.kind == "exercise")
            plan = single_item_plan(item.id, drawn, title=item.title)
        else:
            # What was asked before must not make two candidates' interviews differ; weak topics are a person's own.
            past = past_of(store) if seed is None or plan_name == "weak" else Past()
            follows = seed is None if adaptive is None else adaptive
            plan = make_plan(bank, plan_name, drawn, past=past, minutes=minutes, adaptive=follows, pack_id=pack_id)
        if listed:
            click.echo(plan.model_dump_json(indent=2) if as_json else "\n".join(plan_lines(plan, bank)))
            return 0
        return run_async(_asked(settings, bank, Session.start(store, bank, plan, now)))


def plan_lines(plan: Plan, bank: Bank) -> list[str]:
    """What a plan asks, a line a question; indented below it what may be asked in its place."""

    def line(mark: str, item_id: str, minutes: float | None) -> str:
        item = bank.item(item_id)
        time = "" if minutes is None else f"{minutes:g} min"
        return f"{mark:<8}{time:>7}  {item.kind:<11} {item.difficulty}  {item_id}  {sanitize(item.title)}"

    lines = [
        f"{sanitize(plan.title)}: {len(plan.entries)} items, {plan.planned_minutes:g}"
        f"{f' of {plan.minutes:g}' if plan.minutes is not None else ''} minutes"
        f"{f', seed {plan.seed}' if plan.seed is not None else ''}"
    ]
    for number, entry in enumerate(plan.entries, 1):
        lines.append(line(f"{number:>2}", entry.item_id, entry.minutes))
        for mark, other in (("easier", entry.easier), ("harder", entry.harder)):
            if other is not None:
                lines.append(line(f"  {mark}", other.item_id, None))
    return lines


async def _asked(settings: Settings, bank: Bank, session: Session) -> int:
    """All questions of an interview; 1 when one of them was not answered in full."""
    async with _grader_when_needed(settings, bank) as grader:
        return await _each(session, grader)


@asynccontextmanager
async def _grader_when_needed(settings: Settings, bank: Bank) -> AsyncIterator[OpenedGrader]:
    """Gives the grader and, in words, which and why; opened when the first answer waits for it, and once for all."""
    async with AsyncExitStack() as stack:
        opened: tuple[Grader, str] | None = None

        async def grader() -> tuple[Grader, str]:
            nonlocal opened
            if opened is None:
                opened = await stack.enter_async_context(open_grader(settings, bank))
            return opened

        yield grader


async def _each(session: Session, grader: OpenedGrader) -> int:
    worst = 0
    while (question := session.question) is not None:
        at = f"{session.position + 1} of {session.of} · " if session.of > 1 else ""
        minutes = session.plan.entries[session.position].minutes
        time = "" if minutes is None else f" · {minutes:g} min"
        click.echo(f"{at}{question.title} · {question.kind}{time}\n\n{unmarked(question.prompt)}\n")
        if question.kind == "checkpoint":
            code = _checkpoint(session, question)
        elif question.kind == "recall":
            code = _recall(session, question)
        elif question.kind == "prediction":
            code = _prediction(session, question)
        else:
            code = await _answered_with(grader, session, question)
        worst = max(worst, code)
        if session.question is not None:
            click.echo("")
    return worst


def _line(prompt: str) -> str | None:
    """One line; None at the end of the input. The prompt goes to stderr, so that stdout holds the talk only."""
    print(prompt, end=" ", file=sys.stderr, flush=True)  # noqa: T201 - an input prompt
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None


def _need(line: str | None) -> str:
    if line is None:
        raise TutorError("The input ended before the question was done.", hint="Run 'tutor' to take it up again.")
    return line


def _choose(prompt: str, choices: dict[str, str]) -> str:
    while True:
        given = _need(_line(prompt)).strip().lower()
        if given in choices:
            return choices[given]
        click.echo(f"Please give one of {', '.join(choices)}.")


def _text() -> str:
    lines: list[str] = []
    click.echo(f"Your answer. {END_OF_ANSWER}")
    while (line := _line(">")) is not None and line.strip() != ".":
        lines.append(line)
    return "\n".join(lines)


def _level(session: Session) -> int:
    return int(_choose(f"How sure are you? ({LEVELS})", {"1": "1", "2": "2", "3": "3"}))


async def _answered(settings: Settings, bank: Bank, session: Session, question: Question) -> int:
    async with _grader_when_needed(settings, bank) as grader:
        return await _answered_with(grader, session, question)


async def _answered_with(opened: OpenedGrader, session: Session, question: Question) -> int:
    session.set_confidence(_level(session))
    attempt_id = session.submit(_text())
    click.echo("Kept. Grading.")
    pending = session.pending_attempt
    assert pending is not None
    grader, why = await opened()
    try:
        grade = await grader.grade(question, pending[1])
    except TutorError as error:
        session.record_ungraded(attempt_id, str(error))
        raise
    if grader.model is None:
        click.echo(f"No model: {why}")
    session.record_grade(attempt_id, grade)
    for line in grade_lines(grade):
        click.echo(line)
    _self_mark(session, question)
    from tutor.interview.state import CLARIFY

    while (follow_up := session.ask_follow_up()) is not None:
        click.echo(f"\nFollow-up: {sanitize(follow_up.text)}")
        text = _text()
        if not text.strip():
            session.skip_follow_up()
            break
        session.answer_follow_up(text)
        if follow_up.id.startswith(CLARIFY) and session.grade is not None:
            click.echo(f"result: {sanitize(session.grade.criterion('result').reason)}")
    click.echo(f"\nReference\n{unmarked(session.show_reference())}")
    counted = sum(session.effective(criterion.criterion) == "met" for criterion in grade.criteria)
    session.advance()
    return 0 if counted == grade.of else 1


def _self_mark(session: Session, question: Question) -> None:
    """Offer to mark what was left open; nobody is asked when no one can answer."""
    grade = session.grade
    if grade is None or not sys.stdin.isatty():
        return
    for criterion in grade.criteria:
        if criterion.verdict not in ("unsure", "not_graded"):
            continue
        click.echo(f"\n{criterion.criterion}: {sanitize(question.criteria[criterion.criterion].statement)}")
        choice = _choose("Does your answer say it? (y yes, n no, s leave open)", {"y": "met", "n": "not_met", "s": ""})
        if choice == "met":
            session.self_mark(criterion.criterion, "met")
        elif choice == "not_met":
            session.self_mark(criterion.criterion, "not_met")


def _checkpoint(session: Session, question: Question) -> int:
    letters = {letter.lower(): option for letter, option in zip("ABCDEFGH", question.options, strict=False)}
    for letter, option in letters.items():
        click.echo(f"  {letter.upper()}  {sanitize(option.text)}")
    session.set_confidence(_level(session))
    chosen = _choose(f"Which one? ({', '.join(letters)})", {letter: option.id for letter, option in letters.items()})
    right = session.choose_option(chosen)
    click.echo("✓ right" if right else "✗ not right")
    for letter, option in letters.items():
        click.echo(f"{'✓' if option.correct else '✗'} {letter.upper()}  {sanitize(option.reason)}")
    session.advance()
    return 0 if right else 1


def _recall(session: Session, question: Question) -> int:
    text = _text()
    session.set_recall(text, _level(session))
    click.echo(f"\nReference\n{unmarked(session.show_reference())}")
    session.advance()
    return 0


def _prediction(session: Session, question: Question) -> int:
    from tutor.checking import REPLICATIONS, Moved, run_checks
    from tutor.lab.surprise import Range, read_number, read_range
    from tutor.lab.words import move_row, range_row, runs_words

    predicted: dict[str, float] = {}
    ranges: dict[str, Range] = {}
    moves: dict[str, Moved] = {}
    confidence = _level(session)
    session.set_confidence(confidence)
    for expected in question.expected:
        while expected.name not in ranges:
            if expected.name not in predicted:
                given = read_number(_need(_line(f"{expected.label}, in {expected.unit}:")))
                if given is None:
                    click.echo("Please give a number.")
                    continue
                predicted[expected.name] = given
            found = read_range(_need(_line("  between (30 to 50, or 10%):")), predicted[expected.name])
            if isinstance(found, str):
                click.echo(found)
            else:
                ranges[expected.name] = found
        bounds = ranges[expected.name]
        session.predict(expected.name, predicted[expected.name], bounds.low, bounds.high)
    for one in question.simulation.directions if question.simulation is not None else ():
        words = {"l": "lower", "h": "higher", "s": "same"}
        moves[one.metric] = cast("Moved", _choose(f"{one.metric} goes (l lower, h higher, s about the same)", words))
        session.predict_direction(one.metric, moves[one.metric])
    run = run_checks(question, predicted, directions=moves, replications=REPLICATIONS)
    for value in run.values:
        simulated = "undetermined" if value.simulated is None else f"{value.simulated:,.1f}"
        ratio = "" if value.ratio is None else f", ratio {value.ratio:.2f}"
        click.echo(f"{value.label}: predicted {value.predicted:,.1f}, simulated {simulated} {value.unit}{ratio}")
    for row in [
        *(range_row(value, ranges[value.name], confidence) for value in run.values),
        *(move_row(one) for one in run.directions),
    ]:
        click.echo(f"{row.mark} {row.label}{' ' if row.label else ''}{row.text}")
    click.echo(runs_words(run))
    session.record_simulation(run.summary())
    if sys.stdin.isatty() and (why := (_line("Why did it come out so? (one line, or nothing)") or "").strip()):
        session.explain_prediction(why)
    click.echo(f"\nReference\n{unmarked(session.show_reference())}")
    session.advance()
    return 0
