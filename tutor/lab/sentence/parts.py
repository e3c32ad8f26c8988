"""What a sentence is read into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tutor.lab.quantities import BY_ID

OPEN: Final = "?"
"""What stands in the line for what the sentence does not say."""
NAMES: Final = {"ttft_s": "ttft", "itl_s": "itl", "tpot_s": "tpot", "e2e_s": "e2e", "queue_s": "queue",
                 "output_tokens_per_s": "tokens/s", "goodput": "goodput", "attainment": "attainment"}  # fmt: skip


class Change(NamedTuple):
    """A setting and its new value; `?` where it is not said."""

    path: str
    value: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One number and what is said of it, in the unit that it is shown in; what is not said is empty."""

    class_name: str
    quantity: str
    statistic: str
    relation: str = ""
    """at_most, at_least, within, lower, higher, lower_by, higher_by, lower_at_most, higher_at_most, steady."""
    amount: str = ""

    def in_words(self) -> str:
        """As a line has it."""
        of = BY_ID[self.quantity]
        name = " ".join(
            p for p in (self.class_name, NAMES[self.quantity], self.statistic if of.statistics else "") if p
        )
        amount, unit = self.amount or OPEN, "" if of.unit == "requests/s" else f" {of.unit}"
        match self.relation:
            case "at_most" | "at_least":
                return f"{name} {self.relation.replace('_', ' ')} {amount}{unit}"
            case "within":
                low, _, high = amount.partition(" to ")
                return f"{name} between {low} and {high}{unit}"
            case "lower" | "higher":
                return f"{name} {self.relation}"
            case "lower_by" | "higher_by":
                return f"{name} {self.relation.removesuffix('_by')} by {amount} %"
            case "lower_at_most" | "higher_at_most":
                return f"{name} {self.relation.removesuffix('_at_most')} by at most {amount} %"
            case _:
                return f"{name} at most {OPEN}{unit}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a sentence was read as."""

    line: str
    """To be confirmed; empty where the sentence claims nothing that can be tested."""
    changes: tuple[Change, ...] = ()
    statements: tuple[Statement, ...] = ()
    missing: tuple[str, ...] = ()
    """What has to be said before it can run, a clause each."""
    assumed: tuple[str, ...] = ()
    """What the sentence did not say and the line takes as usual."""
    unread: tuple[str, ...] = ()
    """Words of the sentence that say something and are not in the line."""
    source: str = "rules"
    """`rules`, or the name of the model that proposed it."""

    @property
    def complete(self) -> bool:
        """Whether it could run once it is confirmed."""
        return bool(self.line) and not self.missing and not self.unread


@dataclass
class Text:
    """The sentence, with what was understood blanked so that nothing is read twice."""

    text: str
    read: list[tuple[int, int]] = field(default_factory=list)
    """The stretches that a statement was made of."""

    def take(self, start: int, end: int) -> None:
        """Mark a stretch as read; it may be read again."""
        self.read.append((start, end))

    def taken(self, start: int, end: int) -> bool:
        """Whether any of a stretch was read."""
        return any(a < end and start < b for a, b in self.read)

    def blank(self, start: int, end: int) -> None:
        self.text = self.text[:start] + " " * (end - start) + self.text[end:]
