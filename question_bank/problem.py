"""What a check reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: the id of the lesson or item, a short code and a sentence saying what is wrong."""

    where: str
    code: str
    message: str
    place: str = ""
    """`file:line` of the lesson or item, where known."""

    def __str__(self) -> str:
        return f"{self.place + ': ' if self.place else ''}{self.where}: {self.message} [{self.code}]"
