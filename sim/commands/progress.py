"""A line about how far a run is, and an end before its end on Ctrl+C."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any, TextIO

_EVERY_S = 0.2


class Watch:
    """While it is open, the first Ctrl+C asks the run to stop; a second one ends the program.

    Shows a line on a terminal, at most five times a second, and nothing elsewhere.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shows = self._stream.isatty()
        self._next = time.monotonic() + _EVERY_S
        self._width = 0
        self._former: Any = None
        self.stopped = False

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            self._former = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)
        self._clear()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True

    def stop(self) -> bool:
        """Whether the run should end."""
        return self.stopped

    def progress(self, done: int, total: int, now_s: float) -> None:
        """Say how far it is."""
        self.say(f"{done:,} of {total:,} requests done, {now_s:,.1f} s simulated")

    def say(self, text: str) -> None:
        """Replace the line, unless it is too early for that."""
        now = time.monotonic()
        if not self._shows or now < self._next:
            return
        self._next = now + _EVERY_S
        self._stream.write(f"\r{text:<{self._width}}")
        self._stream.flush()
        self._width = max(self._width, len(text))

    def _clear(self) -> None:
        if self._width:
            self._stream.write(f"\r{'':<{self._width}}\r")
            self._stream.flush()
