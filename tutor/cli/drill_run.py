"""A sitting of drills without screens, line by line: for pipes and screen readers."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from tutor.cli.ask import END_OF_ANSWER, LEVELS
from tutor.cli.drill_kit import now
from tutor.errors import TutorError
from tutor.text import sanitize, unmarked

if TYPE_CHECKING:
    from question_bank import Question
    from tutor.drills import Answered, Drills, DrillSession, Presentation, SessionSummary

COMMANDS: Final = "'skip', 'bury', 'suspend', 'undo', 'hint', 'stop'"
MARKS: Final = {"1": "missed", "2": "partly", "3": "well", "4": "easily"}


class Stop(Exception):
    """The sitting ends here."""


class Turn(Exception):
    """The item at hand was left; the sitting goes on."""


def sit(
    flags: dict[str, object],
    drills: Drills,
    *,
    limit: int,
    kinds: Collection[str],
    lessons: Sequence[str],
    full: bool,
    as_json: bool,
) -> int:
    """Hold a sitting; returns the exit code: 0, or 1 when something was missed."""
    from tutor.drills import DrillSession

    session = DrillSession(drills, now, limit=limit, kinds=kinds, lessons=lessons, full=full)
    talk = Talk(flags, session, as_json)
    while session.current is not None:
        try:
            talk.one(session.current)
        except Turn:
            continue
        except Stop:
            break
        session.advance()
    summary = session.summary()
    talk.say_summary(summary)
    return 1 if summary.missed else 0


class Talk:
    """What is said and read. With JSON every line of the output is one object; prompts go to stderr."""

    def __init__(self, flags: dict[str, object], session: DrillSession, as_json: bool) -> None:
        self._flags, self._session, self._as_json = flags, session, as_json
        self._told = False

    def one(self, shown: Presentation) -> None:
        """Ask one item and record the answer."""
        question = shown.question
        assert question is not None
        self._say_question(shown, question)
        if shown.mode == "full":
            self._in_full(shown)
            return
        self._session.set_confidence(int(self._ask(f"How sure are you? ({LEVELS})", ("1", "2", "3"))))
        match shown.mode:
            case "checkpoint":
                letters = dict(zip("abcdefgh", question.options, strict=False))
                chosen = self._ask(f"Which one? ({', '.join(letters)})", tuple(letters))
                answered = self._session.choose(letters[chosen].id)
                after = [
                    f"{'✓' if each.correct else '✗'} {letter.upper()}  {sanitize(each.reason)}"
                    for letter, each in letters.items()
                ]
            case "recall":
                text = self._text()
                click.echo(f"\nReference\n{unmarked(self._session.reveal())}\n", err=self._as_json)
                words = ", ".join(f"{number} {mark}" for number, mark in MARKS.items())
                answered = self._session.mark(MARKS[self._ask(f"How did it go? ({words})", tuple(MARKS))], text)
                after = []
            case "prediction":
                values = {each.name: self._number(f"{each.label}, in {each.unit}:") for each in question.expected}
                answered, after = self._predicted(question, values)
            case _:
                wanted = ", ".join(f"{each.label} ({each.unit})" for each in question.expected)
                answered = self._session.give_numbers(self._read(f"Only the numbers, with their units: {wanted}:"))
                after = [unmarked(question.reference)]
        self._say_answered(answered, after)

    def _predicted(self, question: Question, values: dict[str, float]) -> tuple[Answered, list[str]]:
        """Set locked predictions beside what the simulator gives."""
        from tutor.checking import run_checks

        run = run_checks(question, values)
        answered = self._session.predict(values, {each.name: each.simulated for each in run.values})
        after = []
        for each in run.values:
            simulated = "undetermined" if each.simulated is None else f"{each.simulated:,.1f}"
            ratio = "" if each.ratio is None else f", ratio {each.ratio:.2f}"
            after.append(f"{each.label}: predicted {each.predicted:,.1f}, simulated {simulated} {each.unit}{ratio}")
        return answered, [*after, unmarked(question.reference)]

    # -- saying -----------------------------------------------------------------------------------------------------

    def _say_question(self, shown: Presentation, question: Question) -> None:
        if self._as_json:
            fields = {
                "event": "question",
                "item_id": shown.item.id,
                "presentation_id": shown.id,
                "why": shown.why,
                "mode": shown.mode,
                "seed": shown.seed,
                "prompt": question.prompt,
                "asked_for": [
                    {"name": each.name, "label": each.label, "unit": each.unit} for each in question.expected
                ],
                "options": [{"letter": a, "text": b.text} for a, b in zip("abcdefgh", question.options, strict=False)],
                "note": shown.card.note,
            }
            click.echo(json.dumps(fields, ensure_ascii=False))
            return
        if not self._told:
            click.echo(f"Instead of an answer: {COMMANDS}.")
            self._told = True
        why = {"confident_wrong": "you were sure and wrong", "review": "due", "new": "new", "again": "once more today"}
        click.echo(f"\n{question.title} · {shown.mode} · {why[shown.why]}")
        if shown.way_in is not None:
            click.echo(f"! {sanitize(shown.way_in.words)}")
            self._say_example(shown)
        if shown.card.note:
            click.echo(f"Your note: {sanitize(shown.card.note)}")
        click.echo(f"\n{unmarked(question.prompt)}\n")
        for letter, option in zip("ABCDEFGH", question.options, strict=False):
            click.echo(f"  {letter}  {sanitize(option.text)}")

    def _say_example(self, shown: Presentation) -> None:
        if shown.way_in is None or shown.way_in.kind != "worked_example":
            return
        example = self._session.drills.worked_example(shown.item.id)
        if example is not None:
            click.echo(f"\nWorked example\n{unmarked(example.prompt)}\n\n{unmarked(example.reference)}\n")

    def _say_answered(self, answered: Answered, after: list[str]) -> None:
        from tutor.drills.words import return_line

        rating = answered.outcome.rating
        if self._as_json:
            fields = {
                "event": "answered",
                "item_id": answered.presentation.item.id,
                "presentation_id": answered.presentation.id,
                "rating": None if rating is None else rating.name.lower(),
                "right": answered.outcome.right,
                "reason": answered.outcome.reason,
                "marked": answered.outcome.marked,
                "counts": answered.counts,
                "due_day": None if answered.due_day is None else str(answered.due_day),
                "returns": return_line(answered),
                "leech": answered.leech,
            }
            click.echo(json.dumps(fields, ensure_ascii=False))
            return
        symbol = "–" if rating is None else "✓" if answered.outcome.right else "✗"
        click.echo(f"{symbol} {sanitize(answered.outcome.reason)}")
        for line in after:
            click.echo(line)
        click.echo(return_line(answered))
        if answered.way_in is not None:
            click.echo(f"! {sanitize(answered.way_in.words)}")

    def say_summary(self, summary: SessionSummary) -> None:
        """What the sitting came to."""
        if self._as_json:
            from dataclasses import asdict

            from pydantic_core import to_jsonable_python

            fields = asdict(summary)
            fields["ratings"] = {rating.name.lower(): number for rating, number in summary.ratings.items()}
            click.echo(json.dumps({"event": "summary", **to_jsonable_python(fields)}, ensure_ascii=False))
            return
        if not summary.answered:
            click.echo("Nothing is due now." if not summary.left_today else "Nothing was answered.")
        else:
            extra = f", {summary.not_counted} not counted" if summary.not_counted else ""
            click.echo(f"\n{summary.answered} answers: {summary.right} right, {summary.wrong} wrong{extra}")
        for words, items in (("learned", summary.learned), ("missed", summary.missed)):
            for each in items:
                due = f", again on {each.due_day}" if each.due_day else ""
                click.echo(f"  {words}: {sanitize(each.title)}{due}")
        if summary.left_today:
            click.echo(f"{summary.left_today} left today.")
        elif summary.next_due is not None:
            click.echo(f"Next: {summary.due_then} on {summary.next_due}.")

    # -- reading ----------------------------------------------------------------------------------------------------

    def _read(self, prompt: str) -> str:
        print(prompt, end=" ", file=sys.stderr, flush=True)  # noqa: T201 - an input prompt
        line = sys.stdin.readline()
        if not line:
            raise Stop
        given = line.rstrip("\n")
        match given.strip().lower():
            case "stop":
                raise Stop
            case "skip":
                self._session.skip()
                raise Turn
            case "bury":
                self._session.bury()
                raise Turn
            case "suspend":
                self._session.suspend()
                raise Turn
            case "undo":
                undone = self._session.undo()
                click.echo("There is nothing to undo." if undone is None else f"Undone: {undone.words}", err=True)
                raise Turn
            case "hint":
                hint = self._session.hint()
                click.echo("There is no hint now." if hint is None else unmarked(hint), err=self._as_json)
                return self._read(prompt)
        return given

    def _ask(self, prompt: str, choices: tuple[str, ...]) -> str:
        while True:
            given = self._read(prompt).strip().lower()
            if given in choices:
                return given
            click.echo(f"Please give one of {', '.join(choices)}.", err=True)

    def _number(self, prompt: str) -> float:
        from math import isfinite

        while True:
            try:
                value = float(self._read(prompt).replace(",", "").strip())
            except ValueError:
                value = float("nan")
            if isfinite(value):
                return value
            click.echo("Please give a number.", err=True)

    def _text(self) -> str:
        click.echo(f"What you remember. {END_OF_ANSWER}", err=True)
        lines: list[str] = []
        while (line := self._read(">")).strip() != ".":
            lines.append(line)
        return "\n".join(lines)

    def _in_full(self, shown: Presentation) -> None:
        from tutor.cli.ask import _answered
        from tutor.cli.common import load_bank_for, run_async, settings_for
        from tutor.drills.bridge import full_answer
        from tutor.interview import Session

        if self._as_json:
            raise TutorError("--full talks in sentences.", hint="Leave out --json, or leave out --full.")
        bank = load_bank_for(self._flags)
        interview_id, plan = full_answer(shown)
        interview = Session.start(self._session.drills.store, bank, plan, now, interview_id=interview_id)
        question = interview.question
        assert question is not None
        run_async(_answered(settings_for(self._flags), bank, interview, question))
        answered: Any = self._session.take_full_answer()
        if answered is None:
            click.echo("Not counted: the result was not decided.")
            self._session.skip()
            raise Turn
        self._say_answered(answered, [])
