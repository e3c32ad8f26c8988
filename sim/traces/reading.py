"""Reading a trace file: which format it has, and its rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO, NoReturn

from sim.errors import ScenarioError
from sim.traces.columns import TraceColumns
from sim.traces.layouts import CSV_LAYOUTS, FORMATS, GENERIC, JSON_LAYOUTS, Format, Layout
from sim.traces.rows import BrokenRow, OnError, Rows, block_numbers, prefix_parts, shown, ticks, tokens
from sim.traces.servegen import looks_like_servegen, read_servegen
from sim.traces.trace import Trace

MAX_FILE_BYTES = 2_000_000_000
MAX_LINE_BYTES = 4_000_000
MAX_DOCUMENT_BYTES = 256_000_000
"""A benchmark's result is one JSON document and has to be read as a whole."""
_BENCH_KEYS = ("start_times", "input_lens", "output_lens")


def load_trace(
    path: Path,
    format: Format = "auto",
    *,
    columns: TraceColumns | None = None,
    on_error: OnError = "refuse",
    limit: int | None = None,
    spread: bool = True,
    seed: int = 1,
    name: str | None = None,
) -> Trace:
    """Read a trace file; `auto` tells the format from the content.

    `columns` names those of a generic table. `limit` keeps the first rows of the file only. `spread` moves
    requests of a coarse clock (Mooncake, BurstGPT) to random places inside its steps. `seed` is for the
    requests drawn from ServeGen's rates. `name` stands for the file in messages, its path when absent.

    Raises ScenarioError, one sentence with file and line, for what cannot be read; broken rows are left out
    and counted instead when `on_error` is `skip`.
    """
    source = name or str(path)
    if format not in FORMATS:
        raise ScenarioError(f"{source}: the format must be one of {', '.join(FORMATS)}, not {shown(format)}")
    if limit is not None and limit < 1:
        raise ScenarioError(f"{source}: the limit must be at least 1, not {limit}")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScenarioError(f"{source}: larger than {MAX_FILE_BYTES:,} bytes; cut it")
        with path.open("rb") as file:
            return _read(path, file, format, columns, Rows(source, on_error, limit), spread, seed)
    except FileNotFoundError:
        raise ScenarioError(f"{source}: no such file; check the path") from None
    except OSError as error:
        raise ScenarioError(f"{source}: cannot be read ({error.strerror or error}); check the path") from None


def _read(
    path: Path, file: BinaryIO, format: Format, columns: TraceColumns | None, rows: Rows, spread: bool, seed: int
) -> Trace:
    opening = _opening(file, rows.source)
    if format == "auto":
        format = _guess(opening, columns, rows.source)
    if format == "servegen":
        return read_servegen(path, _lines(file, rows), rows, seed)
    if format == "vllm_bench":
        return _read_bench(file, rows)
    if columns is not None:
        layout = columns.layout()
        return (
            _read_json(file, layout, rows, spread) if opening.startswith("{") else _read_csv(file, layout, rows, spread)
        )
    if format in JSON_LAYOUTS or format == "jsonl":
        return _read_json(file, _json_layout(format, opening), rows, spread)
    return _read_csv(file, CSV_LAYOUTS.get(format, GENERIC), rows, spread)


# ---- which format ----------------------------------------------------------------------------------


def _opening(file: BinaryIO, source: str) -> str:
    """The first line that is not blank; the file is then at its start again."""
    line = b""
    while not line.strip():
        line = file.readline(MAX_LINE_BYTES)
        if not line:
            raise ScenarioError(f"{source}: is empty; give a file with requests")
    file.seek(0)
    try:
        return line.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise ScenarioError(f"{source}: is not UTF-8 text; save it as UTF-8") from None


def _object(text: str) -> Mapping[str, object]:
    """The object that a line of JSON holds. Raises BrokenRow."""
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise BrokenRow(f"not valid JSON: {error.msg}") from None
    except (ValueError, RecursionError, ArithmeticError):
        raise BrokenRow("not valid JSON: a number or the nesting goes too far") from None
    if not isinstance(value, dict):
        raise BrokenRow(f"must be an object of JSON, not {shown(value)}")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(text)


def _guess(opening: str, columns: TraceColumns | None, source: str) -> Format:
    if opening.startswith("{"):
        if columns is not None:
            return "jsonl"
        try:
            keys = _object(opening)
        except BrokenRow:
            # A document over many lines, or one line cut off.
            return "vllm_bench"
        if all(key in keys for key in _BENCH_KEYS[1:]):
            return "vllm_bench"
        for name, layouts in JSON_LAYOUTS.items():
            if any(set(layout.needed) <= set(keys) for layout in layouts):
                return name
        if set(GENERIC.needed) <= set(keys):
            return "jsonl"
        raise ScenarioError(
            f"{source}: no known format has the keys {_listed(keys)}; name the columns of time and lengths"
        )
    if columns is not None:
        return "csv"
    if looks_like_servegen(opening):
        return "servegen"
    try:
        header = _cells(opening)
    except BrokenRow as error:
        raise ScenarioError(f"{source}, line 1: {error}; repair the header") from None
    for name, layout in CSV_LAYOUTS.items():
        if set(layout.needed) <= set(header):
            return name
    if set(GENERIC.needed) <= set(header):
        return "csv"
    raise ScenarioError(
        f"{source}: no known format has the columns {_listed(header)}; name the columns of time and lengths"
    )


