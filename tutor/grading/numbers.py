"""A reader of numbers with their units in prose: a pure function from text to what was written where.

It reads digits of any script, separators (1,050 · 1.050,5 · 1 050), powers of ten, "k", fractions, number
words, ranges, ± and ≈, LaTeX, and joins "1 s 50 ms"; digits that are part of a name are left out (`names`).
What a number is for (asserted, given, intermediate) is decided in `roles`; arithmetic is read in `chains`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tutor.grading.markup import plain
from tutor.grading.names import Spans, find_names
from tutor.grading.number_forms import COMPACT_TIME, FRACTION, NUMBER, RATIO, fraction, seconds, value_of
from tutor.grading.number_words import SPELT, is_part
from tutor.grading.number_words import value_of as spelt_value
from tutor.grading.text import Folded, fold
from tutor.grading.units import MONEY, Unit, price, read_unit

_APPROX = re.compile(
    r"(?:≈|~|\babout|\bapprox(?:imately|\.)?|\broughly|\baround|\bcirca|\bca\.|\bnearly|\balmost|\bsome|"
    r"\b(?:just|a (?:bit|little)|slightly) (?:over|under|above|below))"
    r"\s*(?:=\s*)?$",
    re.IGNORECASE,
)
_GLUE = re.compile(r"(?:[^\S\n]|[*`]{1,2}(?![\d(])|-(?=[a-zA-Z]))*")
_CELL = re.compile(r"[^\S\n]*\|[^\S\n]*(?=[^\s|]{1,12}[^\S\n]*\|)")
_EXPONENT = re.compile(r"(?:\^|\*\*)\s?[({]\s?$")
_JOINT = re.compile(r"[\s-]*")
_OF_A = re.compile(r"[\s-]*(?:of an? |an? )?")
_RANGE = re.compile(r"\s*(?:-|to|up to|\.\.\.?|through)\s*", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|from)\s+(?:about |roughly )?[≈~]?$", re.IGNORECASE)
_LIST = re.compile(r"\s*+(?:(?:,\s*+)?(?:and|or)(?: maybe| perhaps)?|/)\s*+[≈~]?", re.IGNORECASE)
_KEY_UNIT = re.compile(
    r"(?:[A-Za-z0-9]_(?P<key>ns|us|ms|s|sec|secs|seconds|min|mins|h|pct|percent|bytes|kib|mib|gib|tok_s|tok_per_s|"
    r"tokens_s|tokens_per_s|rps|qps|tps|req_s)[\"'\]]*\s*[:=]|[(\[](?P<noted>[A-Za-zμ%/]{1,9})[)\]][\"']?\s*[:=|])\s*$",
    re.IGNORECASE,
)
_KEYS = {"tok_s": "tps", "tok_per_s": "tps", "tokens_s": "tps", "tokens_per_s": "tps", "req_s": "rps", "kib": "KiB",
         "mib": "MiB", "gib": "GiB"}  # fmt: skip
_DIGIT = "one|two|three|four|five|six|seven|eight|nine"
_COUNT = (
    rf"(?:\d{{1,3}}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[ -](?:{_DIGIT}))?|{_DIGIT}|ten|eleven|"
    r"twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
)
_AND_A_HALF = re.compile(r"\b(?:an?|one|(?P<n>\d{1,3}))[ \u00a0](?P<unit>hours?|minutes?|seconds?) and a half\b", re.I)
_ONE_AND = re.compile(
    r"\b(?:an?|one)[ \u00a0](?P<unit>hour|minute|second)"
    r"(?=,? (?:and )?(?:\d+|[a-z]+(?:[ -][a-z]+)?) (?:minutes?|seconds?|milliseconds?|min|s|ms)\b)",
    re.IGNORECASE,
)
# "one dollar eighty-five", "$1 and 85 cents"
_COINS = re.compile(
    rf"(?P<whole>{_COUNT})[ -](?:dollars?|euros?|USD)(?:[ ,]+and)?[ -](?P<part>{_COUNT})(?: cents?)?\b"
    r"(?! (?:per cent|percent|%))",
    re.IGNORECASE,
)
_NONE = Unit("", "none", 1.0)
_PART = Unit("", "fraction", 1.0)
_WINDOW = 48


@dataclass(frozen=True)
class Read:
    """One number as written.

    `start`/`end` are offsets into the text that was read (its number and unit together). `canonical` is
    in the canonical unit of `dimension` (see `units`). `low`/`high` differ from `value` only for ranges.
    `alternative` is the other value where the separators allow two readings (1.050, 1,050 with a decimal
    comma), in the written unit. A fraction without a unit ("a quarter", 3/4) has the dimension "fraction".
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


