"""Recorded traces of LLM serving: reading the public formats, measuring, slicing and writing them.

from pathlib import Path
from sim.traces import load_trace, summarize

trace = load_trace(Path("AzureLLMInferenceTrace_conv.csv"))
summarize(trace).gap_cv
"""

from __future__ import annotations

from sim.traces.columns import TraceColumns
from sim.traces.layouts import FORMATS, Format
from sim.traces.prefixes import Prefix
from sim.traces.reading import load_trace
from sim.traces.rows import OnError
from sim.traces.summary import LengthSummary, TraceSummary, summarize
from sim.traces.trace import Trace
from sim.traces.writing import WrittenFormat, jsonl_lines, mooncake_lines, write_trace

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
