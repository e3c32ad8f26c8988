"""What a terminal would obey does not get through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.text import clip, sanitize

CORPUS = {
    "plain": ("300 ms, then 1,050 ms", "300 ms, then 1,050 ms"),
    "newline and tab stay": ("a\n\tb", "a\n\tb"),
    "other letters stay": ("größer ≈ 日本 ✓ é 😀", "größer ≈ 日本 ✓ é 😀"),
    "brackets are text": ("list[int] [/] [bold", "list[int] [/] [bold"),
    "window title, ended by ST": ("a\x1b]2;PWNED\x1b\\b", "ab"),
    "window title, ended by BEL": ("a\x1b]0;PWNED\x07b", "ab"),
    "clipboard": ("a\x1b]52;c;cm0gLXJmIH4=\x07b", "ab"),
    "clipboard, one-byte introducer": ("a\x9d52;c;cm0=\x9cb", "ab"),
    "hyperlink": ("\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\", "here"),
    "colour": ("\x1b[1;31mred\x1b[0m", "red"),
    "colour, one-byte introducer": ("\x9b31mred\x9b0m", "red"),
    "clear the screen, move, private mode": ("\x1b[2J\x1b[10;20H\x1b[?1049hx", "x"),
    "device control": ("a\x1bPq#0;2;0;0;0\x1b\\b", "ab"),
    "application command, privacy message": ("a\x1b_Gf=24;AAAA\x1b\\b\x1b^x\x1b\\c", "abc"),
    "reset, save, charset": ("a\x1bcb\x1b7c\x1b(0d", "abcd"),
    "unended string keeps its text": ("a\x1b]2;title", "a2;title"),
    "string not ended on its line keeps the next": ("a\x1b]2;t\nmy answer\x07", "a2;t\nmy answer"),
    "lone escape at the end": ("a\x1b", "a"),
    "cut sequence at the end": ("a\x1b[", "a"),
    "NUL, bell, backspace, form feed, shift out": ("a\x00b\x07c\x08d\x0ce\x0ef", "abcdef"),
    "DEL and C1": ("a\x7fb\x80c\x9fd\x85e", "abcde"),
    "direction marks": ("a\u202eb\u202cc\u2066d\u2069e\u200ef\u200fg\u061ch", "abcdefgh"),
    "invisible tag letters": ("ok\U000e0067\U000e0072", "ok"),
    "line ends": ("a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne"),
    "half a surrogate pair": ("a\ud800b", "a\ufffdb"),
    "a sequence inside a sequence": ("\x1b[3\x1b[31m1mx", "31mx"),
}


@pytest.mark.parametrize(("given_text", "expected"), CORPUS.values(), ids=CORPUS.keys())
def test_sanitize(given_text: str, expected: str) -> None:
    assert sanitize(given_text) == expected


ANYTHING = st.text(st.characters(exclude_categories=())) | st.text(st.sampled_from("\x1b]\\[;mP\x07\x9b\x9c\r\n0a"))


@given(ANYTHING)
def test_nothing_a_terminal_obeys_is_left_and_twice_is_once(text: str) -> None:
    clean = sanitize(text)
    assert not [char for char in clean if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"]
    assert sanitize(clean) == clean
    clean.encode("utf-8")


@given(st.text(st.characters(categories=("L", "N", "P", "Zs", "S"))))
def test_ordinary_text_is_not_changed(text: str) -> None:
    assert sanitize(text) == text


@given(st.text(), st.integers(1, 40))
def test_clip_keeps_the_limit_and_the_beginning(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert len(clipped) <= limit
    assert clipped == text if len(text) <= limit else text.startswith(clipped.removesuffix("…"))


def test_clip_marks_the_cut_and_parts_no_letter() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcdef", 6) == "abcdef"
    assert clip("ab cdef", 4) == "ab…"
    assert clip("abe\u0301f", 4) == "ab…"
    with pytest.raises(ValueError, match="fewer than 1"):
        clip("a", 0)