def _read(text: str, start: int, end: int, value: float, unit: Unit, other: float | None = None) -> Read:
    return Read(
        start, end, text[start:end], value, unit.name, unit.dimension, value * unit.factor, alternative=other,
        factor=unit.factor, approx=bool(_APPROX.search(text[max(0, start - _WINDOW) : start])),
    )  # fmt: skip


def _sign(text: str, start: int, source: str, origin: tuple[int, ...], dashed: bool) -> tuple[float, int]:
    """A minus that belongs to the number, not one between two operands and not a list's dash."""
    if not start or text[start - 1] != "-":
        return 1.0, start
    before = text[max(0, start - _WINDOW) : start - 1].rstrip(" \u00a0")
    if re.search(r"[\w)%\]]$", text[max(0, start - 2) : start - 1]) or re.search(r"[\d)%]$", before):
        return 1.0, start
    line_start = not before or before.endswith("\n")
    if line_start and dashed and source[origin[start - 1]] == "-":
        return 1.0, start
    return -1.0, start - 1


def _with_unit(text: str, start: int, end: int) -> tuple[Unit, int]:
    """The unit after a number, in the next cell of a table, or in the name that the number is given to."""
    glue = _GLUE.match(text, end)
    at = glue.end() if glue else end
    if MONEY.search(text[max(0, start - 4) : start]):
        return price(text, end, Unit("$", "money", 1.0))
    found = read_unit(text, at)
    if found is None and (bracket := re.match(r"\s?\((?:in )?", text[end : end + 6])) is not None:
        inside = read_unit(text, end + bracket.end())
        if inside is not None and text[inside[1] : inside[1] + 1] in {")", ","} and inside[0].dimension != "count":
            found = inside  # "1.05 (seconds)"
    if found is None and (cell := _CELL.match(text, end)) is not None:
        found = read_unit(text, cell.end())
    if found is not None:
        return found
    key = _KEY_UNIT.search(text[max(0, start - _WINDOW) : start])
    if key:
        name = key["key"].lower() if key["key"] else key["noted"]
        named = read_unit(_KEYS.get(name, name), 0)
        if named is not None and named[1] == len(_KEYS.get(name, name)):
            return named[0], end
    return _NONE, end


def _spelt(text: str, taken: Spans) -> list[Read]:
    reads = []
    for match in SPELT.finditer(text):
        phrase = match.group(0)
        value = spelt_value(phrase)
        if value is None or taken.covers(match.start()):
            continue
        part = is_part(phrase)
        glue = (_OF_A if part else _JOINT).match(text, match.end())
        found = read_unit(text, glue.end()) if glue else None
        single = len(phrase.split()) == 1 and "-" not in phrase
        if found is None and single and value < 13 and not part:
            continue  # "one" and "two" alone are seldom numbers
        if found and found[0].dimension == "count" and (phrase.lower() == "one" or part):
            if not part:
                continue
            found = None  # "a quarter of the tokens" is a part, not a count of tokens
        unit, end = found or (_PART if part else _NONE, match.end())
        reads.append(replace(_read(text, match.start(), end, value, unit), spelt=True))
    return reads


def _joins_range(text: str, last: Read, read: Read) -> bool:
    between = text[last.end : read.start]
    before = text[max(0, last.start - _WINDOW) : last.start]
    opened = _BETWEEN.search(before)
    if not (_RANGE.fullmatch(between) or (opened and re.fullmatch(r"\s*and\s*", between))):
        return False
    if last.is_range or read.is_range or last.dimension not in {"none", read.dimension}:
        return False
    spoken = bool(re.search(r"[a-z]", between))
    if read.dimension == "none" and not spoken:
        return False
    scale = last.factor if last.dimension != "none" else read.factor
    if not 0 <= last.value * scale < read.canonical:
        return False
    if re.match(r"\s*[=≈]", text[read.end : read.end + 4]):
        return False
    if opened and opened.group(0).lower().startswith("from"):
        # "from 300 to 400 ms" tells of a change where something moves, else it is a range
        wide = bool(re.search(r"\b(?:anything|anywhere|somewhere|ranges?|ranging|values?) from\s*$", before))
        return (wide or "up to" in between) and not re.search(
            r"\b(?:goes|went|mov\w+|ris\w+|rose|grow\w*|jump\w*)\b", before
        )
    if re.search(r"(?:\b(?:from|by)|[=+*/·×(])\s*$", before[-12:], re.IGNORECASE) and not opened:
        return False
    return not re.search(r"[=+*/·×(-]\s*[\d.,]*$", text[max(0, last.start - 3) : last.start])


