"""Writing a trace in formats that other tools read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Literal

from sim.errors import ScenarioError
from sim.ticks import TICKS_PER_S
from sim.traces.prefixes import block_ids
from sim.traces.trace import Trace

WrittenFormat = Literal["jsonl", "mooncake"]


def _number(ticks: int, per_unit: int) -> str:
    """Ticks in a larger unit, to the last digit."""
    return f"{(Decimal(ticks) / per_unit).normalize():f}"


def jsonl_lines(trace: Trace) -> Iterator[str]:
    """Our own lines; reading them gives the same trace, to the last tick."""
    columns = zip(trace.times, trace.prompt_tokens, trace.output_tokens, trace.prefixes, strict=True)
    for time, prompt, output, prefix in columns:
        shared = f', "prefix": {json.dumps(prefix)}' if prefix else ""
        yield (
            f'{{"time_s": {_number(time, TICKS_PER_S)}, "prompt_tokens": {prompt}, "output_tokens": {output}{shared}}}'
        )


def mooncake_lines(trace: Trace, block_tokens: int = 512) -> Iterator[str]:
    """Mooncake's lines, with milliseconds as decimals. What is shared within a block is lost."""
    ids = block_ids(trace.prefixes, trace.prompt_tokens, block_tokens)
    for time, prompt, output, blocks in zip(trace.times, trace.prompt_tokens, trace.output_tokens, ids, strict=True):
        yield (
            f'{{"timestamp": {_number(time, TICKS_PER_S // 1000)}, "input_length": {prompt}, '
            f'"output_length": {output}, "hash_ids": {blocks}}}'
        )


def write_trace(trace: Trace, path: Path, format: WrittenFormat = "jsonl", block_tokens: int = 512) -> None:
    """Write a trace to a new file. Raises ScenarioError if the file is there already or cannot be written."""
    lines = jsonl_lines(trace) if format == "jsonl" else mooncake_lines(trace, block_tokens)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except FileExistsError:
        raise ScenarioError(f"{path}: is there already; remove it or choose another name") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written ({error.strerror or error}); check the path") from None
