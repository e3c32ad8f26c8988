"""The columns of a table of one's own, as a scenario or the command line names them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sim.fields import Part
from sim.traces.layouts import Layout
from sim.traces.rows import Unit

ColumnName = Annotated[str, Field(min_length=1, max_length=200)]


class TraceColumns(Part):
    """Which columns of a CSV file, or keys of JSON lines, hold the time and the two lengths."""

    time: ColumnName = "time_s"
    unit: Unit = "s"
    """Of the time: s, ms, us, ns, or clock for a date and a time of day."""
    prompt_tokens: ColumnName = "prompt_tokens"
    output_tokens: ColumnName = "output_tokens"

    def layout(self) -> Layout:
        """The layout that reads these columns."""
        return Layout(self.time, self.unit, self.prompt_tokens, self.output_tokens, prefix="prefix")
