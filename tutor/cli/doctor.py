"""`tutor doctor`: what is in use, where it comes from, and whether it is sound."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Any

import click

from tutor import __version__
from tutor.cli.common import load_bank_for, run_async, settings_for
from tutor.errors import TutorError

if TYPE_CHECKING:
    from tutor.settings import Settings


@click.command(name="doctor", context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_obj
def doctor_command(flags: dict[str, object]) -> Any:
    """Check the settings, the store, the bank and the model; exit code 1 when something is wrong."""
    settings = settings_for(flags)
    click.echo(f"Tutor {__version__}, Python {platform.python_version()}, {sys.platform}")
    click.echo("\nSettings")
    for row in settings.explain():
        click.echo(f"  {row.key:<28} {row.value:<36} {row.source}")
    faults = [*_store(settings), *_bank(flags), *_model(settings)]
    click.echo()
    for fault in faults:
        click.echo(f"✗ {fault}")
    click.echo(f"{len(faults)} to mend" if faults else "✓ nothing to mend")
    return 1 if faults else 0


def _store(settings: Settings) -> list[str]:
    from tutor.drills import check_drills
    from tutor.interview import check_interviews
    from tutor.store import open_store, state_hash

    click.echo(f"\nStore\n  {settings.store_file}")
    try:
        with open_store(settings.store_file) as store:
            problems = [*store.check(), *check_interviews(store), *check_drills(store)]
            events = store.query("SELECT count(*) FROM events")[0][0]
            click.echo(f"  {events} events, {len(store.drafts())} drafts, state {state_hash(store)[:12]}")
    except TutorError as error:
        return [str(error)]
    return [f"{problem.what} {problem.remedy}" for problem in problems]


def _bank(flags: dict[str, object]) -> list[str]:
    from question_bank import BankError

    click.echo("\nQuestions")
    try:
        bank = load_bank_for(flags)
    except BankError as error:
        return [str(error)]
    click.echo(f"  {len(bank.lessons)} lessons, {len(bank.items)} items ('tutor bank check' proves them)")
    return []


def _model(settings: Settings) -> list[str]:
    from tutor.llm.embedded import available
    from tutor.llm.files import installed
    from tutor.llm.servers import survey

    click.echo("\nModel")
    seen = run_async(survey(settings.model))
    files = [file for file in installed(settings.model_dir) if file.entry is None or file.entry.grades]
    for info in seen.models:
        click.echo(f"  {info.endpoint.model} at {info.endpoint.base_url}, {info.source}")
    for file in files:
        click.echo(f"  {file.path.name}, built in{'' if available() else ' (llama.cpp is not installed)'}")
    if not seen.models and not (files and available()):
        click.echo("  none: code grades the result, evidence the rest; 'tutor model get' fetches one")
    return list(seen.notes)
