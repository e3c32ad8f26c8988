"""Text that a terminal would obey, and text that makes a pattern run without end."""

from __future__ import annotations

import time

import pytest

from tutor.text import sanitize

LIMIT_S = 1.0

FLOODS = {
    "device control strings that never end": "\x90" * 200_000,
    "operating system commands that never end": "\x9d" * 200_000,
    "titles that never end": "\x1b]0;" * 100_000,
    "parameters that never end": "\x9b" + "0" * 200_000,
    "introducers": "\x9b0;" * 100_000,
    "escapes with blanks": ("\x1b" + " " * 50) * 5_000,
    "reversals": "\u202e" * 200_000,
    "tags": "\U000e0041" * 200_000,
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_control_characters_is_cleared_at_once(name: str) -> None:
    began = time.perf_counter()
    cleared = sanitize(FLOODS[name])
    assert time.perf_counter() - began < LIMIT_S
    assert not set(cleared) & {"\x1b", "\x90", "\x9b", "\x9d", "\u202e", "\U000e0041"}


def test_a_string_inside_a_string_does_not_carry_anything_through() -> None:
    assert sanitize("a\x9d0;one\x9d0;two\x07b") == "a0;oneb"
    assert sanitize("a\x1b]0;title\x07b") == "ab"
