"""LaTeX and HTML entities written as plain text, with offsets kept: `\\frac{64}{256} = 25\\%` -> `64/256 = 25%`."""

from __future__ import annotations

import re

from tutor.grading.text import Folded
from tutor.grading.units import read_unit

_SYMBOLS = {
    "times": "×", "cdot": "·", "ast": "*", "div": "/", "approx": "≈", "simeq": "≈", "sim": "~", "pm": "±", "mu": "μ",
    "micro": "μ", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "to": "→", "rightarrow": "→", "Rightarrow": "⇒",
    "implies": "⇒", "longrightarrow": "→", "neq": "≠", "ne": "≠", "quad": " ", "qquad": " ", "left": "", "right": "",
    "big": "", "Big": "", "displaystyle": "", "ms": "ms", "second": "s", "milli": "m", "percent": "%", "degree": "",
    "equiv": "=", "newline": "\n", "ldots": "...", "dots": "...", "cdots": "...", "therefore": "⇒", "item": "\n- ",
    "thinspace": "\u00a0",
}  # fmt: skip
_WRAPPERS = frozenset(
    re.findall(
        r"\S+",
        "text mathrm mathbf mathit mathsf mathtt textrm textbf textit texttt textsf operatorname mbox boxed rm unit si "
        "emph underline bm boldsymbol ensuremath fbox num color",
    )
)
_STRUCK = frozenset({"cancel", "bcancel", "xcancel", "sout", "st"})
_TWO_PART = {"frac": "/", "tfrac": "/", "dfrac": "/", "cfrac": "/", "nicefrac": "/", "SI": " ", "qty": " "}
_ENTITIES = {
    "nbsp": "\u00a0", "thinsp": "\u00a0", "ensp": " ", "emsp": " ", "times": "×", "asymp": "≈", "minus": "-",
    "plusmn": "±", "middot": "·", "ndash": "-", "mdash": "-", "frac12": "0.5", "frac14": "0.25", "frac34": "0.75",
    "micro": "μ", "le": "≤", "ge": "≥", "rarr": "→", "amp": "&", "lt": "<", "gt": ">", "quot": '"', "percnt": "%",
    "#160": "\u00a0", "#8239": "\u00a0", "#x202f": "\u00a0", "#215": "×", "#39": "'",
}  # fmt: skip
_MARKED = re.compile(r"[\\$&]|\^\{|\{,\}")
_COMMAND = re.compile(r"\\(?:([A-Za-z]+)\*?[ ]?|(.)|$)", re.DOTALL)
_ENVIRONMENT = re.compile(r"\s*\{[A-Za-z*]{1,20}\}(?:\{[lcr| ]{1,20}\})?")
_ENTITY = re.compile(r"&(#?\w{2,8});")
_OPERATOR = re.compile(r"[+\-*/×·]")


class _Writer:
    """Collects characters with the offsets that they came from, and closes what braces opened."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.origin: list[int] = []
        self.math = False
        self.braces: list[tuple[str, int]] = []
        """What each open brace is ("plain", "drop", "first /", "second", "struck") and where its content starts."""

    def put(self, piece: str, at: int) -> None:
        self.out.extend(piece)
        self.origin.extend([at] * len(piece))

    def open(self, kind: str) -> None:
        self.braces.append((kind, len(self.out)))

    def close(self, at: int) -> str:
        kind, start = self.braces.pop()
        if kind in {"first /", "second /"} and _OPERATOR.search("".join(self.out[start:])):
            self.out.insert(start, "(")
            self.origin.insert(start, self.origin[start] if start < len(self.origin) else at)
            self.put(")", at)
        elif kind == "struck":
            self.put("~~", at)
        elif kind == "plain":
            self.put("}", at)
        return kind


def plain(folded: Folded) -> Folded:
    """The folded text with LaTeX and entities written plainly; text without either comes back as it is."""
    text, source = folded.text, folded.origin
    if not _MARKED.search(text):
        return folded
    w = _Writer()
    at = 0
    aligned = "\\begin" in text
    while at < len(text):
        char, here = text[at], source[at]
        if char == "\\":
            at = _command(w, text, at, here)
        elif char == "{":
            if text.startswith("{,}", at):
                w.put(",", here)
                at += 3
                continue
            script = bool(w.out) and w.out[-1] in "^_"
            w.open("drop" if script else "plain")
            if not script:
                w.put("{", here)
            at += 1
        elif char == "}":
            kind = w.close(here) if w.braces else "none"
            at += 1
            if kind == "none":
                w.put("}", here)
            elif kind.startswith("first"):
                w.put(kind[-1], here)
                at = _open_part(w, text, at, f"second {kind[-1]}")
        elif char == "$":
            if w.math or not _is_money(text, at):
                w.math = not w.math
            else:
                w.put(char, here)
            at += 1
        elif char == "&" and (entity := _ENTITY.match(text, at)) and entity[1] in _ENTITIES:
            w.put(_ENTITIES[entity[1]], here)
            at = entity.end()
        else:
            w.put(" " if char == "&" and aligned else char, here)
            at += 1
    return Folded("".join(w.out), tuple(w.origin), folded.source)


_MATH = re.compile(r"[\\^_{}=]")
_WORD = re.compile(r"(?<=\s)(?!per\b)[A-Za-z]{3,}")
_MATH_LENGTH = 400


def _is_money(text: str, at: int) -> bool:
    """Whether a dollar sign outside mathematics is a currency's: "$4 an hour", "1.85 $", "$/h", or a lone sign."""
    closing = text.find("$", at + 1, at + _MATH_LENGTH)
    if closing < 0 or text.startswith("$/", at):
        return True
    if re.search(r"\d[ \u00a0]?$", text[max(0, at - 3) : at]) and not re.match(r"[\\A-Za-z{(]", text[at + 1 : at + 2]):
        return True
    inside = text[at + 1 : closing]
    if not inside[:1].isdigit():
        return False
    prose = sum(read_unit(inside, word.start()) is None for word in _WORD.finditer(inside)) > 1
    return inside[-1] in " \u00a0(" or (prose and not _MATH.search(inside))


def _open_part(w: _Writer, text: str, at: int, kind: str) -> int:
    """Opens the braces of a fraction's part; a part without braces is its next character."""
    brace = re.match(r"\s*\{", text[at : at + 8])
    if brace:
        w.open(kind)
        return at + brace.end()
    return at


def _command(w: _Writer, text: str, at: int, here: int) -> int:
    match = _COMMAND.match(text, at)
    if match is None:  # cannot be: the pattern takes any character or the end
        return at + 1
    name, char = match[1], match[2]
    if name is None:
        w.put({"\\": "\n", ",": "\u00a0", ";": " ", ":": " ", " ": " ", "!": "", "(": " ", ")": " ", "[": " ",
               "]": " "}.get(char or "", char or ""), here)  # fmt: skip
        return match.end()
    if name in {"begin", "end"}:
        environment = _ENVIRONMENT.match(text, match.end())
        w.put("\n", here)
        return environment.end() if environment else match.end()
    if name in _TWO_PART:
        return _open_part(w, text, match.end(), f"first {_TWO_PART[name]}")
    if name in _WRAPPERS or name in _STRUCK:
        if name in _STRUCK:
            w.put("~~", here)
        return _open_part(w, text, match.end(), "struck" if name in _STRUCK else "drop")
    if name in _SYMBOLS:
        w.put(_SYMBOLS[name], here)
        return match.end()
    w.put(match.group(0), here)
    return match.end()
