"""The one exception a caller of this package has to expect from bad input."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ScenarioError(ValueError):
    """A scenario, or a question asked of a result, that cannot be used.

    `str(error)` is one sentence naming the source, the field and the remedy; it never holds a traceback.
    """

    line: int | None = None
    """Line of the scenario text, counted from 1, where the mistake stands; None when it has none."""
    location: tuple[int | str, ...] = ()
    """Keys and places that lead to the field; empty when it is about no field."""


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` when a known name is close to `name`, else the empty string."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
