"""The real program on a real pseudo-terminal, with a question open and the keyboard in its answer."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from tutor.store import open_store

PLAIN_START = "from tutor.cli import main; main()"


class Program:
    """One life of the program."""

    def __init__(self, data_dir: Path, variables: Mapping[str, str] | None = None, start: str = PLAIN_START) -> None:
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "TUTOR_DATA_DIR": str(data_dir),
            "TUTOR_MODEL__DISCOVER": "false",
            "TUTOR_MODEL__USE_EMBEDDED": "false",
            **(variables or {}),
        }
        self.seen = b""
        self.data_dir = data_dir
        self.code: int | None = None
        # A pair of our own, kept open on this side: the terminal's modes can be read after the program's end.
        self.master, self.slave = pty.openpty()
        self.resize(80, 24)
        self.modes_before = self.modes()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for stream in (0, 1, 2):
                os.dup2(self.slave, stream)
            os.closerange(3, 256)
            os.execve(sys.executable, [sys.executable, "-c", start], environment)

    def modes(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """Close the terminal, as a window that is shut or a line that is lost."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def listen(self, seconds: float) -> None:
        end = monotonic() + seconds
        while monotonic() < end:
            ready, _, _ = select.select([self.master], [], [], 0.05)
            if ready:
                self.seen += os.read(self.master, 65536)

    def until(self, text: bytes, limit_s: float = 40.0) -> None:
        """Wait for what comes from now on."""
        start, end = len(self.seen), monotonic() + limit_s
        while text not in self.seen[start:]:
            assert monotonic() < end, f"{text!r} was not shown; the last was {self.seen[-2000:]!r}"
            self.listen(0.1)

    def type(self, keys: str, wait_s: float = 0.0) -> None:
        os.write(self.master, keys.encode())
        self.listen(wait_s)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def stopped(self, limit_s: float = 10.0) -> bool:
        """Whether the program comes to a stop, as after Ctrl+Z."""
        end = monotonic() + limit_s
        while monotonic() < end:
            found, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if found:
                return os.WIFSTOPPED(status)
            self.listen(0.05)
        return False

    def ended(self, limit_s: float = 15.0) -> int:
        """The exit code; negative for a signal that killed it."""
        end = monotonic() + limit_s
        while self.code is None:
            assert monotonic() < end, "the program did not end"
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.code = os.waitstatus_to_exitcode(status)
            elif self.master >= 0:
                self.listen(0.05)
            else:
                sleep(0.05)
        if self.master >= 0:
            self.listen(0.2)
        return self.code

    def drafts(self) -> list[str]:
        with open_store(self.data_dir / "tutor.db") as store:
            assert store.check() == []
            return [draft.text for draft in store.drafts()]

    def open_item(self) -> None:
        """From Home to the answer of a question in words."""
        self.until(b"mastery")
        self.listen(0.5)
        self.type("d")
        self.until(b"How sure")
        for kind in (b"Asked now: checkpoints", b"Asked now: recalls", b"Asked now: numbers"):
            self.type("k")
            self.until(kind)
        self.listen(0.5)
        self.type("2", 0.7)

    def close(self) -> None:
        if self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        if self.master >= 0:
            self.hang_up()


@contextmanager
def program(data_dir: Path, variables: Mapping[str, str] | None = None, start: str = PLAIN_START) -> Iterator[Program]:
    """Start it, and end it in any case."""
    running = Program(data_dir, variables, start)
    try:
        yield running
    finally:
        running.close()
