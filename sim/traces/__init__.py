"""Recorded traces of LLM serving: reading the public formats, measuring, slicing and writing them.

from pathlib import Path
from sim.traces import load_trace, summarize

trace = load_trace(Path("AzureLLMInferenceTrace_conv.csv"))
summarize(trace).gap_cv
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.traces.columns import TraceColumns
    from sim.traces.layouts import FORMATS, Format
    from sim.traces.prefixes import Prefix
    from sim.traces.reading import load_trace
    from sim.traces.rows import OnError
    from sim.traces.summary import LengthSummary, TraceSummary, summarize
    from sim.traces.trace import Trace
    from sim.traces.writing import WrittenFormat, jsonl_lines, mooncake_lines, write_trace

# A scenario names traces without reading any, so a module is imported when one of its names is used.
_HOMES = {
    "columns": ("TraceColumns",),
    "layouts": ("FORMATS", "Format"),
    "prefixes": ("Prefix",),
    "reading": ("load_trace",),
    "rows": ("OnError",),
    "summary": ("LengthSummary", "TraceSummary", "summarize"),
    "trace": ("Trace",),
    "writing": ("WrittenFormat", "jsonl_lines", "mooncake_lines", "write_trace"),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"sim.traces.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "FORMATS",
    "Format",
    "LengthSummary",
    "OnError",
    "Prefix",
    "Trace",
    "TraceColumns",
    "TraceSummary",
    "WrittenFormat",
    "jsonl_lines",
    "load_trace",
    "mooncake_lines",
    "summarize",
    "write_trace",
]
