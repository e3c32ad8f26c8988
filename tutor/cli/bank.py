"""`tutor bank`: check, list and show questions exactly as a candidate sees them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tutor.cli.common import load_bank_for
from tutor.errors import TutorError
from tutor.text import sanitize, unmarked

if TYPE_CHECKING:
    from question_bank import Question


@click.group(name="bank", context_settings={"help_option_names": ["-h", "--help"]})
def bank_command() -> None:
    """Check, list and show the questions."""


@bank_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def list_items(flags: dict[str, object], as_json: bool) -> None:
    """List the lessons and their items."""
    bank = load_bank_for(flags)
    if as_json:
        rows = [
            {
                "lesson": lesson.id,
                "id": item.id,
                "kind": item.kind,
                "title": item.title,
                "version": item.version,
            }
            for lesson in bank.lessons
            for item in lesson.items
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for lesson in bank.lessons:
        click.echo(f"{lesson.title}  ({lesson.id}, {lesson.minutes:g} min)")
        for item in lesson.items:
            click.echo(f"  {item.kind:<11} {item.id:<48} {item.title}")


@bank_command.command("show")
@click.argument("item_id")
@click.option("--seed", default=0, show_default=True, help="Which numbers are drawn.")
@click.option("--answer", "with_answer", is_flag=True, help="Also the reference answer and the criteria.")
@click.option("--json", "as_json", is_flag=True, help="The whole question as JSON.")
@click.pass_obj
def show(flags: dict[str, object], item_id: str, seed: int, with_answer: bool, as_json: bool) -> None:
    """Show one item with the numbers of a seed."""
    from question_bank import build_question

    question = build_question(load_bank_for(flags).item(item_id), seed)
    if as_json:
        click.echo(question.model_dump_json(indent=2))
        return
    click.echo(f"{question.title}  ({question.item_id}, version {question.item_version}, seed {seed})\n")
    click.echo(unmarked(question.prompt))
    for letter, option in zip("ABCDEFGH", question.options, strict=False):
        click.echo(f"  {letter}  {sanitize(option.text)}")
    for level in question.levels:
        click.echo(f"  {level.level}  {sanitize(level.label)}: {sanitize(level.meaning)}")
    if with_answer:
        _answer(question)


def _answer(question: Question) -> None:
    """What a candidate sees afterwards, and what a coach asks next."""
    for number, hint in enumerate(question.hints, 1):
        click.echo(f"\nHint {number}: {sanitize(hint)}")
    if question.reference:
        click.echo(f"\nReference\n{unmarked(question.reference)}")
    for letter, option in zip("ABCDEFGH", question.options, strict=False):
        click.echo(f"  {letter}  {'right' if option.correct else 'wrong'}: {sanitize(option.reason)}")
    for criterion, guide in question.criteria.items():
        click.echo(f"\n{criterion}: {sanitize(guide.statement)}")
    for slip in question.slips:
        click.echo(f"\nslip {slip.id}: {slip.expected} = {slip.value:g} {slip.unit}. {sanitize(slip.diagnosis)}")
    depths: dict[str, int] = {}
    for follow_up in question.follow_ups:
        depths[follow_up.id] = depth = depths[follow_up.after] + 1 if follow_up.after else 0
        why = follow_up.criterion or follow_up.misconception or "in any case"
        click.echo(f"\n{'  ' * depth}follow-up ({why}): {sanitize(follow_up.text)}")
        if follow_up.good:
            click.echo(f"{'  ' * depth}  a good reply: {sanitize(follow_up.good)}")


@bank_command.command("new")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--id", "pack_id", help="Id of the pack (the folder's name when absent).")
def new(folder: Path, pack_id: str | None) -> None:
    """Make a small pack to start from in FOLDER, which must be empty or not there yet."""
    from question_bank.template import new_pack

    for path in new_pack(folder, pack_id or folder.resolve().name):
        click.echo(f"wrote {path}")
    click.echo(f"check it with: tutor bank check {folder}")


@bank_command.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--lesson", required=True, help="Id of the lesson that the items belong to.")
@click.option("--topic", default="imported", show_default=True, help="Topic of questions that name none.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="File of items to write.")
def import_list(file: Path, lesson: str, topic: str, output: Path | None) -> None:
    """Turn a list of questions (.md or .csv) into a file of items.

    Questions with options become checkpoints. Open ones become probes whose criteria have to be written.
    """
    from question_bank.question_list import read_list, to_items, to_yaml

    questions = read_list(file)
    text = to_yaml(to_items(questions, lesson, topic))
    if output is None:
        click.echo(text, nl=False)
        return
    if output.exists():
        raise TutorError(f"{output} is there already; name another file")
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TutorError(f"{output} cannot be written: {error.strerror}") from error
    still_open = sum(not question.options for question in questions)
    click.echo(f"wrote {output}: {len(questions) - still_open} checkpoints, {still_open} probes to be finished")
    click.echo(f"check it with: tutor bank check --draft {output}")


@bank_command.command("check")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--seeds", type=click.IntRange(1, 10_000), help="Draws of each item (50; with --deep 200).")
@click.option("--deep", is_flag=True, help="Also recompute every number and hold every text to a standard.")
@click.option(
    "--references",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="With --deep: folder of your Python files that work the results out again. They are run.",
)
@click.option(
    "--draft",
    "drafts",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Check this file of items, which stands outside the packs so far, and nothing else.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def check(
    flags: dict[str, object],
    folder: Path | None,
    seeds: int | None,
    deep: bool,
    references: Path | None,
    drafts: tuple[Path, ...],
    as_json: bool,
) -> Any:
    """Check our packs, and those in FOLDER; exit code 1 when something is wrong."""
    from question_bank.check import check_bank
    from question_bank.deep import SEEDS, check_deep, load_references

    bank = load_bank_for(flags, (folder,) if folder else (), drafts)
    files = {str(draft) for draft in drafts}
    only = {name for name, place in bank.places.items() if place.rpartition(":")[0] in files} if drafts else None
    draws = seeds or (SEEDS if deep else 50)
    proven = ""
    if deep:
        report = check_deep(bank, load_references(references) if references else {}, range(draws), only)
        problems = list(report.problems)
        proven = (
            f"; results recomputed by reference {report.by_reference}, scenarios run {report.by_simulator}, "
            f"directions {report.directions}"
        )
    else:
        problems = check_bank(bank, range(draws), only)
    if as_json:
        click.echo(json.dumps([asdict(problem) for problem in problems], indent=2))
    else:
        for problem in problems:
            click.echo(str(problem))
        lessons, items = len(bank.lessons), len(bank.items if only is None else only)
        outcome = "nothing wrong" if not problems else f"{len(problems)} problems"
        click.echo(f"lessons {lessons}, items {items}, draws of each {draws}{proven}: {outcome}")
    return 1 if problems else 0
