"""Text from people, models and files, made safe for a terminal.

Every string that the program did not write itself passes `sanitize` before a widget, a log or a command's output
shows it: a terminal obeys escape sequences wherever they come from, and Textual lets ESC through.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Introduced by ESC or by the one-byte C1 form; ended by BEL, ESC \ or ST. A string without its end is not matched:
# it loses its introducer below and stays readable, rather than swallowing the rest of the text. Nor does a string
# reach over another introducer: thousands of them in a row would each be followed to the end of the text.
_STRINGS: Final = re.compile(
    "(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\x9d\x90\x98\x9e\x9f]*(?:\x07|\x1b\\\\|\x9c)",
)
_CSI: Final = re.compile("(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]")
_ESCAPES: Final = re.compile("\x1b[ -/]*[0-~]")
# C0 but for tab, newline and carriage return; DEL and C1; marks that reorder what is shown; invisible tag letters.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_LINE_ENDS: Final = re.compile("\r\n?|[\u2028\u2029]")
_JOINER: Final = "\u200d"


def sanitize(text: str) -> str:
    """`text` without anything a terminal would obey; newlines and tabs stay.

    Whole escape sequences go, then every control character but newline and tab, marks that change the direction
    of writing, and invisible tag characters. All line ends become a newline; half a surrogate pair becomes U+FFFD.
    Doing it twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _STRINGS.sub("", text)
    text = _CSI.sub("", text)
    text = _ESCAPES.sub("", text)
    text = _INVISIBLE.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    return _SURROGATES.sub("\ufffd", text)


def clip(text: str, limit: int) -> str:
    """`text` in at most `limit` characters; what was cut is marked by an ellipsis, which counts.

    A letter is not parted from its combining marks.

    Raises:
        ValueError: `limit` is smaller than 1.
    """
    if limit < 1:
        raise ValueError("a text cannot be clipped to fewer than 1 character")
    if len(text) <= limit:
        return text
    end = limit - 1
    while end > 0 and (_joins(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return f"{text[:end].rstrip()}…"


def _joins(char: str) -> bool:
    return unicodedata.combining(char) != 0 or char == _JOINER or "\ufe00" <= char <= "\ufe0f"


_STARTS_A_LINE: Final = re.compile(r"\s*([-*|>#]|\d+\. )")


def unmarked(markdown: str) -> str:
    """Markdown as plain paragraphs, for lists and for the command line: without emphasis, wrapped lines joined."""
    blocks: list[str] = []
    for line in sanitize(markdown).splitlines():
        text = line.replace("**", "").replace("`", "").rstrip()
        starts = not text.strip() or _STARTS_A_LINE.match(text)
        if starts or not blocks or not blocks[-1].strip() or line.startswith("    "):
            blocks.append(text)
        else:
            blocks[-1] = f"{blocks[-1]} {text.strip()}"
    return "\n".join(blocks).strip()
