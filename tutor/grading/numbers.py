"""A reader of numbers with their units in prose: a pure function from text to what was written where.

It reads digits of any script, thousands separators (1,050 · 1.050,5 · 1 050), powers of ten, "k",
number words, ranges, ≈ and its cousins, LaTeX's simple forms, and joins "1 s 50 ms". What a number is
for (asserted, given, intermediate) is decided in `result`; chains of arithmetic are read in `chains`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tutor.grading.number_words import SPELT, value_of
from tutor.grading.text import Folded, fold
from tutor.grading.units import Unit, read_unit

_GROUPED = (
    r"(?<!\d,)\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d|,\d)|"  # 1,050.5, but not a list such as 100,40,160
    r"\d{1,3}(?:\{,\}\d{3})+(?:\.\d+)?|"  # LaTeX's 1{,}050
    r"\d{1,3}(?:\.\d{3})+,\d+|"  # 1.050,5
    r"\d{1,3}(?:\.\d{3}){2,}(?!\d)|"  # 1.050.000
    r"\d{1,3}(?:[\u00a0'_]\d{3})+(?:[.,]\d+)?(?!\d)|"  # 1 050 with a hard space, 1'050
    r"[1-9]\d?(?: \d{3})+(?:\.\d+)?(?![\d])|"  # 1 050 with a plain space
    r"\d+,\d{1,2}(?![\d]|,\d)|\d+,\d{4,}(?!,?\d)|"  # 1,05 as a decimal comma
    r"\d+(?:\.\d+)?|\.\d+"
)
_NUMBER = re.compile(
    rf"(?:(?<![\w.\\^])|(?<=\d[xX])|(?<=[\d)] [xX])|(?<=\\approx))"
    rf"(?P<num>{_GROUPED})"
    rf"(?P<exp>[eE][+-]?\d{{1,3}}(?!\w)|\s?(?:\*|·|×|x|\\times|\\cdot)\s?10\s?\^\s?\{{?[+-]?\d{{1,2}}\}}?)?"
    rf"(?P<pow>\s?(?:\^|\*\*)\s?\{{?[+-]?\d{{1,3}}\}}?)?"
    rf"(?P<scale>\s?(?:[kK](?![A-Za-z])|M(?![A-Za-z])|(?i:thousand|million|billion)(?![A-Za-z])))?"
)
_SCALE = {"k": 1e3, "m": 1e6, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_APPROX = re.compile(
    r"(?:≈|~|\\approx|\\sim|\babout|\bapprox(?:imately|\.)?|\broughly|\baround|\bcirca|\bca\.|\bnearly|\balmost)"
    r"\s*(?:=\s*)?\$?$",
    re.IGNORECASE,
)
_LATEX_GLUE = re.compile(r"(?:\\[,;:! ]|~|\\(?:text|mathrm|rm|textrm)\s?\{\s*|\{|\$|\s|-(?=[a-zA-Z]))*")
_RANGE = re.compile(r"\s*(?:-|to|\.\.\.?|through)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Read:
    """One number as written.

    `start`/`end` are offsets into the text that was read (its number and unit together). `canonical` is
    in the canonical unit of `dimension` (see `units`). `low`/`high` differ from `value` only for ranges.
    `alternative` is the other value where the separators allow two readings (1.050, 1,050 with a decimal
    comma), in the written unit.
    """

    start: int
    end: int
    text: str
    value: float
    unit: str
    dimension: str
    canonical: float
    approx: bool = False
    low: float | None = None
    high: float | None = None
    alternative: float | None = None
    factor: float = 1.0
    spelt: bool = False

    @property
    def is_range(self) -> bool:
        return self.low is not None


def _digits(written: str) -> tuple[float, float | None]:
    """The value of a run of digits and separators, and its other possible value."""
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", written):
        return float(written.replace(".", "").replace(",", ".")), None
    if re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", written):
        return float(written.replace(".", "")), None
    written = written.replace("{,}", ",")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", written):
        plain = float(written.replace(",", ""))
        other = float(written.replace(",", ".")) if written.count(",") == 1 and "." not in written else None
        return plain, other
    bare = re.sub(r"[\u00a0'_ ]", "", written)
    value = float(bare.replace(",", "."))
    other = float(bare.replace(".", "")) if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", written) else None
    return value, other


def _exponent(raw: str) -> int:
    return int(re.sub(r"[^\d+-]", "", re.sub(r".*(?:\^|\*\*|[eE])", "", raw)))


def _one(match: re.Match[str], text: str) -> tuple[float, float | None, int]:
    value, other = _digits(match["num"])
    factor = 1.0
    if match["exp"]:
        factor *= 10.0 ** _exponent(match["exp"])
    if match["pow"]:
        power = _exponent(match["pow"])
        value, other = (value**power, None) if abs(power) <= 64 and value < 1e6 else (value, None)
    if match["scale"]:
        factor *= _SCALE[match["scale"].strip().lower()]
    return value * factor, None if other is None else other * factor, match.end()


def _sign(text: str, start: int) -> tuple[float, int]:
    """A minus that belongs to the number, not one between two operands and not a list's dash."""
    if start and text[start - 1] == "-":
        before = text[: start - 1].rstrip(" ")
        if start >= 2 and text[start - 2] in " (=:,\u00a0" and before and not re.search(r"[\d)%\n]$", before):
            return -1.0, start - 1
    return 1.0, start


