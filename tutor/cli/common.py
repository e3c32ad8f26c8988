"""What several commands need: settings, bank, store and a model, opened late and closed surely."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tutor.errors import TutorError

if TYPE_CHECKING:
    from question_bank import Bank
    from tutor.grader import Grader
    from tutor.settings import Settings

T = TypeVar("T")
MAX_ANSWER_BYTES = 1 << 20


def settings_for(flags: dict[str, object]) -> Settings:
    """The settings, with the command line's flags on top."""
    from tutor.settings import load_settings

    return load_settings(flags)


def load_bank_for(flags: dict[str, object], more: tuple[Path, ...] = (), drafts: tuple[Path, ...] = ()) -> Bank:
    """Our packs, those of the settings and `more`, and files of items that stand outside them.

    Raises:
        TutorError: a pack cannot be read or is wrong.
    """
    from question_bank import load_bank

    return load_bank([*settings_for(flags).bank_dirs, *more], drafts)


def read_answer(source: str) -> str:
    """An answer from a file, or from standard input for "-".

    Raises:
        TutorError: the file is missing, too large, or not UTF-8 text.
    """
    if source == "-":
        raw = sys.stdin.buffer.read(MAX_ANSWER_BYTES + 1)
    else:
        try:
            with Path(source).open("rb") as file:
                raw = file.read(MAX_ANSWER_BYTES + 1)
        except OSError as error:
            raise TutorError(f"{source}: {error.strerror or error}.", hint="Give a readable text file, or -.") from None
    if len(raw) > MAX_ANSWER_BYTES:
        raise TutorError(f"{source}: the answer is larger than 1 MiB.", hint="Shorten it to the answer itself.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TutorError(
            f"{source}: byte {error.start} is not UTF-8 text.", hint="Save the file as UTF-8 and try again."
        ) from None


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run one coroutine to its end; Ctrl+C cancels it."""
    return asyncio.run(work)


@asynccontextmanager
async def open_grader(settings: Settings, bank: Bank) -> AsyncIterator[tuple[Grader, str]]:
    """A grader with the model that was found (or none) and, in words, which and why; closes what it started."""
    from tutor.grader import Grader
    from tutor.llm.choose import choose_model

    def say(status: str) -> None:
        if sys.stderr.isatty():
            print(status, file=sys.stderr)  # noqa: T201 - the command line's own progress

    choice = await choose_model(settings.model, model_dir=settings.model_dir, on_status=say)
    try:
        yield Grader(settings, bank, choice.model), choice.reason
    finally:
        if choice.model is not None:
            await choice.model.close()
