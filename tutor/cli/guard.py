"""The one door through which the command line's words reach a terminal.

Titles of packs, names of files and models, errors of servers: much of what a command prints was written by others.
Rather than trust every print, what goes to standard output and standard error is cleared of all that a terminal
would obey, here, for all commands and for the libraries that they use.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from tutor.text import sanitize


class _Guard:
    """A stream that passes everything on, and text only when it is harmless."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"a text stream takes str, not {type(text).__name__}")  # click asks by trying
        # Our own progress begins with a return, to write over itself; anyone else's would hide what stands there.
        start = "\r" if text.startswith("\r") and not text.startswith("\r\n") else ""
        self._stream.write(start + sanitize(text[len(start) :]))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextmanager
def guarded_output() -> Iterator[None]:
    """While this lasts, nothing that a terminal would obey reaches standard output or standard error."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Guard(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
