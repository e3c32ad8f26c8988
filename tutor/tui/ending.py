"""Ended from outside: the terminal is closed, the machine shuts down, somebody sends a signal.

By default each of these kills the program where it stands: the last seconds of typing are lost and the terminal is left
without echo and on the wrong page. Here the text is kept, the model is stopped and the terminal is put back.
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
import threading
from contextlib import suppress
from io import TextIOWrapper
from types import FrameType
from typing import TYPE_CHECKING, Final

from tutor.tui.screens.base import TutorScreen

if TYPE_CHECKING:
    from tutor.tui.app import TutorApp

SIGNALS: Final = ("SIGTERM", "SIGHUP", "SIGINT")
MODEL_S: Final = 3.0
"""For the built-in model to stop."""
LONGEST_S: Final = 6.0
"""From the signal to the end, whatever hangs: a thread that writes to a terminal which is gone never comes back."""


class Ending:
    """Listens for the signals that end a program."""

    def __init__(self, app: TutorApp) -> None:
        self._app = app
        self._task: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        for name in SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:  # Windows knows fewer
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    loop.add_signal_handler(number, self.told, number)
        self._go_on = signal.getsignal(signal.SIGCONT) if hasattr(signal, "SIGCONT") else None
        if callable(self._go_on):
            signal.signal(signal.SIGCONT, self._continued)

    def _continued(self, number: int, frame: FrameType | None) -> None:
        """Take the terminal again after Ctrl+Z, and only then.

        Textual does so at every SIGCONT. One comes without Ctrl+Z too, after SIGSTOP and from a terminal that is
        closed; starting twice would leave two readers of the keyboard, no way back to the terminal's own modes, and a
        program that hangs at its end.
        """
        if callable(self._go_on) and getattr(self._app._driver, "_must_signal_resume", False):
            self._go_on(number, frame)

    def told(self, number: int) -> None:
        """Keep what is typed at once, then end in good order; the exit code is 128 and the signal's number."""
        if self._task is not None:
            return
        code = 128 + number
        last = threading.Timer(LONGEST_S, os._exit, (code,))
        last.daemon = True
        last.start()
        if number == getattr(signal, "SIGHUP", None):
            _leave_terminal()
        with suppress(Exception):  # what cannot be kept does not keep the rest from ending
            self._app.keep_all()
            for screen in self._app.screen_stack:
                if isinstance(screen, TutorScreen):
                    screen.rescued()
        self._task = asyncio.create_task(self._end(code))

    async def _end(self, code: int) -> None:
        self._app.workers.cancel_all()
        with suppress(Exception):
            await asyncio.wait_for(self._app.close_model(), MODEL_S)
        self._app.exit(code, return_code=code)


def _leave_terminal() -> None:
    """Point the streams of a terminal that was closed at nothing: writing to it would fail in a thread."""
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            if stat.S_ISCHR(os.fstat(stream).st_mode):  # a closed terminal no longer says that it is one
                os.dup2(nothing, stream)
        os.close(nothing)


def speak_utf8() -> None:
    """Write the screens as UTF-8 also under a locale that says otherwise: terminals read it, and lines need it."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
