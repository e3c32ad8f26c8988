"""How near an answer's sentences come in meaning to what earns a point, beyond what does not earn it.

A cosine alone says that a sentence is about the matter, which sentences of every criterion are. So from the nearness
to the point's statement, example and key points, half the nearness to its nearly-met example and half that to the
item's other criteria are taken; and what remains is read from the middle between the item's own two examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from question_bank.question import Question
from rubrics import CriterionId

_SCALE = 3.0
"""Brings the differences of cosines, some tenths, to the size of the other measures."""
_MOST = 80
"""Sentences read at most; an answer of that length has made its points."""
_NOTHING = -1.5
_COMPARED: tuple[CriterionId, ...] = ("reasoning", "failure", "verification")


class SentenceEncoder(Protocol):
    """What turns sentences into vectors of length one, a row each."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def likeness(
    encoder: SentenceEncoder, question: Question, criterion: CriterionId, sentences: Sequence[tuple[int, str]]
) -> float:
    """The best sentence or pair of neighbours; `sentences` are (place in the answer, text). From about -1.5 to 1.5."""
    kept = list(sentences[:_MOST])
    pairs = [f"{a} {b}" for (m, a), (n, b) in pairwise(kept) if n == m + 1]
    texts = [text for _, text in kept] + pairs
    if not texts:
        return _NOTHING
    guide = question.criteria[criterion]
    best = float(_contrast(encoder, question, criterion, texts).max())
    met = float(_contrast(encoder, question, criterion, [guide.statement, guide.met_example]).mean())
    if criterion == "reasoning":
        return max(_NOTHING, min(-_NOTHING, _SCALE * (best - 0.5 * met)))
    nearly = float(_contrast(encoder, question, criterion, [guide.nearly_example])[0]) if guide.nearly_example else 0.0
    return max(_NOTHING, min(-_NOTHING, _SCALE * (best - 0.5 * (met + nearly))))


def _contrast(
    encoder: SentenceEncoder, question: Question, criterion: CriterionId, texts: Sequence[str]
) -> NDArray[np.float32]:
    vectors = encoder.encode(texts)

    def nearest(references: Sequence[str]) -> NDArray[np.float32]:
        given = [r for r in references if r.strip()]
        if not given:
            return np.zeros(len(vectors), np.float32)
        out: NDArray[np.float32] = (vectors @ encoder.encode(given).T).max(axis=1)
        return out

    guide = question.criteria[criterion]
    point = (nearest([guide.statement]) + nearest([guide.met_example]) + nearest(guide.key_points)) / np.float32(3)
    others = [
        np.maximum(nearest([g.statement]), nearest([g.met_example]))
        for c, g in question.criteria.items() if c != criterion and c in _COMPARED
    ]  # fmt: skip
    other: NDArray[np.float32] = np.max([*others, np.zeros(len(vectors), np.float32)], axis=0)
    # A nearly-met reason is mostly right and only thin, so that being like it does not speak against a reason.
    nearly = nearest([guide.nearly_example, *guide.not_enough]) if criterion != "reasoning" else np.zeros_like(other)
    out: NDArray[np.float32] = (point - nearly / 2 - other / 2).astype(np.float32)
    return out
