"""A recorded trace as a part of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationInfo, model_validator

from sim.fields import Part, RequestCount, one_line, whole_number
from sim.traces.columns import TraceColumns
from sim.traces.layouts import Format
from sim.traces.rows import OnError
from sim.traces.trace import Trace

FOLDER = "folder"
"""Key of the validation context under which the folder of the scenario's file stands, as a Path."""


FileName = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(one_line)]


def folder_of(info: ValidationInfo) -> Path:
    """The folder of the scenario's file. Raises ValueError when the scenario comes from no file."""
    folder = (info.context or {}).get(FOLDER)
    if not isinstance(folder, Path):
        raise ValueError("a file can only be named in a scenario that is itself read from a file")
    return folder


class FromFile(Part):
    """A recorded trace in a file, whose path starts from the folder of the scenario's file.

    It is read together with the scenario. A scenario that comes from no file refuses it.
    """

    file: FileName
    format: Format = "auto"
    columns: TraceColumns | None = None
    """Of a CSV file or JSON lines in no known format."""
    limit: RequestCount | None = None
    """Read only the first rows of the file."""
    on_error: OnError = "refuse"
    """skip: leave broken rows out and count them."""
    spread: bool = True
    """Whether requests of a clock with steps of seconds are moved to random places inside the steps."""
    seed: Annotated[int, BeforeValidator(whole_number), Field(ge=0, le=2**63 - 1)] = 1
    """For the requests drawn from ServeGen's rates; the scenario's own seed does not change a recording."""
    _trace: Trace = PrivateAttr()

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        # The readers are needed by scenarios with recordings only.
        from sim.traces.reading import load_trace

        self._trace = load_trace(
            folder_of(info) / self.file,
            self.format,
            columns=self.columns,
            on_error=self.on_error,
            limit=self.limit,
            spread=self.spread,
            seed=self.seed,
            name=self.file,
        )
        return self

    @property
    def trace(self) -> Trace:
        """The requests of the file, as they were recorded."""
        return self._trace
