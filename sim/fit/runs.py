"""A measured run: when each request came, how long it was, and when its first and last tokens came out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim.errors import ScenarioError
from sim.fit.least_squares import Array
from sim.ticks import to_ticks
from sim.traces.prefixes import Prefix, shared_prefixes

MAX_FILE_BYTES = 500_000_000

_NAMES = {
    "arrival_s": ("arrival_s", "arrival_time", "arrival_ts"),
    "queued_s": ("queued_s", "queued_ts"),
    "first_token_s": ("first_token_s", "first_token_ts"),
    "last_token_s": ("last_token_s", "last_token_ts"),
    "prompt_tokens": ("prompt_tokens", "input_tokens", "input_toks"),
    "output_tokens": ("output_tokens", "output_toks"),
    "prefix_blocks": ("prefix_blocks", "prefix_block_ids_16"),
}
"""What a column may be called, the name to prefer first."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """Requests in order of arrival; times in seconds from the first arrival."""

    name: str
    arrival_s: Array
    """When it joined the engine's queue, where the run tells; else when it was sent."""
    prompt_tokens: Sequence[int]
    output_tokens: Sequence[int]
    first_token_s: Array
    last_token_s: Array
    prefixes: Sequence[Prefix]
    """What each prompt shares with others, as a scenario has it."""

    def __len__(self) -> int:
        return len(self.prompt_tokens)

    @property
    def arrival_ticks(self) -> list[int]:
        """Arrivals as the simulator takes them."""
        return [to_ticks(float(value)) for value in self.arrival_s]


def read_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Rows of a CSV or JSONL file (either may be gzipped), each with its line.

    Raises ScenarioError for a file that cannot be read and for a line that is no row.
    """
    lines = io.StringIO(_text(path))
    first = next((line for line in lines if line.strip()), "")
    lines.seek(0)
    if not first.lstrip().startswith("{"):
        reader = csv.DictReader(lines)
        for row in reader:
            yield reader.line_num, row
        return
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise ScenarioError(f"{path}, line {number}: not a line of JSON; remove it") from None
        if not isinstance(value, dict):
            raise ScenarioError(f"{path}, line {number}: must be an object with a field for each column")
        yield number, value


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScenarioError(f"{path}: larger than {MAX_FILE_BYTES:,} bytes; give a part of it")
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            with gzip.open(path) as packed:
                data = packed.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                raise ScenarioError(f"{path}: unpacks to more than {MAX_FILE_BYTES:,} bytes; give a part of it")
        return data.decode("utf-8")
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file; check the path") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ScenarioError(f"{path}: cannot be read ({error}); check the file") from None


def number_of(path: Path, line: int, row: Mapping[str, object], name: str, *, least: float = 0.0) -> float:
    """A number of a row. Raises ScenarioError when it is missing, no number, or below `least`."""
    value = row.get(name)
    try:
        found = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else float("nan")
    except ValueError:
        found = float("nan")
    if not np.isfinite(found) or found < least:
        shown = "missing" if value in (None, "") else repr(value)[:40]
        raise ScenarioError(f"{path}, line {line}: {name} must be a number of at least {least:g}, but is {shown}")
    return found


def _column(path: Path, line: int, row: Mapping[str, object], wanted: str) -> str | None:
    return next((name for name in _NAMES[wanted] if row.get(name) not in (None, "")), None)


def load_run(path: Path, block_tokens: int = 16) -> MeasuredRun:
    """Read a measured run. Raises ScenarioError, naming file and line, for one that cannot be used.

    Columns (other names the field knows are understood): arrival_s or queued_s, prompt_tokens, output_tokens,
    first_token_s, last_token_s, and optionally prefix_blocks, ids of the prompt's leading blocks of
    `block_tokens` tokens where equal ids mean equal text. Times may count from any moment.
    """
    rows: list[tuple[float, float, float, int, int, list[int]]] = []
    for line, row in read_rows(path):
        start = _column(path, line, row, "queued_s") or _column(path, line, row, "arrival_s") or "arrival_s"
        names = {wanted: _column(path, line, row, wanted) or wanted for wanted in _NAMES}
        times = [
            number_of(path, line, row, name, least=float("-inf"))
            for name in (start, names["first_token_s"], names["last_token_s"])
        ]
        if not times[0] < times[1] <= times[2]:
            raise ScenarioError(
                f"{path}, line {line}: {start}, {names['first_token_s']} and {names['last_token_s']} must follow "
                "each other and be of one clock; remove the row or correct it"
            )
        prompt, output = (
            int(number_of(path, line, row, names[wanted], least=1)) for wanted in ("prompt_tokens", "output_tokens")
        )
        rows.append((times[0], times[1], times[2], prompt, output, _ids(path, line, row, names["prefix_blocks"])))
    if len(rows) < 2:
        raise ScenarioError(f"{path}: {len(rows)} requests are too few to fit to; give at least two")
    rows.sort(key=lambda item: item[0])
    began = rows[0][0]
    prompts = [row[3] for row in rows]
    return MeasuredRun(
        re.sub(r"(\.(gz|jsonl|json|csv))+$", "", path.name),
        np.array([row[0] - began for row in rows]),
        prompts,
        [row[4] for row in rows],
        np.array([row[1] - began for row in rows]),
        np.array([row[2] - began for row in rows]),
        shared_prefixes([row[5] for row in rows], prompts, block_tokens, "run"),
    )


def _ids(path: Path, line: int, row: Mapping[str, object], name: str) -> list[int]:
    value = row.get(name)
    if value in (None, ""):
        return []
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise ScenarioError(f"{path}, line {line}: {name} must be a list of whole numbers")
    return value
