"""`tutor ask`: one question without screens, line by line: for small terminals, pipes and screen readers."""

from __future__ import annotations

import secrets
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tutor.cli.common import load_bank_for, open_grader, run_async, settings_for
from tutor.cli.show import grade_lines
from tutor.errors import TutorError
from tutor.text import sanitize, unmarked

if TYPE_CHECKING:
    from question_bank import Bank, Question
    from tutor.interview import Session
    from tutor.settings import Settings

LEVELS = "1 not yet, 2 getting there, 3 confident"
END_OF_ANSWER = "End with a line that holds only a full stop."


def now() -> datetime:
    """The time with this place's offset."""
    return datetime.now().astimezone()


@click.command(name="ask", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("item_id", required=False)
@click.option("--seed", type=click.IntRange(0), help="Which numbers are drawn; others each time when not given.")
@click.pass_obj
def ask_command(flags: dict[str, object], item_id: str | None, seed: int | None) -> Any:
    """Ask one question here in the terminal, line by line, and grade the answer.

    ITEM_ID is one of 'tutor bank list'; the first exercise when not given. Everything is kept as in the screens.
    """
    from tutor.interview import Session, single_item_plan
    from tutor.store import open_store

    settings, bank = settings_for(flags), load_bank_for(flags)
    item = bank.item(item_id) if item_id else next(item for item in bank.items if item.kind == "exercise")
    plan = single_item_plan(item.id, secrets.randbelow(1_000_000) if seed is None else seed, title=item.title)
    with open_store(settings.store_file) as store:
        session = Session.start(store, bank, plan, now)
        question = session.question
        assert question is not None
        click.echo(f"{question.title} · {question.kind}\n\n{unmarked(question.prompt)}\n")
        if question.kind == "checkpoint":
            return _checkpoint(session, question)
        if question.kind == "recall":
            return _recall(session, question)
        if question.kind == "prediction":
            return _prediction(session, question)
        return run_async(_answered(settings, bank, session, question))


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
    session.set_confidence(_level(session))
    attempt_id = session.submit(_text())
    click.echo("Kept. Grading.")
    pending = session.pending_attempt
    assert pending is not None
    async with open_grader(settings, bank) as (grader, why):
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
    while (follow_up := session.ask_follow_up()) is not None:
        click.echo(f"\nFollow-up: {sanitize(follow_up.text)}")
        text = _text()
        if not text.strip():
            session.skip_follow_up()
            break
        session.answer_follow_up(text)
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
    from tutor.checking import run_checks

    predicted: dict[str, float] = {}
    session.set_confidence(_level(session))
    for expected in question.expected:
        while expected.name not in predicted:
            given = _need(_line(f"{expected.label}, in {expected.unit}:"))
            try:
                predicted[expected.name] = float(given.replace(",", ""))
            except ValueError:
                click.echo("Please give a number.")
        session.predict(expected.name, predicted[expected.name])
    run = run_checks(question, predicted)
    for value in run.values:
        simulated = "undetermined" if value.simulated is None else f"{value.simulated:,.1f}"
        ratio = "" if value.ratio is None else f", ratio {value.ratio:.2f}"
        click.echo(f"{value.label}: predicted {value.predicted:,.1f}, simulated {simulated} {value.unit}{ratio}")
    session.record_simulation(run.summary())
    click.echo(f"\nReference\n{unmarked(session.show_reference())}")
    session.advance()
    return 0