def _ranges(text: str, reads: list[Read]) -> list[Read]:
    """Joins "300-310 ms", "between 1 and 1.1 s" and "1050 ± 5 ms"; a difference such as 31-1 = 30 is left alone."""
    out: list[Read] = []
    for read in reads:
        last = out[-1] if out else None
        if last and re.fullmatch(r"\s*(?:±|\+/?-)\s*", text[last.end : read.start]):
            unit = Unit(read.unit, read.dimension, read.factor) if last.dimension == "none" else None
            whole = _read(text, last.start, read.end, last.value, unit) if unit else replace(
                last, end=read.end, text=text[last.start : read.end])  # fmt: skip
            out[-1] = replace(whole, approx=True)
        elif last and _joins_range(text, last, read):
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
            and re.fullmatch(r"[^\S\n]*(?:and\s+)?", text[last.end : read.start])
            and last.value == int(last.value)
        ):
            total = last.canonical + read.canonical
            out[-1] = replace(last, end=read.end, text=text[last.start : read.end], value=total / last.factor,
                              canonical=total, alternative=None)  # fmt: skip
        else:
            out.append(read)
    return out


_COMPARED = re.compile(r"\s*(?:(?P<more>more|longer|later|above|over)|less|shorter|below|under)(?:\s+than)?\s+", re.I)


def _compared(text: str, reads: list[Read]) -> list[Read]:
    """Joins "50 ms more than 1 s" into one value."""
    out: list[Read] = []
    for read in reads:
        last = out[-1] if out else None
        match = _COMPARED.fullmatch(text[last.end : read.start]) if last else None
        if last and match and last.dimension == read.dimension == "time" and not (last.is_range or read.is_range):
            total = read.canonical + (last.canonical if match["more"] else -last.canonical)
            out[-1] = replace(read, start=last.start, text=text[last.start : read.end], value=total / read.factor,
                              canonical=total, alternative=None)  # fmt: skip
        else:
            out.append(read)
    return out


def _broken(text: str, reads: list[Read]) -> list[Read]:
    """Two numbers with one space between and nothing else may be one with a slipped space: "10 50 ms"."""
    out: list[Read] = []
    for n, read in enumerate(reads):
        last = out[-1] if out else None
        alone = (n < 2 or text[reads[n - 2].end : reads[n - 1].start] != " ") and (
            n + 1 == len(reads) or text[read.end : reads[n + 1].start] != " "
        )
        if (
            last
            and alone
            and last.dimension == "none"
            and text[last.end : read.start] == " "
            and (whole := re.match(r"\d{1,4}", read.text))
            and re.fullmatch(r"\d{1,4}", last.text)
        ):
            joined = float(last.text + whole.group(0))
            out[-1] = replace(read, start=last.start, text=text[last.start : read.end], alternative=joined)
        else:
            out.append(read)
    return out


def _spread(text: str, reads: list[Read]) -> list[Read]:
    """Gives "300 and 1050 ms" and "15, 20 or 30 requests" the unit that stands once, at the end."""
    out = list(reads)
    listed = chosen = False
    for n in range(len(out) - 2, -1, -1):
        read, after = out[n], out[n + 1]
        between = text[read.end : after.start]
        if _LIST.fullmatch(between) and after.dimension != "none":
            listed, chosen = True, bool(re.search(r"\bor\b|/", between))
        elif between.strip() != ",":
            listed = False
        bare = read.dimension == "none" and not read.is_range and read.text[-1:] not in "kKM"
        counted = after.dimension == "count"
        if listed and bare and after.unit and after.dimension != "factor" and (chosen or not counted):
            out[n] = replace(read, unit=after.unit, dimension=after.dimension, factor=after.factor,
                             canonical=read.value * after.factor)  # fmt: skip
    return out


