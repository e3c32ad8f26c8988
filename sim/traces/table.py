"""A file of lengths: a line for each, with its weight if it has one."""

from __future__ import annotations

from pathlib import Path

from sim.errors import ScenarioError
from sim.fields import MAX_REQUESTS
from sim.traces.rows import BrokenRow, decimal, tokens

MAX_FILE_BYTES = 64_000_000


def read_lengths(path: Path, name: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The lengths in tokens and their weights (none if the file gives none) from lines `tokens` or `tokens,weight`.

    A first line without numbers is taken for a header. Raises ScenarioError naming file (as `name`) and line.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScenarioError(f"{name}: larger than {MAX_FILE_BYTES:,} bytes; count equal lengths and weigh them")
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise ScenarioError(f"{name}: no such file; check the path") from None
    except OSError as error:
        raise ScenarioError(f"{name}: cannot be read ({error.strerror or error}); check the path") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{name}: is not UTF-8 text; save it as UTF-8") from None
    rows: list[tuple[int, float | None]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and not any(character.isdigit() for character in line)):
            continue
        try:
            rows.append(_row(line))
        except BrokenRow as error:
            raise ScenarioError(f"{name}, line {number:,}: {error}; repair the line") from None
    if not 0 < len(rows) <= MAX_REQUESTS:
        raise ScenarioError(f"{name}: holds {len(rows):,} lengths; give from 1 to {MAX_REQUESTS:,}")
    weights = tuple(weight for _, weight in rows if weight is not None)
    if weights and len(weights) < len(rows):
        raise ScenarioError(
            f"{name}: only {len(weights):,} of {len(rows):,} lengths have a weight; give all one or none"
        )
    if weights and not any(weights):
        raise ScenarioError(f"{name}: all weights are zero; set at least one above zero")
    return tuple(length for length, _ in rows), weights


def _row(line: str) -> tuple[int, float | None]:
    length, comma, weight = line.partition(",")
    if not comma:
        return tokens(length.strip(), "tokens"), None
    value = decimal(weight, "the weight")
    if not 0 <= value <= 10**12:
        raise BrokenRow(f"the weight must be from 0 to 1e12, not {weight.strip()[:40]}")
    return tokens(length.strip(), "tokens"), float(value)
