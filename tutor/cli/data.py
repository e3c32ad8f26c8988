"""`tutor export` and `tutor import`: everything that is stored, as JSON lines."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tutor.cli.common import settings_for
from tutor.errors import TutorError


@click.command(name="export", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.pass_obj
def export_command(flags: dict[str, object], file: Path) -> None:
    """Write everything that is stored to FILE as JSON lines, or to standard output for -."""
    from tutor.store import export_lines, open_store, state_hash

    with open_store(settings_for(flags).store_file) as store:
        if str(file) == "-":
            for line in export_lines(store):
                click.echo(line)
            return
        try:
            # Answers are private: only the owner may read the file.
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise TutorError(f"{file} is there already.", hint="Name another file, or remove it.") from None
        except OSError as error:
            raise TutorError(f"{file} cannot be written: {error.strerror or error}.", hint="Name another.") from None
        count = 0
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                for line in export_lines(store):
                    out.write(f"{line}\n")
                    count += 1
        except BaseException as error:
            file.unlink(missing_ok=True)  # half an export would pass for a whole one
            if not isinstance(error, OSError):
                raise
            raise TutorError(
                f"{file} cannot be written to its end: {error.strerror or error}.", hint="Name a place with more room."
            ) from None
        state = state_hash(store)
    click.echo(f"{file}: {count - 1} events and drafts, state {state}")


@click.command(name="import", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def import_command(flags: dict[str, object], file: Path) -> None:
    """Read an export back; doing it twice changes nothing."""
    from tutor.imports import EventCheck
    from tutor.store import import_lines, open_store, state_hash

    try:
        lines = file.open(encoding="utf-8", errors="strict")
    except OSError as error:
        raise TutorError(f"{file}: {error.strerror or error}.", hint="Give a file that 'tutor export' wrote.") from None
    with lines, open_store(settings_for(flags).store_file) as store:
        try:
            report = import_lines(store, lines, source=str(file), check=EventCheck())
        except UnicodeDecodeError:
            raise TutorError(f"{file} is not UTF-8 text.", hint="Give a file that 'tutor export' wrote.") from None
        state = state_hash(store)
    click.echo(
        f"{report.events_added} events added, {report.events_known} were here already, "
        f"{report.drafts_taken} drafts taken, state {state}"
    )
