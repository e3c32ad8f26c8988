"""Signals, a terminal that goes away, and a flaw in the program: text is kept and the terminal is put back."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.machine.program import Program, program

pytestmark = pytest.mark.slow
PUT_BACK = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1003l", b"\x1b[<u")
"""First page, visible cursor, no marked pastes, no mouse, plain keys."""


def assert_put_back(running: Program) -> None:
    for sequence in PUT_BACK:
        assert sequence in running.seen
    assert running.seen.rindex(b"\x1b[?1049l") > running.seen.rindex(b"\x1b[?1049h")
    assert running.modes() == running.modes_before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_a_signal_keeps_the_last_key_and_puts_the_terminal_back(tmp_path: Path, number: signal.Signals) -> None:
    with program(tmp_path) as running:
        running.open_item()
        running.type("16.25 ms", 0.4)  # far below the two seconds after which a draft is written anyway
        running.send(number)
        assert running.ended() == 128 + number
        assert_put_back(running)
        assert running.drafts() == ["16.25 ms"]


def test_a_closed_terminal_ends_the_program_and_keeps_the_text(tmp_path: Path) -> None:
    with program(tmp_path) as running:
        running.open_item()
        running.type("16.25 ms", 0.4)
        running.hang_up()
        assert running.ended(5) == 128 + signal.SIGHUP
        assert running.drafts() == ["16.25 ms"]


def test_ctrl_z_gives_the_terminal_back_and_going_on_goes_on(tmp_path: Path) -> None:
    with program(tmp_path) as running:
        running.open_item()
        running.type("16.", 0.4)
        running.send(signal.SIGTSTP)
        assert running.stopped()
        running.listen(0.3)
        assert_put_back(running)
        running.send(signal.SIGCONT)
        running.until(b"\x1b[?1049h")
        running.listen(1.0)
        running.type("25 ms", 0.4)
        running.send(signal.SIGTERM)
        assert running.ended() == 128 + signal.SIGTERM
        assert_put_back(running)
        assert running.drafts() == ["16.25 ms"]


def test_a_stop_from_outside_leaves_one_reader_and_the_terminals_own_modes(tmp_path: Path) -> None:
    with program(tmp_path) as running:
        running.open_item()
        running.type("16.", 0.4)
        running.send(signal.SIGSTOP)
        assert running.stopped()
        running.send(signal.SIGCONT)
        running.type("25 ms", 0.5)
        running.send(signal.SIGTERM)
        assert running.ended(5) == 128 + signal.SIGTERM
        assert_put_back(running)
        assert running.drafts() == ["16.25 ms"]


def test_sizes_that_change_forty_times_while_one_types_change_no_letter(tmp_path: Path) -> None:
    with program(tmp_path) as running:
        running.open_item()
        for n in range(40):
            running.resize(20 + (n * 37) % 180, 5 + (n * 11) % 45)
            running.type("0123456789"[n % 10], 0.03)
        running.resize(100, 30)
        running.listen(1.0)
        running.send(signal.SIGTERM)
        assert running.ended() == 128 + signal.SIGTERM
        assert_put_back(running)
        assert running.drafts() == ["0123456789" * 4]


CRASHES = """
from tutor.cli import main
from tutor.tui.app import TutorApp
def broken(self): raise RuntimeError("a flaw")
TutorApp.action_show_keys = broken
main()
"""


def test_a_flaw_in_the_program_puts_the_terminal_back_and_keeps_the_text(tmp_path: Path) -> None:
    with program(tmp_path, start=CRASHES) as running:
        running.open_item()
        running.type("16.25 ms", 0.4)
        running.type("\x1bOP")  # F1
        assert running.ended() == 1
        assert_put_back(running)
        after = running.seen[running.seen.rindex(b"\x1b[?1049l") :]
        assert b"a flaw" in after
        assert running.drafts() == ["16.25 ms"]


def test_another_encoding_changes_neither_lines_nor_letters(tmp_path: Path) -> None:
    with program(tmp_path, {"PYTHONIOENCODING": "latin-1"}) as running:
        running.open_item()
        running.type("é漢≈16 ms", 0.5)
        assert "─".encode() in running.seen
        assert b"\\u2500" not in running.seen
        running.send(signal.SIGTERM)
        assert running.ended() == 128 + signal.SIGTERM
        assert running.drafts() == ["é漢≈16 ms"]