def _with_unit(text: str, end: int) -> tuple[Unit, int]:
    glue = _LATEX_GLUE.match(text, end)
    at = glue.end() if glue else end
    if text[end:at].count("\n"):
        return Unit("", "none", 1.0), end
    found = read_unit(text, at)
    if found is None:
        return Unit("", "none", 1.0), end
    unit, stop = found
    if "{" in text[end:at] and text[stop : stop + 1] == "}":
        stop += 1
    return unit, stop


def _spelt(text: str, taken: list[tuple[int, int]]) -> list[Read]:
    reads = []
    for match in SPELT.finditer(text):
        if any(s < match.end() and match.start() < e for s, e in taken):
            continue
        phrase = match.group(0)
        value = value_of(phrase)
        if value is None:
            continue
        glue = re.compile(r"[\s-]*(?:of an? |an? )?").match(text, match.end())
        found = read_unit(text, glue.end()) if glue else None
        single = len(phrase.split()) == 1 and "-" not in phrase
        if found is None and single and value < 13:
            continue  # "one" and "two" alone are seldom numbers
        if found and found[0].dimension == "count" and phrase.lower() == "one":
            continue
        unit, end = found if found else (Unit("", "none", 1.0), match.end())
        if unit.name == "s" and text[match.end() : end].strip().lower() == "second" and value == 1 and phrase == "a":
            continue
        reads.append(
            Read(
                match.start(),
                end,
                text[match.start() : end],
                value,
                unit.name,
                unit.dimension,
                value * unit.factor,
                factor=unit.factor,
                spelt=True,
            )
        )
    return reads


def _ranges(text: str, reads: list[Read]) -> list[Read]:
    """Joins "300-310 ms" and "300 to 310 ms"; a difference such as 31-1 = 30 is left alone."""
    out: list[Read] = []
    for read in reads:
        last = out[-1] if out else None
        between = text[last.end : read.start] if last else ""
        if (
            last
            and not last.is_range
            and _RANGE.fullmatch(between)
            and (last.dimension in {"none", read.dimension})
            and read.dimension != "none"
            and 0 <= last.value * (last.factor if last.dimension != "none" else read.factor) < read.canonical
            and not re.match(r"\s*(?:=|≈)", text[read.end :])
            and not re.search(r"(?:from|\bby|[=+*/·×(-])\s*$", text[: last.start], re.IGNORECASE)
            and not re.search(r"[=+*/·×(]\s*[\d.,]*$", text[max(0, last.start - 3) : last.start])
        ):
            low = last.value if last.dimension == "none" else last.canonical / read.factor
            mid = (low + read.value) / 2
            out[-1] = replace(
                read, start=last.start, text=text[last.start : read.end], value=mid, canonical=mid * read.factor,
                low=low, high=read.value, alternative=None, approx=True,
            )  # fmt: skip
        else:
            out.append(read)
    return out


def _compound(text: str, reads: list[Read]) -> list[Read]:
    """Joins "1 s 50 ms" and "1 min 30 s" into one time in the larger unit."""
    out: list[Read] = []
    for read in reads:
        last = out[-1] if out else None
        if (
            last
            and last.dimension == read.dimension == "time"
            and last.factor > read.factor
            and read.canonical < last.factor
            and not last.is_range
            and not read.is_range
            and re.fullmatch(r"\s*(?:and\s+)?", text[last.end : read.start])
            and "\n" not in text[last.end : read.start]
            and last.value == int(last.value)
        ):
            total = last.canonical + read.canonical
            out[-1] = replace(last, end=read.end, text=text[last.start : read.end], value=total / last.factor,
                              canonical=total, alternative=None)  # fmt: skip
        else:
            out.append(read)
    return out


def read_folded(folded: Folded) -> tuple[Read, ...]:
    """As `read_quantities`, with offsets into the folded text."""
    text = folded.text
    reads: list[Read] = []
    for match in _NUMBER.finditer(text):
        if re.match(r"(?![xX]\s?[\d(])[A-Za-z_]", text[match.end() :]) and read_unit(text, match.end()) is None:
            continue  # 31st, 2nd, 4bit
        if re.match(r"\)?\s*[.)]\s+[A-Za-z]", text[match.end() :]) and re.search(
            r"(?:^|\n)\s*\(?$", text[: match.start()]
        ):
            continue  # "1. First" and "2) Second" number a list
        value, other, end = _one(match, text)
        sign, start = _sign(text, match.start("num"))
        unit, stop = _with_unit(text, end)
        value *= sign
        reads.append(
            Read(
                start,
                stop,
                text[start:stop],
                value,
                unit.name,
                unit.dimension,
                value * unit.factor,
                bool(_APPROX.search(text[:start])),
                alternative=other,
                factor=unit.factor,
            )
        )
    reads += _spelt(text, [(r.start, r.end) for r in reads])
    reads.sort(key=lambda r: r.start)
    return tuple(_compound(text, _ranges(text, reads)))


def read_quantities(text: str) -> tuple[Read, ...]:
    """Every number in a text, in order, with its unit, value and offsets into that text."""
    folded = fold(text)
    out = []
    for read in read_folded(folded):
        start, end = folded.span(read.start, read.end)
        out.append(replace(read, start=start, end=end, text=text[start:end]))
    return tuple(out)