def _written(text: str, folded_source: str, origin: tuple[int, ...], names: Spans) -> list[Read]:
    reads: list[Read] = []
    spans: list[tuple[int, int]] = []
    for match in COMPACT_TIME.finditer(text):
        value, unit = seconds(match), Unit("s", "time", 1.0)
        reads.append(_read(text, match.start(), match.end(), value, unit))
        spans.append(match.span())
    for match in _AND_A_HALF.finditer(text):
        found = read_unit(text, match.start("unit"))
        if found:
            reads.append(_read(text, match.start(), match.end(), float(match["n"] or 1) + 0.5, found[0]))
            spans.append(match.span())
    for match in _ONE_AND.finditer(text):
        found = read_unit(text, match.start("unit"))
        if found:
            reads.append(_read(text, match.start(), match.end(), 1.0, found[0]))
            spans.append(match.span())
    for match in _COINS.finditer(text):
        parts = [float(p) if p.isdigit() else spelt_value(p) for p in (match["whole"], match["part"])]
        if parts[0] is not None and parts[1] is not None and parts[1] < 100:
            money, end = price(text, match.end(), Unit("$", "money", 1.0))
            reads.append(_read(text, match.start(), end, parts[0] + parts[1] / 100, money))
            spans.append((match.start(), end))
    for match in FRACTION.finditer(text):
        part = fraction(match)
        if part is None or names.covers(match.start("over")) or _EXPONENT.search(text[: match.start()][-4:]):
            continue
        glue = _OF_A.match(text, match.end())
        found = read_unit(text, glue.end()) if glue else None
        if found and (found[0].dimension == "count" or int(match["under"]) > 10):
            found = None
        unit, end = found or (_NONE if match["whole"] else _PART, match.end())
        reads.append(_read(text, match.start(), end, part, unit))
        spans.append((match.start(), match.end()))
    for match in RATIO.finditer(text):
        if not names.covers(match.start()):
            ratio = float(match["over"]) / float(match["under"])
            reads.append(_read(text, match.start(), match.end(), ratio, Unit("×", "factor", 1.0)))
            spans.append(match.span())
    taken = Spans(spans)
    reached = 0
    dashed = len(re.findall(r"(?m)^\s*-\s?[\w$*]", text)) > 1
    for match in NUMBER.finditer(text):
        at = match.start("num")
        if at < reached or names.covers(at) or taken.covers(at) or text[max(0, at - 2) : at] == "^-":
            continue
        after = text[match.end() : match.end() + 3]
        if re.match(r"(?![xX]\s?[\d(])[A-Za-z_]", after) and read_unit(text, match.end()) is None:
            continue  # 31st, 2nd, 4bit
        value, other = value_of(match)
        sign, start = _sign(text, at, folded_source, origin, dashed)
        unit, stop = _with_unit(text, at, match.end())
        if unit.dimension.startswith("money") and (mark := MONEY.search(text[max(0, start - 4) : start])):
            start -= len(mark.group(0))
        if unit is _NONE and re.match(r"'(?![\w'])", after) and "'" not in text[max(0, start - 2) : start]:
            unit, stop = Unit("min", "time", 60.0), match.end() + 1
        cross = re.search(r"(?<![\w)])(?<!\) )[×xX]\s?$", text[max(0, start - 4) : start])
        if unit is _NONE and cross and (not reached or text[reached : start - len(cross.group(0))].strip()):
            start -= len(cross.group(0))
            unit = Unit("×", "factor", 1.0)  # ×2.5
        reads.append(_read(text, start, stop, sign * value, unit, None if other is None else sign * other))
        spans.append((start, stop))
        reached = stop
    reads += _spelt(text, Spans(spans))
    reads.sort(key=lambda r: r.start)
    return reads


def read_folded(folded: Folded) -> tuple[Read, ...]:
    """As `read_quantities`, with offsets into the folded text, which should be `plain`."""
    text = folded.text
    reads = _written(text, folded.source, folded.origin, find_names(text))
    return tuple(_compared(text, _compound(text, _ranges(text, _spread(text, _broken(text, reads))))))


def read_quantities(text: str) -> tuple[Read, ...]:
    """Every number in a text, in order, with its unit, value and offsets into that text."""
    folded = plain(fold(text))
    out = []
    for read in read_folded(folded):
        start, end = folded.span(read.start, read.end)
        out.append(replace(read, start=start, end=end, text=text[start:end]))
    return tuple(out)
