"""The one door through which the command line's words reach a terminal.

Titles of packs, names of files and models, errors of servers: much of what a command prints was written by others.
Rather than trust every print, what goes to standard output and standard error is cleared of all that a terminal
would obey, here, for all commands and for the libraries that they use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TextIO, cast

from tutor.text import sanitize

# What a terminal without our signs shows in their place. "?" would be wrong for a tick: it is the sign of "unsure".
PLAIN = {"✓": "+", "✗": "x", "–": "-", "—": "-", "−": "-", "…": "...", "≈": "~", "≤": "<=", "≥": ">=", "→": "->"}


def writable(text: str, encoding: str) -> str:
    """`text` with what `encoding` cannot say replaced, signs by their plain likeness and the rest by `?`."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = "".join(PLAIN.get(sign, sign) for sign in text)
        return plain.encode(encoding, "replace").decode(encoding)
    return text


class _Guard:
    """A stream that passes everything on, and text only when it is harmless."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"a text stream takes str, not {type(text).__name__}")  # click asks by trying
        # Our own progress begins with a return, to write over itself; anyone else's would hide what stands there.
        start = "\r" if text.startswith("\r") and not text.startswith("\r\n") else ""
        clean = sanitize(text[len(start) :])
        try:
            self._stream.write(start + writable(clean, self._stream.encoding or "utf-8"))
        except BrokenPipeError:
            self._reader_is_gone()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._reader_is_gone()

    def _reader_is_gone(self) -> NoReturn:
        """Whoever read has read enough (`| head`): no failure, though click would make it one."""
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self._stream.fileno())  # what is still buffered goes there at the end
        os.close(nothing)
        raise SystemExit(0)

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
