"""`tutor grade`: one answer from a file, graded exactly as in the interview."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tutor.cli.common import load_bank_for, open_grader, read_answer, run_async, settings_for
from tutor.cli.show import grade_lines
from tutor.errors import TutorError

if TYPE_CHECKING:
    from tutor.grading.models import Grade

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="grade", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--item", "item_id", help="The item's id; 'tutor bank list' shows them.")
@click.option("--answer", "answer", metavar="FILE|-", help="The answer as a UTF-8 text file.")
@click.option(
    "--variant",
    "seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="The seed of the numbers.",
)
@click.option("--json", "as_json", is_flag=True, help="The complete grade as JSON.")
@click.option("--answers", type=_FILE, help="Many answers: one JSON object a line with id, item, seed and answer.")
@click.option("--out", type=_FILE, help="With --answers: the grades, one JSON object a line; run again to go on.")
@click.option("--csv", "csv_file", type=_FILE, help="With --answers: also a table for spreadsheets.")
@click.option("--markdown", "markdown_file", type=_FILE, help="With --answers: also a page to read.")
@click.option("--server", "servers", multiple=True, metavar="URL", help="With --answers: ask this server; repeatable.")
@click.option(
    "--per-server",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="With --server: answers under way at each.",
)
@click.pass_obj
def grade_command(
    flags: dict[str, object], item_id: str | None, answer: str | None, seed: int, as_json: bool, answers: Path | None,
    out: Path | None, csv_file: Path | None, markdown_file: Path | None, servers: tuple[str, ...], per_server: int,
) -> Any:  # fmt: skip
    """Grade an answer from a file or standard input, or a file of many.

    One answer: exit code 0 when all four criteria are met, 1 when not, 3 when something could not be graded. Many: 0
    when all were graded, 1 when some could not be, 3 when no server is left (run the same command to go on).
    """
    from question_bank import build_question

    if answers is not None:
        from tutor.cli.grade_batch import grade_many

        if item_id is not None or answer is not None:
            raise TutorError("--answers does not go with --item or --answer.", hint="Give one or the other.")
        if out is None:
            raise TutorError("--answers needs a place for the grades.", hint="Add --out grades.jsonl.")
        return grade_many(flags, answers, out, csv_file, markdown_file, servers, per_server)
    if item_id is None or answer is None:
        raise TutorError("Say what to grade.", hint="Give --item ID with --answer FILE, or --answers FILE.")
    if out is not None or csv_file is not None or markdown_file is not None or servers:
        raise TutorError("--out, --csv, --markdown and --server go with --answers.", hint="For one answer use --json.")

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
