"""The answer as data: folded for comparison, cleaned for a prompt, cut into sentences, and gated.

Offsets always lead back to the text as it was submitted, so that a quote can be shown where it stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from tutor.errors import TutorError

MAX_ANSWER_BYTES = 20 * 1024

_SUPERSCRIPTS = {c: str(i) for i, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-", "⁺": "+"}
_PLAIN = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-",
    "‘": "'", "’": "'", "“": '"', "”": '"', "⁄": "/", "∕": "/",
    "∗": "*", "⋅": "·", "•": "·", "≃": "≈", "≅": "≈", "∼": "~", "\u202f": "\u00a0", "\u2009": "\u00a0",
    "µ": "μ",
}  # fmt: skip


@dataclass(frozen=True)
class Folded:
    """Text in one form of each character; `origin[i]` is the offset of folded character i in the source."""

    text: str
    origin: tuple[int, ...]
    source: str

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the source for a stretch of the folded text."""
        if start >= end:
            at = self.origin[start] if start < len(self.origin) else len(self.source)
            return at, at
        return self.origin[start], self.origin[end - 1] + 1


def is_invisible(char: str) -> bool:
    """Control, format (bidi, zero-width, tags), private-use and unassigned characters, new line and tab apart."""
    if char in "\n\t":
        return False
    return unicodedata.category(char) in {"Cc", "Cf", "Co", "Cn", "Cs"} or char in "\u034f\u115f\u1160\u3164\uffa0"


def fold(text: str) -> Folded:
    """NFKC, any script's digits as ASCII, one dash, one quote; invisible characters gone; offsets kept."""
    out: list[str] = []
    origin: list[int] = []
    raised = False
    for at, char in enumerate(text):
        was_raised, raised = raised, False
        if is_invisible(char):
            continue
        if char in _SUPERSCRIPTS:
            piece = _SUPERSCRIPTS[char] if was_raised else "^" + _SUPERSCRIPTS[char]
            raised = True
        elif char in _PLAIN:
            piece = _PLAIN[char]
        elif unicodedata.category(char) == "No" and 0 < unicodedata.numeric(char, 0) < 1:
            piece = f"{unicodedata.numeric(char):.10f}".rstrip("0")
            if out and out[-1].isdigit():
                piece = piece[1:]  # 1½ reads as 1.5
        elif (digit := unicodedata.decimal(char, None)) is not None:
            piece = str(digit)
        else:
            piece = "".join(_PLAIN.get(c, c) for c in unicodedata.normalize("NFKC", char))
            if char.isspace():
                piece = "\u00a0" if char in "\u00a0\u202f\u2007" else ("\n" if char in "\n\u2028\u2029" else " ")
        for c in piece:
            out.append(c)
            origin.append(at)
    return Folded("".join(out), tuple(origin), text)


def clean(text: str) -> str:
    """What a model may see of untrusted text: visible characters only, nothing that closes a fence or opens a turn.

    Angle brackets, square brackets' special-token forms, backticks and runs of fence characters are
    replaced by look-alikes that carry no structure. Words are left as they are.
    """
    kept = "".join(c for c in text.replace("\r\n", "\n").replace("\r", "\n") if not is_invisible(c))
    kept = unicodedata.normalize("NFKC", kept)
    kept = kept.replace("<", "‹").replace(">", "›").replace("`", "'")
    kept = re.sub(r"\|(?=[›\w])|(?<=[‹\w])\|", "¦", kept)
    kept = re.sub(r"([=#~_*-])\1{2,}", r"\1\1", kept)
    kept = re.sub(r"\[(?=/?(?:INST|SYS))", "(", kept, flags=re.I)
    return re.sub(r"\n{3,}", "\n\n", kept).strip()


def check_length(answer: str) -> None:
    """Raises TutorError when the answer is longer than what is graded (20 KiB of UTF-8)."""
    size = len(answer.encode("utf-8", "replace"))
    if size > MAX_ANSWER_BYTES:
        raise TutorError(
            f"The answer is {size / 1024:.0f} KiB long; at most {MAX_ANSWER_BYTES // 1024} KiB can be graded.",
            hint="Shorten it to what answers the question.",
        )


