"""`tutor bank`: check, list and show questions exactly as a candidate sees them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tutor.cli.common import load_bank_for
from tutor.text import unmarked


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
        click.echo(f"  {letter}  {option.text}")
    if not with_answer:
        return
    if question.reference:
        click.echo(f"\nReference\n{unmarked(question.reference)}")
    for letter, option in zip("ABCDEFGH", question.options, strict=False):
        click.echo(f"  {letter}  {'right' if option.correct else 'wrong'}: {option.reason}")
    for criterion, guide in question.criteria.items():
        click.echo(f"\n{criterion}: {guide.statement}")


@bank_command.command("check")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--seeds", default=50, show_default=True, help="How many draws of each item are tried.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def check(flags: dict[str, object], folder: Path | None, seeds: int, as_json: bool) -> Any:
    """Check our packs, and those in FOLDER; exit code 1 when something is wrong."""
    from question_bank.check import check_bank

    bank = load_bank_for(flags, (folder,) if folder else ())
    problems = check_bank(bank, seeds=range(seeds))
    if as_json:
        click.echo(json.dumps([asdict(problem) for problem in problems], indent=2))
    else:
        for problem in problems:
            click.echo(str(problem))
        lessons, items = len(bank.lessons), len(bank.items)
        outcome = "nothing wrong" if not problems else f"{len(problems)} problems"
        click.echo(f"lessons {lessons}, items {items}, draws of each {seeds}: {outcome}")
    return 1 if problems else 0
