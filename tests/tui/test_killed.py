"""`kill -9` on the real program on a real pseudo-terminal loses at most the last moments of typing."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
from pathlib import Path
from time import monotonic, sleep

from question_bank import load_bank
from tutor.interview import make_plan
from tutor.store import open_store


def read_until(terminal: int, text: bytes, limit_s: float = 40.0) -> None:
    seen, end = b"", monotonic() + limit_s
    while text not in seen:
        assert monotonic() < end, f"{text!r} was not shown"
        ready, _, _ = select.select([terminal], [], [], 0.2)
        if ready:
            seen += os.read(terminal, 65536)


def drain(terminal: int, seconds: float) -> None:
    end = monotonic() + seconds
    while monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.05)
        if ready:
            os.read(terminal, 65536)


def seed_of_an_open_beginning() -> int:
    """The first seed whose 25-minute screen begins with a question that is answered in words."""
    bank = load_bank()
    plans = ((seed, make_plan(bank, "screen", seed, adaptive=False)) for seed in range(1, 1000))
    return next(seed for seed, plan in plans if bank.item(plan.entries[0].item_id).kind in ("exercise", "probe"))


def test_a_draft_survives_kill_9(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "TUTOR_DATA_DIR": str(tmp_path),
        "TUTOR_MODEL__DISCOVER": "false",
        "TUTOR_MODEL__USE_EMBEDDED": "false",
    }
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(sys.executable, [sys.executable, "-m", "tutor"], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        read_until(terminal, b"mastery")
        drain(terminal, 0.5)
        os.write(terminal, b"i")
        read_until(terminal, b"60-minute loop")
        drain(terminal, 0.5)
        # Key by key, as a person types: the focus has to move before the digits come.
        for keys in (b"\t", b"%d" % seed_of_an_open_beginning(), b"\r"):
            os.write(terminal, keys)
            drain(terminal, 1.0 if keys != b"\r" else 0.0)
        read_until(terminal, b"How sure")
        drain(terminal, 0.5)
        os.write(terminal, b"2")
        drain(terminal, 0.5)
        os.write(terminal, b"thirty gaps")
        drain(terminal, 2.0)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    sleep(0.1)
    with open_store(tmp_path / "tutor.db") as store:
        assert [draft.text for draft in store.drafts()] == ["thirty gaps"]


def test_the_draft_of_a_drill_survives_kill_9_and_is_there_again(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "TUTOR_DATA_DIR": str(tmp_path),
        "TUTOR_MODEL__DISCOVER": "false",
        "TUTOR_MODEL__USE_EMBEDDED": "false",
    }
    for life in range(2):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(sys.executable, [sys.executable, "-m", "tutor"], environment)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        try:
            read_until(terminal, b"mastery")
            drain(terminal, 0.5)
            os.write(terminal, b"d")
            read_until(terminal, b"How sure")
            for kind in (b"Asked now: checkpoints", b"Asked now: recalls", b"Asked now: numbers"):
                os.write(terminal, b"k")
                read_until(terminal, kind)
            if life == 0:
                drain(terminal, 0.5)
                os.write(terminal, b"2")
                drain(terminal, 0.5)
                os.write(terminal, b"16.25 ms")
                drain(terminal, 2.0)
            else:
                drain(terminal, 1.0)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)
        sleep(0.1)
        with open_store(tmp_path / "tutor.db") as store:
            (draft,) = store.drafts()
            assert draft.text == "16.25 ms"
            assert draft.stream.startswith("drill:")
            assert store.check() == []
