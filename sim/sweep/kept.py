"""A sweep's results on the disk: a line a point as it comes, so that a sweep that was broken off goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sim.errors import ScenarioError

ROWS_AT_ONCE: Final = 10_000
"""Of a Parquet row group; more are never in memory."""


class Kept:
    """A JSONL file: its first line says which sweep it is of, each other one is a point."""

    def __init__(self, path: Path, identity: str, count: int) -> None:
        """Open or go on. Raises ScenarioError for a file of another sweep or one that cannot be used."""
        self.path, self.identity = path, identity
        self.done = bytearray((count + 7) // 8)
        """One bit a point: a million points are 125 kB."""
        self.kept = 0
        head = {"sweep": identity, "points": count}
        try:
            self._file = open(path, "a+b")  # noqa: SIM115 - open as long as the sweep runs
            self._file.seek(0)
            whole = 0
            for number, line in enumerate(self._file):
                if not line.endswith(b"\n"):
                    break  # torn off by a kill: run again
                if number == 0:
                    self._check_head(line, head)
                else:
                    self._mark(int(json.loads(line)["point"]))
                whole += len(line)
            self._file.truncate(whole)
            if not whole:
                self._file.write(json.dumps(head).encode() + b"\n")
                self._file.flush()
        except OSError as error:
            raise ScenarioError(f"{path}: cannot be used ({error.strerror or error}); choose another --out") from None
        except ScenarioError:
            raise
        except (ValueError, KeyError, TypeError):
            raise ScenarioError(f"{path}: is no file of a sweep; choose another --out") from None

    def _check_head(self, line: bytes, head: dict[str, object]) -> None:
        found = json.loads(line)
        if not isinstance(found, dict) or "sweep" not in found:
            raise ValueError
        if found != head:
            raise ScenarioError(f"{self.path}: holds another sweep; choose another --out, or remove it")

    def _mark(self, point: int) -> None:
        if not self.has(point):
            self.done[point >> 3] |= 1 << (point & 7)
            self.kept += 1

    def has(self, point: int) -> bool:
        """Whether a point is there."""
        return bool(self.done[point >> 3] >> (point & 7) & 1)

    def put(self, point: int, row: dict[str, Any]) -> None:
        """Keep a point, once however often it is given."""
        if self.has(point):
            return
        self._file.write(json.dumps({"point": point, **row}, default=str).encode() + b"\n")
        self._file.flush()
        self._mark(point)

    def close(self) -> None:
        """Put it on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def rows(self) -> Iterator[dict[str, Any]]:
        """The points in the order in which they came, one after another."""
        with self.path.open(encoding="utf-8") as lines:
            next(lines, None)
            for line in lines:
                yield json.loads(line)


def write_parquet(kept: Kept, path: Path) -> None:
    """The points as Parquet, in row groups, in the order of the points within each group.

    Raises:
        ScenarioError: pyarrow is missing, or the file cannot be written.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ScenarioError(f"{path}: Parquet needs pyarrow; install the extra `parquet`, or write .jsonl") from None

    def batches() -> Iterator[list[dict[str, Any]]]:
        batch: list[dict[str, Any]] = []
        for row in kept.rows():
            batch.append(row)
            if len(batch) >= ROWS_AT_ONCE:
                yield batch
                batch = []
        if batch:
            yield batch

    writer = None
    try:
        for batch in batches():
            batch.sort(key=lambda row: int(row["point"]))
            if writer is None:
                names = list(batch[0])
                schema = pa.schema([(name, _type(pa, name, batch)) for name in names])
                writer = pq.ParquetWriter(path, schema)
            writer.write_table(pa.Table.from_pylist([_plain(row, schema, pa) for row in batch], schema=schema))
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written ({error.strerror or error}); check the folder") from None
    finally:
        if writer is not None:
            writer.close()


def _type(pa: Any, name: str, batch: list[dict[str, Any]]) -> Any:
    values = [row.get(name) for row in batch if row.get(name) is not None]
    if name == "point":
        return pa.int64()
    if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return pa.float64()
    return pa.string()


def _plain(row: dict[str, Any], schema: Any, pa: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in schema:
        value = row.get(field.name)
        if value is not None and field.type == pa.string() and not isinstance(value, str):
            value = json.dumps(value)
        elif value is not None and field.type == pa.float64():
            value = float(value) if isinstance(value, int | float) else None
        found[field.name] = value
    return found
