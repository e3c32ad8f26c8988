"""What metrics read of a log: its columns, and the differences between them, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from sim.log import COMPLETED, Log
from sim.table import NONE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.gaps import Gaps
    from sim.table import Column


class Columns:
    """The lives of one log. Columns are copied out of the rows when they are first used."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.count = len(log.lives)
        self._columns: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        import numpy as np

        if name not in self._columns:
            self._columns[name] = np.ascontiguousarray(self.log.lives[name])
        return self._columns[name]

    @cached_property
    def gaps(self) -> Gaps:
        """Everything about the time between tokens."""
        from sim.gaps import Gaps

        return Gaps(self.log)

    @cached_property
    def longest_gaps(self) -> Column:
        """The longest gap of each request in ticks; NONE where it has none."""
        return self.gaps.longest()

    @cached_property
    def completed(self) -> NDArray[np.bool_]:
        """Which requests completed."""
        done: NDArray[np.bool_] = self["status"] == COMPLETED
        return done

    def rows_of(self, classes: Sequence[int]) -> Column:
        """Ids of the requests of these classes, rising."""
        import numpy as np

        if len(set(classes)) == len(self.log.scenario.classes):
            return np.arange(self.count, dtype=np.int64)
        return np.flatnonzero(np.isin(self["class_index"], classes))

    def mask(self, rows: Column) -> NDArray[np.bool_]:
        """The same choice as one truth value a request."""
        import numpy as np

        chosen = np.zeros(self.count, dtype=bool)
        chosen[rows] = True
        return chosen

    def between(self, start: str, end: str, rows: Column) -> Column:
        """Ticks from one moment to another, of the requests among `rows` that have both."""
        begun, over = self[start][rows], self[end][rows]
        both = (begun != NONE) & (over != NONE)
        spans: Column = over[both] - begun[both]
        return spans

    def prefill(self, rows: Column) -> Column:
        """Ticks from the first step to the first token leaving the server, of those that have both."""
        begun, seen = self["scheduled"][rows], self["first_token"][rows]
        both = (begun != NONE) & (seen != NONE)
        spans: Column = seen[both] - self["transport"][rows][both] - begun[both]
        return spans

    def decoded(self, rows: Column) -> tuple[Column, Column, Column]:
        """Completed requests with more than one token: which, first to last token, and tokens after the first."""
        several = rows[self.completed[rows] & (self["output_tokens"][rows] > 1)]
        return (
            several,
            self["last_token"][several] - self["first_token"][several],
            self["output_tokens"][several] - 1,
        )

    def tpot(self, rows: Column) -> NDArray[np.float64]:
        """Ticks per token after the first, of the completed requests among `rows` that have such tokens."""
        _, spans, after_first = self.decoded(rows)
        per_token: NDArray[np.float64] = spans / after_first
        return per_token