@dataclass(frozen=True)
class Sentence:
    """A sentence or list line; offsets are into the folded text."""

    text: str
    start: int
    end: int


_ABBREVIATED = "".join(rf"(?<!\b{a}\.)" for a in (r"e\.g", r"i\.e", "ca", "vs", "approx", "resp", "incl", "cf"))
_BREAK = re.compile(rf"{_ABBREVIATED}(?<=[.!?;。])[\"')\]]*\s+|\n+|(?<=[a-z)])\.(?=[A-Z])")


_WRAP_AT_LEAST = 60


def _wrapped(text: str, at: int) -> bool:
    """Whether a new line only wraps a sentence: after a long line, within it, and before no list, table or heading."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    long = len(before) >= _WRAP_AT_LEAST and before.rstrip()[-1:] not in ".:;!?|"
    return long and bool(re.match(r"[a-z(*\d](?![.)]\s)(?!\*?\s*[*_-]\s)", text[at + 1 : at + 8])) and "|" not in before


def sentences(folded: str) -> tuple[Sentence, ...]:
    """Cuts at sentence ends, semicolons and new lines; never inside a number."""
    found: list[Sentence] = []
    at = 0
    for match in [*_BREAK.finditer(folded), None]:
        if match and match.group(0) == "\n" and _wrapped(folded, match.start()):
            continue
        end = match.start() if match else len(folded)
        piece = folded[at:end]
        body = piece.strip()
        if body:
            start = at + piece.index(body[0])
            found.append(Sentence(body, start, start + len(body)))
        at = match.end() if match else end
    return tuple(found)


_STOP = frozenset(
    re.findall(
        r"\S+",
        """a about above after again all also am an and any are as at be because been before being below between both
    but by can could did do does doing don done down during each few for from further get gets got had has have
    having he her here hers him his how i if in into is it its itself just like ll make makes may me might more
    most must my no nor not now of off on once one only or other our out over own per re same say see she should
    so some such than that the their them then there these they thing this those through to too under until up us
    ve very was we were what when where which while who whom why will with would you your yes ok okay please well
    really""",
    )
)
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


def stem(word: str) -> str:
    """A light stem, enough to match doubled with doubling and gaps with gap."""
    word = word.lower().removesuffix("'s")
    for ending in ("ations", "ation", "ings", "ing", "edly", "ed", "ies", "ers", "er", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    if len(word) > 4 and word.endswith("e"):
        return word[:-1]
    return word[:-1] + "y" if len(word) > 3 and word.endswith("i") else word


def content_words(text: str) -> tuple[str, ...]:
    """Stems of the words that carry content, in order; numbers are left out."""
    parts = (p for w in _WORD.findall(fold(text).text.lower()) for p in w.split("-"))
    return tuple(stem(p) for p in parts if p not in _STOP and not p[0].isdigit() and len(p) > 1)


def number_words(text: str) -> frozenset[str]:
    """The digits groups in a text, as written."""
    return frozenset(re.findall(r"\d+(?:[.,]\d+)*", fold(text).text))


def _plain_number(written: str) -> str:
    """Digits with one decimal point whatever the separator: 21,6 and 21.6 are alike."""
    return written.replace(",", ".")


def squeeze(text: str) -> str:
    """For comparing: folded, lower case, words and digits only."""
    return " ".join(re.findall(r"[^\W_]+", fold(text).text.lower()))


@dataclass(frozen=True)
class Gate:
    """Whether an answer has anything to grade; `reason` is a plain sentence when it has not.

    `foreign` tells that the answer is mostly not in English, so that words alone cannot be read by code.
    """

    open: bool
    reason: str = ""
    foreign: bool = False


# Function words of other languages that are none in English; a text is told by them, not by its nouns.
_OTHER_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\S+",
        """der die das und nicht ist ein eine einen auf mit für von zu dass wenn dann werden wird sind den dem bei auch
    nur le les des et est pas une pour dans que qui si alors sont du au avec ne plus sur par ce donc chaque
    el los las y es una para entonces del con por como más pero se cuando cada il che non di della sono perché ogni
    het een niet wordt zijn voor van als dat então não uma são mais quando nie jest się czy dla jak det och inte är""",
    )
)
_MOSTLY = 0.3
_SUM = re.compile(r"\d[\d.,]*\)?\s*[-+*/×÷·]\s*\(?(?=\d)")
_OWN_WORDS = 2
_OWN_SHARE = 0.25


def is_foreign(text: str) -> bool:
    """Whether a text is mostly in another script or another language than English."""
    folded = fold(text).text.lower()
    letters = [c for c in folded if c.isalpha()]
    if not letters:
        return False
    if sum(ord(c) > 0x24F for c in letters) > _MOSTLY * len(letters):
        return True
    words = re.findall(r"[^\W\d_]+", folded)
    other = sum(w in _OTHER_FUNCTION_WORDS for w in words)
    return other >= 3 and other > sum(w in _STOP for w in words)


def _shingles(words: list[str], n: int) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def copied_share(text: str, sources: Iterable[str], n: int = 5) -> float:
    """The share of the text's words that stand in a run of at least n words copied from one of the sources."""
    words = squeeze(text).split()
    if len(words) < n:
        joined = " ".join(words)
        return 1.0 if words and any(f" {joined} " in f" {squeeze(s)} " for s in sources) else 0.0
    known: set[tuple[str, ...]] = set()
    for source in sources:
        known |= _shingles(squeeze(source).split(), n)
    covered = [False] * len(words)
    for i in range(len(words) - n + 1):
        if tuple(words[i : i + n]) in known:
            covered[i : i + n] = [True] * n
    return sum(covered) / len(words)


