"""`tutor grade`: one answer from a file, graded exactly as in the interview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tutor.cli.common import load_bank_for, open_grader, read_answer, run_async, settings_for
from tutor.cli.show import grade_lines

if TYPE_CHECKING:
    from tutor.grading.models import Grade


@click.command(name="grade", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--item", "item_id", required=True, help="The item's id; 'tutor bank list' shows them.")
@click.option("--answer", "answer", required=True, metavar="FILE|-", help="The answer as a UTF-8 text file.")
@click.option(
    "--variant",
    "seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="The seed of the numbers.",
)
@click.option("--json", "as_json", is_flag=True, help="The complete grade as JSON.")
@click.pass_obj
def grade_command(flags: dict[str, object], item_id: str, answer: str, seed: int, as_json: bool) -> Any:
    """Grade an answer from a file or standard input.

    Exit code 0 when all four criteria are met, 1 when not, 3 when something could not be graded.
    """
    from question_bank import build_question

    settings, bank = settings_for(flags), load_bank_for(flags)
    question = build_question(bank.item(item_id), seed)
    text = read_answer(answer)

    async def work() -> tuple[Grade, str]:
        async with open_grader(settings, bank) as (grader, why):
            return await grader.grade(question, text), why if grader.model is None else ""

    grade, why_no_model = run_async(work())
    if as_json:
        click.echo(grade.model_dump_json(indent=2))
    else:
        for line in grade_lines(grade):
            click.echo(line)
        if why_no_model:
            click.echo(f"No model: {why_no_model}")
    if grade.not_graded_count:
        return 3
    return 0 if grade.met_count == grade.of else 1
