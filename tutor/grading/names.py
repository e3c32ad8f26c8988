"""Digits that are no quantity: versions, dates, addresses, ids, model and card names, list and step numbers."""

from __future__ import annotations

import re
from bisect import bisect_right

from tutor.grading.units import read_unit

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_VERSIONED = (
    r"python|cuda|cudnn|rocm|vllm|sglang|pytorch|torch|tensorrt(?:-llm)?|triton|ubuntu|linux|kernel|driver|transformers|"
    r"llama\.cpp|ollama|nccl|version|release|ver\.|http|ipv|usb|pcie(?: gen)?|nvlink|docker|numpy|ray|java|node\.js"
)
_MODEL = (
    r"llama|qwen|mi[sx]tral|mistral|gemma|phi|gpt|claude|deepseek|falcon|yi|opt|bloom|mpt|granite|command|olmo|"
    r"vicuna|codellama|starcoder"
)
_LABELLED = (
    r"section|sec\.|figure|fig\.|table|chapter|page|appendix|equation|eq\.|step|question|part|phase|option|case|level|"
    r"rfc|issue|bug|ticket|pr|pull request|item|exercise|note|line|id|request id|port|seed|pid|rank|attempt|lesson|"
    r"slide|stage|criterion|hypothesis|scenario|day|week|quarter|temperature|top[ _-]?[kp]|percentile|quantile|arxiv:?"
)
_INDEXED = r"token|request|user|replica|gpu|node|worker|layer|sequence|slot|block|run|trial|round|chunk|client|server"
_ADJECTIVE = r"bit|way|stage|gpu|node|core|layer|head|class|level|shot|step|tier|tuple|column|byte"
_UNIT_AHEAD = r"(?!\s?(?:[mnuμ]?s\b|%|tok|req|[KMGT]i?B\b|per\b|/|ms\b|sec|min|hour|milli))"
_NAMES = re.compile(
    rf"""
      (?P<url>\b(?:https?|grpc|file)://[^\s)>\]]+ | \b[\w.-]{{1,40}}@[\w.-]+\.\w+ | \blocalhost:\d+
        | \b\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d+)?\b)
    | (?P<date>\b\d{{4}}-\d{{2}}-\d{{2}}(?:[T\ ]\d{{2}}:\d{{2}}(?::\d{{2}})?Z?)?\b | \b\d{{1,2}}/\d{{1,2}}/\d{{4}}\b
        | \b\d{{1,2}}\.\d{{1,2}}\.(?:19|20)\d{{2}}\b | \b(?-i:{_MONTH})\s\d{{1,2}}(?:,\s\d{{4}})?\b{_UNIT_AHEAD}
        | \b\d{{1,2}}\s(?-i:{_MONTH})(?:\s\d{{4}})?(?!\w) | \bin\ (?:19|20)\d{{2}}\b)
    | (?P<clock>\b\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\s?[ap]m\b)?(?![\d(]|[.,]\d)(?!\s?(?:h|hours?|hrs?|min(?:utes?)?)\b))
    | (?P<version>\bv\d+(?:\.\d+)*\b | \b\d+\.\d{{1,2}}\.\d+(?:\.\d+)*(?:(?:rc|a|b|post|dev)\d+)?\b
        | \b\d+\.\d+\.\d{{1,2}}\b)
    | (?P<versioned>\b(?:{_VERSIONED})[\s/-]?\d+(?:\.\d+)*\b)
    | (?P<model>\b(?:{_MODEL})(?:[-\s]?\d+(?:\.\d+)*)?(?:[-\s]?\d+(?:x\d+)?(?:\.\d+)?b)?(?:-[A-Za-z][\w.-]*)?(?!\w)
        | (?<![\w.,*×+=/-])(?<![*×+=/]\s)(?-i:\d{{1,3}}(?:\.\d)?B)\b(?!\s?(?:/|per\b|an?\b|each\b|for\b|of\b|[*×+=])))
    | (?P<hyphened>\b(?=[\w.-]{{0,40}}[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+){{0,8}}-\d[\w.]*)
    | (?P<labelled>(?<![\w-])(?:{_LABELLED})\s?[:#=]?\s?\(?[A-Za-z]?\d+(?:\.\d+)*[a-z]?\)?(?![\w%]|[.,]\d){_UNIT_AHEAD})
    | (?P<indexed>(?<![\w-])(?:{_INDEXED})\s\#?\d+(?![.,/:]\d|[\w%]){_UNIT_AHEAD}(?!\s?(?:[=+*×/·-]|x\s?\d)))
    | (?P<hash>\#\d+\b) | (?P<cited>\[\d{{1,3}}\])
    | (?P<joined>(?<![\w.,])\d+-(?:{_ADJECTIVE})s?\b)
    | (?P<mm>\b[MDG]/[MDG]/\d+\b | \b24/7\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LIST_MARK = re.compile(r"(?m)^[ \t>*_#-]{0,8}\(?(?P<n>\d{1,2})[.)](?=[ \t*_]+\S)")
_INLINE_MARK = re.compile(r"(?:(?<=\s)|(?<=^)|(?<=[;,:]))(?:\((?P<n>\d)\)|(?P<m>\d)\))(?=\s+[^\s=+*×/-])")
_HEADING = re.compile(r"(?m)^#{1,6}[ \t]+(?P<n>\d{1,2}(?:\.\d{1,2})*)(?=[ \t]+[A-Za-z])")
_ATTRIBUTE = re.compile(r"(?<![\w.,])\d+-(?=(?!ish|odd|plus)[A-Za-z]{3,})")
_QUANTITY = re.compile(r"(?:ms|us|μs|ns|s|sec|seconds?|msec|milliseconds?|min|minutes?|h|%|x)$")


class Spans:
    """Stretches of text that do not overlap, asked by offset."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self.spans = sorted(spans)
        self._starts = [s for s, _ in self.spans]

    def covers(self, at: int) -> bool:
        """Whether an offset lies in one of them."""
        before = bisect_right(self._starts, at) - 1
        return any(s <= at < e for s, e in self.spans[max(0, before - 3) : before + 1])


def _measured(text: str, at: int) -> bool:
    """Whether a unit of measure follows: then the digits count something."""
    found = read_unit(text, at + (text[at : at + 1] in {" ", "\u00a0"}))
    return found is not None and found[0].dimension != "count"


def find_names(text: str) -> Spans:
    """Where digits of folded text name something instead of measuring it."""
    found = []
    for match in _NAMES.finditer(text):
        written = match.group(0)
        if match.lastgroup == "hyphened" and _QUANTITY.search(written):
            continue  # "TTFT-300ms" separates with a dash
        if match.lastgroup == "version" and re.fullmatch(r"\d{1,3}(?:\.\d{3})+", written):
            continue  # 1.050.000 is grouped
        if match.lastgroup in {"labelled", "indexed"} and _measured(text, match.end()):
            continue  # "the first token 300 msec in"
        if match.lastgroup == "model" and not any(c.isdigit() for c in written):
            continue
        found.append(match.span())
    found.extend(m.span() for m in _ATTRIBUTE.finditer(text) if read_unit(text, m.end()) is None)  # 500-case
    expected = {1}
    for match in _LIST_MARK.finditer(text):
        number = int(match["n"])
        if number in expected or number == 0:
            found.append((match.start("n"), match.end()))
            expected.add(number + 1)
    inline = list(_INLINE_MARK.finditer(text))
    order = [int(m["n"] or m["m"]) for m in inline]
    if len(order) > 1 and order == list(range(1, len(order) + 1)):
        found.extend(m.span() for m in inline)
    found.extend(m.span("n") for m in _HEADING.finditer(text))
    return Spans(found)