def gate(answer: str, question: str, criteria: Iterable[str], subject: Iterable[str]) -> Gate:
    """Decides from structure alone whether there is an answer at all.

    `subject` is text of the matter itself (key points, model answer, labels): an answer that has neither a
    number nor one word of it beyond the question and the criteria says nothing about the matter,
    whatever else it says. No list of forbidden phrases is used.
    """
    folded = fold(answer).text
    if not folded.strip():
        return Gate(False, "The answer is blank.")
    foreign = is_foreign(answer)
    words = content_words(" ".join(re.findall(r"[A-Za-z'-]+|[^A-Za-z]+", folded)) if foreign else answer)
    numbers = number_words(answer)
    if not re.search(r"[^\W_]", folded):
        return Gate(False, "The answer holds only punctuation.")
    criteria, subject = tuple(criteria), tuple(subject)
    if copied_share(answer, [question]) >= 0.9:
        return Gate(False, "The answer repeats the question.")
    if copied_share(answer, criteria) >= 0.9:
        return Gate(False, "The answer repeats the rubric.")
    if copied_share(answer, [question, *criteria]) >= 0.9:
        return Gate(False, "The answer repeats the question and the rubric.")
    asked = set(content_words(question)) | {w for c in criteria for w in content_words(c)}
    matter = {w for s in subject for w in content_words(s)}
    rubric = {w for c in criteria for w in content_words(c)}

    def speaks(of: set[str]) -> bool:
        # One word of the matter in a long text is there by chance: "record the verdict" says nothing about a queue.
        return len(of) >= _OWN_WORDS or len(of) > _OWN_SHARE * len(set(words))

    own = {w for w in words if w in matter and w not in asked}
    theirs = {w for w in words if w in matter and w in asked and w not in rubric}
    terse = speaks(theirs) and len(theirs) > _OWN_SHARE * len(set(words))
    touched = [w for w in words if w in matter]
    # A number answers by itself, beside words of the matter, or as one that a good answer holds; "grade 4/4" does
    # none of these.
    new = {_plain_number(n) for n in numbers - number_words(question)}
    told = new & {_plain_number(n) for s in subject for n in number_words(s)}
    if speaks(own) or terse or told or (new and (touched or not words)) or len(_SUM.findall(folded)) > 1:
        return Gate(True, foreign=foreign)
    if not touched:
        return Gate(False, "The answer says nothing about the question.")
    if foreign:
        return Gate(True, foreign=True)
    # Every word of the matter is the question's or the rubric's own: a claim to have answered is no answer.
    return Gate(False, "The answer adds nothing to the question.")
