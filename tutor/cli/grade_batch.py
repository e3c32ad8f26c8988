"""`tutor grade --answers`: a file of answers, on as many servers as there are."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tutor.cli.common import load_bank_for, open_grader, run_async, settings_for
from tutor.errors import TutorError

if TYPE_CHECKING:
    from question_bank import Bank
    from tutor.batch.files import BatchAnswer, Results
    from tutor.batch.run import BatchProgress
    from tutor.llm.types import ModelInfo
    from tutor.settings import Settings

INTERRUPTED = 130


def grade_many(
    flags: dict[str, object],
    path: Path,
    out: Path,
    csv_file: Path | None,
    markdown_file: Path | None,
    servers: tuple[str, ...],
    per_server: int,
) -> int:
    """Grade what is not graded yet, and write the tables; they are written after Ctrl+C too.

    Raises:
        TutorError: a file, an item or a server cannot be used.
    """
    from tutor.batch.files import Results, csv_text, markdown_text, read_answers, write_text
    from tutor.batch.run import AllServersGone

    settings, bank = settings_for(flags), load_bank_for(flags)
    answers = read_answers(path)
    results = Results(out)
    trouble: TutorError | None = None
    stopped = False
    progress = None
    try:
        progress = run_async(_work(settings, bank, answers, results, servers, per_server))
    except AllServersGone as error:
        trouble = error
    except asyncio.CancelledError:
        stopped = True
    finally:
        results.close()
    if csv_file is not None:
        write_text(csv_file, [csv_text(answers, results.graded)])
    if markdown_file is not None:
        write_text(markdown_file, [markdown_text(path.name, answers, results.graded)])
    done = sum(results.has(answer) for answer in answers)
    click.echo(f"{done:,} of {len(answers):,} answers graded: {out}")
    for server, count in sorted((progress.by_server if progress is not None else {}).items()):
        click.echo(f"  {count:,} by {server or 'this program'}")
    for lost in progress.lost if progress is not None else ():
        click.echo(f"  {lost} went away; its answers went to the others")
    if trouble is not None:
        raise trouble
    if stopped:
        click.echo("Stopped; the same command goes on.")
        return INTERRUPTED
    failed = [each for each in results.graded.values() if each.grade is None or each.grade.not_graded_count]
    if failed:
        one = failed[0]
        reasons = [c.reason for c in one.grade.criteria if c.verdict == "not_graded"] if one.grade is not None else []
        click.echo(f"  {len(failed):,} could not be graded in full, {one.id} first: {one.problem or reasons[0]}")
    return 1 if failed else 0


async def _work(
    settings: Settings,
    bank: Bank,
    answers: list[BatchAnswer],
    results: Results,
    servers: tuple[str, ...],
    per_server: int,
) -> BatchProgress:
    from tutor.batch.run import grade_batch
    from tutor.grader import Grader
    from tutor.llm.choose import OpenModel
    from tutor.llm.pool import Pool

    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    if not servers:
        async with open_grader(settings, bank) as (grader, why):
            if grader.model is None:
                click.echo(f"No model: {why}", err=True)
            return await grade_batch(answers, bank, results, {"": grader}, None, tell=_tell)
    found = [await _model_at(settings, url) for url in dict.fromkeys(servers)]
    names = {info.endpoint.model for info in found}
    if len(names) > 1:
        raise TutorError(
            f"The servers have different models: {', '.join(sorted(names))}.",
            hint="Grades of one file should come from one; name it with --model-name.",
        )
    graders = {info.endpoint.base_url: Grader(settings, bank, OpenModel(info)) for info in found}
    pool = Pool([info.endpoint for info in found])
    return await grade_batch(answers, bank, results, graders, pool, per_server=per_server, tell=_tell)


async def _model_at(settings: Settings, url: str) -> ModelInfo:
    from tutor.llm.servers import survey

    asked = settings.model.model_copy(update={"base_url": url, "discover": False, "use_embedded": False})
    seen = await survey(asked, ())
    if not seen.models:
        raise TutorError(seen.notes[0] if seen.notes else f"{url}: no model answers there.", exit_code=3)
    return seen.models[0]


def _tell(progress: BatchProgress) -> None:
    if sys.stderr.isatty():
        left = progress.left_s
        rest = f", about {left:,.0f} s left" if left is not None else ""
        click.echo(f"\r{progress.done:,} of {progress.total:,} graded{rest}   ", nl=False, err=True)
        if progress.done == progress.total:
            click.echo("", err=True)
