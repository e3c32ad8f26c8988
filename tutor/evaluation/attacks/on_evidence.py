"""Attacks on the evidence itself: the right words without the claim that they should make."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Final

from question_bank import Question
from rubrics import CRITERION_IDS, CriterionId
from tutor.evaluation.attacks.words import pick
from tutor.grading.text import content_words

Text = tuple[str, CriterionId | None]
"""A string, and the criterion that it must not earn (None: none at all)."""
Maker = Callable[[random.Random, Question], tuple[Text, ...]]

_CUES: Final = (
    "because", "therefore", "so", "if", "wrong", "measure", "record", "log", "compare", "refute", "disprove", "rises",
    "falls", "stays", "same", "unchanged", "slower", "longer", "would", "since", "each", "per", "then", "not", "p99",
    "trace", "only", "while", "leads to", "adds", "drops", "higher", "lower",
)  # fmt: skip
_TURN: Final = {
    "rises": "falls", "rise": "fall", "falls": "rises", "fall": "rise", "higher": "lower", "lower": "higher",
    "more": "less", "less": "more", "fewer": "more", "longer": "shorter", "shorter": "longer", "faster": "slower",
    "slower": "faster", "adds": "takes away", "grows": "shrinks", "grow": "shrink", "shrinks": "grows",
    "increases": "decreases", "decreases": "increases", "increase": "decrease", "drops": "rises", "drop": "rise",
    "stay": "change", "stays": "changes", "unchanged": "changed", "above": "below", "below": "above",
    "before": "after", "after": "before", "up": "down", "down": "up", "earlier": "later", "later": "earlier",
    "worse": "better", "better": "worse", "larger": "smaller", "smaller": "larger", "helps": "hurts",
    "hurts": "helps", "gains": "loses", "loses": "gains", "improves": "worsens", "most": "least", "all": "none",
    "always": "never", "never": "always", "idle": "busy", "busy": "idle", "cheaper": "dearer", "first": "last",
    "last": "first", "doubles": "halves", "needs": "does not need", "raises": "lowers", "lowers": "raises",
    "raised": "lowered", "lowered": "raised", "wrong": "right", "cannot": "can", "does": "does not", "is": "is not",
    "are": "are not", "was": "was not", "were": "were not",
}  # fmt: skip
_STRONG_TURNS: Final = frozenset(_TURN) - {
    "is",
    "are",
    "was",
    "were",
    "does",
    "before",
    "after",
    "all",
    "first",
    "last",
}
_TEMPLATES: Final = (
    "The {0} measures the {1} because every {2} stays with the {3}, so the {4} is wrong if the {5} rises.",
    "Since {0} is longer than {1}, the {2} adds a {3} per {4} and therefore leaves {5} unchanged.",
    "If a {0} drops while the {1} grows, then the {2} compares {3} with {4}, which means that {5} holds.",
    "Each {0} follows from the {1}; thus the {2} becomes slower than its {3}, and {4} would refute the {5}.",
    "One records {0} against {1}, as {2} leads to {3}, and {4} is then the same as {5}.",
    "When {0} was measured, {1} had to stay, because {2} is what {3} does to {4} before {5}.",
)
_FILLER: Final = {
    "result": ("It is what the calculation gives.", "The value comes out as expected.", "The number is the right one."),
    "reasoning": ("It follows because each step leads to the next one.", "The parts are put together, so it holds.",
                  "One thing causes the other, which is why."),
    "failure": ("It gets worse for some and stays the same for others.", "When it fails, things change.",
                "Somebody is hurt and something else is not."),
    "verification": ("I would measure it, and if it is different, I am wrong.", "A test would show whether it holds.",
                     "Look at the data; if they disagree, drop it."),
}  # fmt: skip


def _terms(question: Question) -> list[str]:
    texts = [t for g in question.criteria.values() for t in (g.statement, *g.key_points)]
    found = (w for t in texts for w in re.findall(r"[A-Za-z][A-Za-z-]{3,}", t))
    return list(dict.fromkeys(w.lower() for w in found if w.lower() not in _TURN and content_words(w)))


def _salad(r: random.Random, q: Question) -> tuple[Text, ...]:
    terms = _terms(q)

    def mixed(cues: int, words: int) -> str:
        both = [*r.sample(_CUES, cues), *r.sample(terms, min(words, len(terms)))]
        r.shuffle(both)
        return " ".join(both)

    return (
        (mixed(20, 0), None), (mixed(15, 10), None), (", ".join(mixed(12, 12).split()), None),
        (mixed(10, 20).capitalize() + ".", None), (". ".join(mixed(12, 12).split()) + ".", None),
        (f"I measure because if {mixed(8, 14)} then wrong.", None),
        ("\n".join(mixed(16, 8).split()), None), (f"{mixed(6, 8)}; {mixed(6, 8)}; {mixed(6, 8)}", None),
    )  # fmt: skip


def _listed(r: random.Random, q: Question) -> tuple[Text, ...]:
    terms = _terms(q)
    r.shuffle(terms)
    points = [p for g in q.criteria.values() for p in g.key_points]
    nouns = [" ".join(re.findall(r"[A-Za-z-]{4,}", p)[:3]) for p in points]
    return (
        (", ".join(terms), None),
        ("The terms are: " + ", ".join(terms[:20]) + ".", None),
        ("It is about " + ", ".join(terms[:12]) + " and " + " and ".join(terms[12:16]) + ".", None),
        ("\n".join(f"* {t}" for t in terms[:25]), None),
        ("This involves " + ", ".join(n for n in nouns if n) + ".", None),
        ("One has to consider " + ", ".join(terms[:9]) + ", because all of these matter.", None),
        ("Relevant: " + "; ".join(terms[:18]), None),
        ("I know about " + ", ".join(terms[:8]) + ", and I would measure " + ", ".join(terms[8:14]) + ".", None),
    )


def _numbers(r: random.Random, q: Question) -> tuple[Text, ...]:
    texts = [q.prompt, q.reference, *(g.statement for g in q.criteria.values())]
    found = list(dict.fromkeys(n for t in texts for n in re.findall(r"\d[\d,]*(?:\.\d+)?(?:\s?(?:ms|s|%|GB)\b)?", t)))
    slips = [f"{s.value:.4g} {s.unit}" for s in q.slips]
    every = [*found, *slips]
    while len(every) < 6:
        every.append(str(r.randrange(2, 900)))
    r.shuffle(every)
    return (
        (" ".join(every), None), (", ".join(every), None), ("\n".join(every), None),
        ("Numbers that occur here: " + ", ".join(every) + ".", None),
        ("| " + " | ".join(every) + " |", None),
        ("; ".join(every) + "; …", None),
        ("Somewhere among " + ", ".join(every) + " the answer is to be found.", None),
        (" / ".join(every), None),
    )  # fmt: skip


def _filled_headings(r: random.Random, _: Question) -> tuple[Text, ...]:
    def filled(form: str) -> str:
        return "\n".join(form.format(c.capitalize(), pick(r, _FILLER[c])) for c in CRITERION_IDS)

    return tuple(
        (filled(form), None)
        for form in (
            "## {}\n{}",
            "{}: {}",
            "**{}** {}",
            "- {}: {}",
            "1. {} – {}",
            "{}\n\n{}\n",
            "As to {}: {}",
            "{} = {}",
        )
    )


def turned(sentence: str) -> str | None:
    """A sentence with its direction reversed; None where it has none to reverse."""
    words = re.findall(r"\w+", sentence.lower())
    strong = [w for w in words if w in _STRONG_TURNS]
    turns = set(strong) or {w for w in words if w in {"is", "are", "does", "was", "were"}}
    if not turns:
        return None
    one = None if strong else next(iter(sorted(turns)))

    def swap(match: re.Match[str]) -> str:
        word = match.group(0)
        if word.lower() not in turns or (one and word.lower() != one):
            return word
        other = _TURN[word.lower()]
        return other.capitalize() if word[:1].isupper() else other

    return re.sub(r"\w+", swap, sentence, count=0)


def _reversed(_: random.Random, q: Question) -> tuple[Text, ...]:
    found: list[Text] = []
    for criterion in ("failure", "verification"):
        guide = q.criteria[criterion]
        for sentence in (guide.statement, guide.met_example):
            other = turned(sentence)
            if other and other != sentence:
                found.append((other, criterion))
    return tuple(found)


def _denied(r: random.Random, q: Question) -> tuple[Text, ...]:
    found: list[Text] = []
    for criterion in ("reasoning", "failure"):
        statement = q.criteria[criterion].statement.rstrip(".")
        inner = statement[0].lower() + statement[1:]
        found += [
            (f"It is not true that {inner}.", criterion),
            (f"Somebody might claim that {inner}, which is wrong.", criterion),
            (f"Is it perhaps so that {inner}? I cannot say.", criterion),
            (f"I do not believe that {inner}.", criterion),
        ]
    r.shuffle(found)
    return tuple(found)


def _nonsense(r: random.Random, q: Question) -> tuple[Text, ...]:
    terms = _terms(q)
    found: list[Text] = []
    for _ in range(8):
        sentences = []
        for _ in range(r.randrange(1, 4)):
            words = r.sample(terms, min(6, len(terms)))
            words += ["thing"] * (6 - len(words))
            sentences.append(pick(r, _TEMPLATES).format(*words))
        found.append((" ".join(sentences), None))
    return tuple(found)


def _shuffled(r: random.Random, q: Question) -> tuple[Text, ...]:
    found: list[Text] = []
    for criterion in CRITERION_IDS[1:]:
        words = q.criteria[criterion].statement.rstrip(".").split()
        r.shuffle(words)
        found.append((" ".join(words) + ".", None))
        found.append((" ".join(reversed(q.criteria[criterion].met_example.rstrip(".").split())) + ".", None))
    return tuple(found)


EVIDENCE_PATTERNS: Final[tuple[tuple[str, Maker], ...]] = (
    ("cue-word salad", _salad), ("key terms in a list", _listed), ("numbers without a claim", _numbers),
    ("headings with filler", _filled_headings), ("direction reversed", _reversed), ("denied or asked", _denied),
    ("nonsense in good grammar", _nonsense), ("words of the reference shuffled", _shuffled),
)  # fmt: skip
"""Name and generator of each attack on the evidence."""

CONTRADICTING: Final = frozenset({"direction reversed", "denied or asked", "numbers without a claim"})
"""Those that say the opposite, or other values: beside a right answer they may rightly cost a point."""
