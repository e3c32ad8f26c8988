"""Columns of whole numbers that grow row by row: cheap to fill in a hot loop, NumPy arrays to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Column: TypeAlias = "NDArray[np.int64]"

NONE = -1
"""Stands in a column for a moment that never came."""


class Table:
    """Rows of 64-bit whole numbers under fixed names. `table["name"]` is a column, in the order of adding.

    A row takes 8 bytes a column; nothing is kept as Python objects.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._position = {name: index for index, name in enumerate(self.names)}
        self._pack = Struct(f"{len(self.names)}q").pack
        self._data = bytearray()

    @classmethod
    def of(cls, names: Sequence[str], count: int, columns: Iterable[Column]) -> Table:
        """A table of `count` rows from whole columns, taken one after the other in the order of `names`."""
        import numpy as np

        table = cls(names)
        # Filled in place: for a million rows each further copy would be hundreds of megabytes.
        table._data = bytearray(8 * len(table.names) * count)
        view = np.frombuffer(table._data, dtype=np.int64).reshape(count, len(table.names))
        for position, column in zip(range(len(table.names)), columns, strict=True):
            view[:, position] = column
        return table

    def extend(self, other: Table) -> None:
        """Append all rows of a table with the same columns."""
        self._data += other._data

    def add(self, *row: int) -> None:
        """Append one row, a value a column. Raises struct.error for a wrong count or a value beyond 64 bits."""
        self._data += self._pack(*row)

    def __len__(self) -> int:
        return len(self._data) // (8 * len(self.names))

    def __getitem__(self, name: str) -> Column:
        """The column called `name`; a view, so rows may not be added while it is in use."""
        column: Column = self.rows()[:, self._position[name]]
        return column

    def rows(self) -> Column:
        """All rows as a two-dimensional view."""
        import numpy as np

        return np.frombuffer(self._data, dtype=np.int64).reshape(-1, len(self.names))

    def sort(self, name: str) -> None:
        """Order the rows by a column, rows with equal values as they were."""
        import numpy as np

        rows = self.rows()
        column = rows[:, self._position[name]]
        if len(rows) > 1 and (np.diff(column) < 0).any():
            self._data = bytearray(rows[np.argsort(column, kind="stable")].data)
