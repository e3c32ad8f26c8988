"""Requests and steps as tables, written as CSV or Parquet. Times are seconds from the start of the simulation."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.arrivals import label
from sim.errors import ScenarioError
from sim.goodput import good_requests
from sim.log import KIND_NAMES, STATUS_NAMES
from sim.table import NONE
from sim.ticks import TICKS_PER_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.result import Result
    from sim.table import Column

Cells = Sequence[int | float | str | bool | None]
Block = Mapping[str, Cells]
"""Some rows, as columns."""

ROWS_AT_ONCE = 1 << 16
_MOMENTS = ("arrival", "queued", "scheduled", "first_token", "last_token", "ended")
_NUMBERS = (
    "attempts",
    "preemptions",
    "prompt_tokens",
    "output_tokens",
    "wanted_tokens",
    "cached_tokens",
    "computed_tokens",
    "recomputed_tokens",
    "wasted_tokens",
)
_TEXTS = ("class", "label", "tenant", "status", "kind")


def request_blocks(result: Result, rows: int = ROWS_AT_ONCE) -> Iterator[Block]:
    """One row a request, in order of arrival; a time that never came is None. `rows` of them at a time."""
    good = good_requests(result.columns)
    longest = result.columns.longest_gaps
    # At least one block, so that a table without rows still has its columns.
    for start in range(0, max(1, result.columns.count), rows):
        yield _requests(result, slice(start, start + rows), good, longest)


def _requests(result: Result, rows: slice, good: NDArray[np.bool_], longest: Column) -> Block:
    import numpy as np

    names = ("id", "class_index", "number", "status", "replica", "transport", *_NUMBERS, *_MOMENTS)
    lives = {name: result.columns[name][rows] for name in names}
    classes = result.scenario.classes
    index = lives["class_index"].tolist()
    completed = result.columns.completed[rows]
    data: dict[str, Cells] = {
        "id": lives["id"].tolist(),
        "class": [classes[item].name for item in index],
        "label": [label(classes[item], number) for item, number in zip(index, lives["number"].tolist(), strict=True)],
        "tenant": [classes[item].tenant for item in index],
        "status": [STATUS_NAMES[status] for status in lives["status"].tolist()],
        "replica": [None if replica == NONE else replica for replica in lives["replica"].tolist()],
    }
    data |= {name: lives[name].tolist() for name in _NUMBERS}
    data |= {f"{name}_s": _seconds(lives[name], lives[name] != NONE) for name in _MOMENTS}

    def span(start: str, end: str, only: NDArray[np.bool_] | None = None, less: Column | int = 0) -> Cells:
        there = (lives[start] != NONE) & (lives[end] != NONE)
        return _seconds(lives[end] - lives[start] - less, there if only is None else there & only)

    data["ttft_s"] = span("arrival", "first_token")
    data["queue_s"] = span("queued", "scheduled")
    data["prefill_s"] = span("scheduled", "first_token", less=lives["transport"])
    data["decode_s"] = span("first_token", "last_token", completed)
    data["e2e_s"] = span("arrival", "last_token", completed)
    several = completed & (lives["output_tokens"] > 1)
    per_token = (lives["last_token"] - lives["first_token"]) / np.maximum(lives["output_tokens"] - 1, 1) / TICKS_PER_S
    data["tpot_s"] = [
        value if there else None for value, there in zip(per_token.tolist(), several.tolist(), strict=True)
    ]
    data["max_gap_s"] = _seconds(longest[rows], longest[rows] != NONE)
    data["good"] = good[rows].tolist()
    return data


def step_blocks(result: Result, rows: int = ROWS_AT_ONCE) -> Iterator[Block]:
    """One row a run of steps: `steps` of them, each `growth_s` longer than the one before.

    A run with prefill has one step; consecutive decode steps with the same requests are one run. The step
    with number k, from 0, takes `first_step_s + k * growth_s`.
    """
    for replica, runs in enumerate(result.log.runs):
        series = result.series[replica]
        for start in range(0, max(1, len(runs)), rows):
            some = slice(start, start + rows)
            kinds = [KIND_NAMES[kind] for kind in runs["kind"][some].tolist()]
            data: dict[str, Cells] = {
                "replica": [replica] * len(kinds),
                "start_s": _seconds(series.start_ticks[some]),
                "end_s": _seconds(series.end_ticks[some]),
                "steps": runs["steps"][some].tolist(),
                "first_step_s": _seconds(runs["first"][some]),
                "growth_s": _seconds(runs["growth"][some]),
                "kind": kinds,
            }
            numbers = ("prefill_tokens", "decode_seqs", "context_tokens", "running", "waiting", "kv_blocks")
            yield data | {name: runs[name][some].tolist() for name in numbers}


def _seconds(ticks: Column, there: NDArray[np.bool_] | None = None) -> Cells:
    # Python's division of whole numbers rounds correctly; NumPy's would first round ticks above 2**53.
    seconds: list[float | None] = [value / TICKS_PER_S for value in ticks.tolist()]
    if there is None:
        return seconds
    return [value if known else None for value, known in zip(seconds, there.tolist(), strict=True)]


def write_table(blocks: Iterator[Block], path: Path) -> None:
    """Write blocks of rows to a `.csv` or `.parquet` file.

    Raises ScenarioError for another ending, or when Parquet's library is missing.
    """
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            for number, block in enumerate(blocks):
                if not number:
                    writer.writerow(block)
                writer.writerows(zip(*block.values(), strict=True))
    elif path.suffix == ".parquet":
        _write_parquet(blocks, path)
    else:
        raise ScenarioError(f"{path}: a table is written as .csv or .parquet; change the ending")


def _write_parquet(blocks: Iterator[Block], path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ScenarioError(
            f"{path}: Parquet needs pyarrow; install it with `pip install 'tutor[parquet]'`, or write .csv"
        ) from None

    def kind(name: str) -> Any:
        if name in _TEXTS:
            return pyarrow.string()
        if name == "good":
            return pyarrow.bool_()
        return pyarrow.float64() if name.endswith("_s") else pyarrow.int64()

    first = next(blocks)
    schema = pyarrow.schema([(name, kind(name)) for name in first])
    with parquet.ParquetWriter(path, schema) as writer:
        writer.write_table(pyarrow.table(dict(first), schema=schema))
        for block in blocks:
            writer.write_table(pyarrow.table(dict(block), schema=schema))
