"""What the commands of `tutor drill` share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from tutor.cli.common import load_bank_for, settings_for
from tutor.errors import TutorError
from tutor.text import sanitize

if TYPE_CHECKING:
    from tutor.drills import Drills


def now() -> datetime:
    """The time with this place's offset."""
    return datetime.now().astimezone()


@contextmanager
def open_drills(flags: dict[str, object]) -> Iterator[Drills]:
    """The drills of the store in use, with interviews taken in; says on stderr which items were reset by that."""
    from tutor.drills import Drills
    from tutor.store import open_store

    bank = load_bank_for(flags)
    with open_store(settings_for(flags).store_file) as store, Drills.open(store, bank) as drills:
        warning = drills.clock_warning(now())
        if warning is not None:
            click.echo(warning, err=True)
        for sentence in drills.sync(now()):
            click.echo(sanitize(sentence), err=True)
        yield drills


def show_json(value: object) -> None:
    """A value as JSON; days and moments in ISO 8601."""
    from pydantic_core import to_jsonable_python

    click.echo(json.dumps(to_jsonable_python(value, fallback=str), indent=2, ensure_ascii=False))


def as_day(text: str) -> date:
    """A day written as 2026-03-20.

    Raises:
        TutorError: it is no day.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise TutorError(f"{text} is no day.", hint="Write it as 2026-03-20.") from None


as_json = click.option("--json", "as_json", is_flag=True, help="As JSON.")
