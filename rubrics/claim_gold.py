"""The labelled sentences in `gold/claims.jsonl`: what each claims about a scenario, if anything.

The format is described in `gold/README.md`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubrics.number_gold import GOLD_DIR, GoldError


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class ClaimedStatement(_Frozen):
    """One number and what is said of it; None where the sentence does not say."""

    class_name: str = Field(alias="class")
    quantity: str
    statistic: str | None
    relation: Literal[
        "at_most", "at_least", "within", "lower", "higher", "lower_by", "higher_by", "lower_at_most", "higher_at_most",
        "steady",
    ]  # fmt: skip
    amount: str | None
    """In the unit that the quantity is shown in, or per cent of change; "30 to 50" for a range."""


class ClaimSentence(_Frozen):
    """One labelled sentence; without statements it claims nothing that can be tested."""

    id: str
    scenario: str
    """The built-in scenario that it is about."""
    sentence: str
    changes: tuple[tuple[str, str | None], ...]
    """Path and new value; None where the value is left open."""
    statements: tuple[ClaimedStatement, ...]
    held_out: bool
    """The reader of sentences is changed by what it gets wrong in the other half only."""


def load_claim_gold(folder: Path = GOLD_DIR) -> tuple[ClaimSentence, ...]:
    """All of them. Raises GoldError naming file and line."""
    path = folder / "claims.jsonl"
    found: list[ClaimSentence] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            found.append(ClaimSentence.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "the line"
            raise GoldError(f"{path.name}, line {number}, {field}: {first['msg']}") from None
    return tuple(found)