def _listed(names: Mapping[str, object] | list[str]) -> str:
    return ", ".join(shown(name) for name in list(names)[:8]) + (", …" if len(names) > 8 else "")


def _json_layout(format: Format, opening: str) -> Layout:
    layouts = JSON_LAYOUTS.get(format, (GENERIC,))
    try:
        keys = set(_object(opening))
    except BrokenRow:
        return layouts[0]
    return next((layout for layout in layouts if set(layout.needed) <= keys), layouts[0])


# ---- rows ------------------------------------------------------------------------------------------


def _lines(file: BinaryIO, rows: Rows) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank, as text; one that is no text counts as broken."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            raise ScenarioError(f"{rows.source}, line {number:,}: longer than {MAX_LINE_BYTES:,} bytes; cut it")
        if not line.strip():
            continue
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            rows.broken(number, "not UTF-8 text")


def _cells(line: str) -> list[str]:
    """The cells of a line of CSV; a cell with a line break inside is not supported. Raises BrokenRow."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True))]
    except (csv.Error, StopIteration):
        raise BrokenRow("quotation marks that do not match") from None


def _read_csv(file: BinaryIO, layout: Layout, rows: Rows, spread: bool) -> Trace:
    lines = _lines(file, rows)
    number, first = next(lines, (0, ""))
    try:
        header = _cells(first)
    except BrokenRow as error:
        raise ScenarioError(f"{rows.source}, line {number}: {error}; repair the header") from None
    missing = [name for name in layout.needed if name not in header]
    if missing:
        raise ScenarioError(
            f"{rows.source}, line {number}: there is no column {missing[0]!r} among {_listed(header)}; "
            "choose another format, or name the columns"
        )
    time, prompt, output = (header.index(name) for name in layout.needed)
    for number, line in lines:
        if rows.full:
            break
        try:
            cells = _cells(line)
            if len(cells) != len(header):
                raise BrokenRow(f"{len(cells)} cells, but the header has {len(header)}")
            rows.add(
                ticks(cells[time], layout.unit, layout.time),
                tokens(cells[prompt], layout.prompt_tokens),
                tokens(cells[output], layout.output_tokens),
            )
        except BrokenRow as error:
            rows.broken(number, str(error))
    return rows.trace(layout.block_tokens, spread and layout.coarse_clock)


def _read_json(file: BinaryIO, layout: Layout, rows: Rows, spread: bool) -> Trace:
    for number, line in _lines(file, rows):
        if rows.full:
            break
        try:
            _add_object(_object(line), layout, rows)
        except BrokenRow as error:
            rows.broken(number, str(error))
    return rows.trace(layout.block_tokens, spread and layout.coarse_clock)


def _add_object(row: Mapping[str, object], layout: Layout, rows: Rows) -> None:
    missing = [name for name in layout.needed if name not in row]
    if missing:
        raise BrokenRow(f"there is no {missing[0]!r}")
    prompt = tokens(row[layout.prompt_tokens], layout.prompt_tokens)
    time = ticks(row[layout.time], layout.unit, layout.time)
    output = tokens(row[layout.output_tokens], layout.output_tokens)
    if layout.blocks is not None:
        most = -(-prompt // layout.block_tokens)
        rows.add(time, prompt, output, blocks=block_numbers(row.get(layout.blocks, []), layout.blocks, most))
    elif layout.prefix is not None:
        rows.add(time, prompt, output, prefix=prefix_parts(row.get(layout.prefix, []), layout.prefix, prompt))
    else:
        rows.add(time, prompt, output)


def _read_bench(file: BinaryIO, rows: Rows) -> Trace:
    """`vllm bench serve --save-result --save-detailed`: a document with a list for each property."""
    rows.place = "entry"
    data = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ScenarioError(f"{rows.source}: a document of more than {MAX_DOCUMENT_BYTES:,} bytes; cut it")
    try:
        document = _object(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ScenarioError(f"{rows.source}: is not UTF-8 text; save it as UTF-8") from None
    except BrokenRow as error:
        raise ScenarioError(f"{rows.source}: {error}; save the result anew") from None
    columns = []
    for key in _BENCH_KEYS:
        column = document.get(key)
        if not isinstance(column, list):
            raise ScenarioError(
                f"{rows.source}: a document without the list {key!r} is no trace; for one of vllm bench serve, run it "
                "with --save-result --save-detailed"
            )
        columns.append(column)
    if len({len(column) for column in columns}) > 1:
        raise ScenarioError(f"{rows.source}: the lists {', '.join(_BENCH_KEYS)} differ in length; save it anew")
    for number, (time, prompt, output) in enumerate(zip(*columns, strict=True), 1):
        if rows.full:
            break
        try:
            rows.add(ticks(time, "s", "start_times"), tokens(prompt, "input_lens"), tokens(output, "output_lens"))
        except BrokenRow as error:
            rows.broken(number, str(error))
    return rows.trace(0, coarse_clock=False)
