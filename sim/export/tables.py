"""Requests and steps as columns, written as CSV or Parquet. Times are seconds from the start of the simulation."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sim.arrivals import label
from sim.errors import ScenarioError
from sim.goodput import misses
from sim.log import KIND_NAMES, STATUS_NAMES
from sim.table import NONE
from sim.ticks import TICKS_PER_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.result import Result
    from sim.table import Column

Cells = Sequence[int | float | str | bool | None]

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


def request_columns(result: Result) -> dict[str, Cells]:
    """One entry a request, in order of arrival. A time that never came is None."""
    import numpy as np

    lives, count = result.columns, result.columns.count
    classes = result.scenario.classes
    index = lives["class_index"].tolist()
    completed = lives.completed
    good = completed.copy()
    for number in range(len(classes)):
        for missed in misses(lives, number).values():
            good &= ~missed
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
    tpot = np.full(count, np.nan)
    several, spans, after_first = lives.decoded(np.arange(count))
    tpot[several] = spans / after_first / TICKS_PER_S
    data["tpot_s"] = [None if value != value else value for value in tpot.tolist()]
    data["max_gap_s"] = _seconds(lives.longest_gaps, lives.longest_gaps != NONE)
    data["good"] = good.tolist()
    return data


def step_columns(result: Result) -> dict[str, Cells]:
    """One entry a run of steps: `steps` of them, each `growth_s` longer than the one before.

    A run with prefill has one step; consecutive decode steps with the same requests are one run. The step
    with number k, from 0, takes `first_step_s + k * growth_s`.
    """
    data: dict[str, list[int | float | str | bool | None]] = {}

    def add(name: str, cells: Cells) -> None:
        data.setdefault(name, []).extend(cells)

    for replica, runs in enumerate(result.log.runs):
        series = result.series[replica]
        add("replica", [replica] * len(runs))
        add("start_s", _seconds(series.start_ticks))
        add("end_s", _seconds(series.end_ticks))
        add("steps", runs["steps"].tolist())
        add("first_step_s", _seconds(runs["first"]))
        add("growth_s", _seconds(runs["growth"]))
        add("kind", [KIND_NAMES[kind] for kind in runs["kind"].tolist()])
        for name in ("prefill_tokens", "decode_seqs", "context_tokens", "running", "waiting", "kv_blocks"):
            add(name, runs[name].tolist())
    return dict(data)


def _seconds(ticks: Column, there: NDArray[np.bool_] | None = None) -> Cells:
    # Python's division of whole numbers rounds correctly; NumPy's would first round ticks above 2**53.
    seconds: list[float | None] = [value / TICKS_PER_S for value in ticks.tolist()]
    if there is None:
        return seconds
    return [value if known else None for value, known in zip(seconds, there.tolist(), strict=True)]


def write_table(columns: Mapping[str, Cells], path: Path) -> None:
    """Write columns to a `.csv` or `.parquet` file.

    Raises ScenarioError for another ending, or when Parquet's library is missing.
    """
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    elif path.suffix == ".parquet":
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise ScenarioError(
                f"{path}: Parquet needs pyarrow; install it with `pip install 'tutor[parquet]'`, or write .csv"
            ) from None
        parquet.write_table(pyarrow.table(dict(columns)), path)
    else:
        raise ScenarioError(f"{path}: a table is written as .csv or .parquet; change the ending")
