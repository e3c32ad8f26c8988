"""How a long fetch tells where it stands and learns that it shall stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from tutor.errors import TutorError


class Progress(NamedTuple):
    """Where a fetch stands; `bytes_done` never goes back within a stage."""

    stage: Literal["fetching", "checking", "done"]
    bytes_done: int
    bytes_total: int

    @property
    def share(self) -> float:
        """0 to 1."""
        return min(1.0, self.bytes_done / self.bytes_total) if self.bytes_total else 0.0


class Cancelled(TutorError):
    """The person stopped the fetch; what is complete is kept."""

    exit_code = 1

    def __init__(self) -> None:
        super().__init__("Stopped; what has arrived is kept.", hint="Run the command again to continue.")


Report = Callable[[Progress], None]
Stop = Callable[[], bool]


def silent(_: Progress) -> None:
    """Tell nobody."""


def never() -> bool:
    """Do not stop."""
    return False
