"""ServeGen clients (alibaba/ServeGen, Apache-2.0): rates and gap distributions per window, drawn as requests.

A client is two files. `…-trace.csv` has a line a window without a header: start (s), requests a second, CV of
the gaps, family of their distribution (Gamma, Weibull, or nothing) and its shape and scale (s).
`…-dataset.json` has, for longer windows, the chances of each prompt and output length.
"""

from __future__ import annotations

import json
import math
import random
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from sim.errors import ScenarioError
from sim.fields import MAX_LENGTH_TOKENS, MAX_REQUESTS
from sim.ticks import TICKS_PER_S
from sim.traces.rows import BrokenRow, Rows, decimal, shown
from sim.traces.trace import Trace

_FAMILIES = ("", "Exponential", "Gamma", "Weibull")
_USUAL_WINDOW_S = 600.0
_MAX_DATASET_BYTES = 256_000_000
_CHANCE = re.compile(r"\s*(\d{1,9})(?:\.0)?\s*:\s*(\d[0-9.eE+-]{0,40})\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Window:
    """What a client does from `start_s` on."""

    line: int
    start_s: float
    rate_per_s: float
    family: str
    shape: float
    scale_s: float


@dataclass(frozen=True, slots=True)
class Chances:
    """Lengths in tokens and their weights."""

    values: tuple[int, ...]
    weights: tuple[float, ...]


def looks_like_servegen(line: str) -> bool:
    """Whether a file that starts with `line` lists windows."""
    cells = [cell.strip() for cell in line.split(",")]
    return len(cells) == 6 and cells[3] in _FAMILIES and cells[0].replace(".", "", 1).isdigit()


def _window(line: int, text: str) -> Window:
    cells = [cell.strip() for cell in text.split(",")]
    if len(cells) != 6:
        raise BrokenRow(f"{len(cells)} cells where a window has 6: start, rate, CV, family, shape, scale")
    if cells[3] not in _FAMILIES:
        raise BrokenRow(f"the family must be Gamma, Weibull, Exponential or nothing, not {shown(cells[3])}")
    start, rate, shape, scale = (
        float(decimal(cells[i], name)) for i, name in ((0, "start"), (1, "rate"), (4, "shape"), (5, "scale"))
    )
    if not 0 <= start <= 1e9 or not 0 <= rate <= 1e6:
        raise BrokenRow(f"start and rate must be from 0 on and within reason, not {start:g} and {rate:g}")
    if rate and cells[3] in ("Gamma", "Weibull") and not (0.02 <= shape <= 1e4 and 0 < scale <= 1e9):
        raise BrokenRow(f"shape and scale must be above 0 and within reason, not {shape:g} and {scale:g}")
    return Window(line, start, rate, cells[3], shape, scale)


def _chances(text: object, name: str) -> Chances | None:
    """The table that a text such as `{12: 0.78, 14: 0.22}` holds; None for an empty one. Raises ValueError."""
    if not isinstance(text, str) or not (text.startswith("{") and text.endswith("}")):
        raise ValueError(f"{name} must be a text such as '{{12: 0.78, 14: 0.22}}'")
    values, weights = [], []
    for item in text[1:-1].split(",") if text[1:-1].strip() else ():
        match = _CHANCE.fullmatch(item)
        if match is None:
            raise ValueError(f"{name}: {shown(item)} is no pair of a length and its chance")
        value, weight = int(match[1]), float(match[2])
        if not (1 <= value <= MAX_LENGTH_TOKENS and weight < math.inf):
            raise ValueError(f"{name}: {shown(item)} is no length from 1 to {MAX_LENGTH_TOKENS:,} with a chance")
        values.append(value)
        weights.append(weight)
    return Chances(tuple(values), tuple(weights)) if any(weights) else None


class Dataset:
    """The tables of lengths, by the start of their windows."""

    def __init__(self, path: Path) -> None:
        try:
            if path.stat().st_size > _MAX_DATASET_BYTES:
                raise ScenarioError(f"{path}: larger than {_MAX_DATASET_BYTES:,} bytes; cut it")
            data = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(data, dict):
                raise ValueError("must be an object")
            tables = {}
            for key, entry in data.items():
                if not key.isascii() or not key.isdigit() or len(key) > 10 or not isinstance(entry, dict):
                    raise ValueError(f"{shown(key)} must be the start of a window, with an object of tables")
                tables[int(key)] = tuple(_chances(entry.get(name), name) for name in ("input_tokens", "output_tokens"))
        except FileNotFoundError:
            raise ScenarioError(
                f"{path}: no such file; ServeGen's rates need the table of lengths beside them"
            ) from None
        except OSError as error:
            raise ScenarioError(f"{path}: cannot be read ({error.strerror or error}); check the path") from None
        except UnicodeDecodeError:
            raise ScenarioError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
        except json.JSONDecodeError as error:
            raise ScenarioError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            raise ScenarioError(f"{path}: no table of lengths: {str(error)[:200]}") from None
        self._starts = sorted(tables)
        self._tables = tables

    def at(self, time_s: float) -> tuple[Chances, Chances]:
        """The chances of prompt and output lengths at a time. Raises BrokenRow where the tables are empty."""
        place = bisect_right(self._starts, time_s) - 1
        prompt, output = self._tables[self._starts[place]] if place >= 0 else (None, None)
        if prompt is None or output is None:
            raise BrokenRow(f"the dataset has no lengths for {time_s:g} s")
        return prompt, output


def dataset_of(path: Path) -> Path:
    """Where the table of lengths stands that belongs to a file of windows."""
    return path.with_name(path.name.removesuffix(".csv").removesuffix("-trace") + "-dataset.json")


def read_servegen(path: Path, lines: Iterable[tuple[int, str]], rows: Rows, seed: int) -> Trace:
    """Draw a client's requests.

    A window brings as many requests as its rate says. Their gaps follow its distribution; a run of them shorter
    than the window stands at a random place inside, a longer one is pressed into it.
    """
    by_start: dict[float, Window] = {}
    for line, text in lines:
        try:
            window = _window(line, text)
            if window.start_s in by_start:
                raise BrokenRow(f"the window from {window.start_s:g} s is there already")
            by_start[window.start_s] = window
        except BrokenRow as error:
            rows.broken(line, str(error))
    dataset = Dataset(dataset_of(path))
    starts = sorted(by_start)
    windows = [by_start[start] for start in starts]
    usual = min((later - earlier for earlier, later in pairwise(starts)), default=_USUAL_WINDOW_S)
    ends = [*starts[1:], *(start + usual for start in starts[-1:])]
    for window, end_s in zip(windows, ends, strict=True):
        if rows.full:
            break
        if window.rate_per_s:
            try:
                _draw(window, end_s - window.start_s, dataset, rows, seed)
            except BrokenRow as error:
                rows.broken(window.line, str(error))
    rows.notes.append(
        f"requests drawn with seed {seed} from ServeGen's rates, gap distributions and length tables; "
        "prompt and output lengths are independent"
    )
    return rows.trace(0, coarse_clock=False)


def _draw(window: Window, length_s: float, dataset: Dataset, rows: Rows, seed: int) -> None:
    rng = random.Random(f"servegen/{seed}/{window.start_s!r}")
    wanted = window.rate_per_s * length_s
    if wanted > MAX_REQUESTS:
        raise BrokenRow(f"a rate of {window.rate_per_s:g} brings more than {MAX_REQUESTS:,} requests")
    # A fraction of a request is one with that chance.
    count = int(wanted + 1e-6) + (rng.random() < wanted % 1 if wanted % 1 > 1e-6 and wanted % 1 < 1 - 1e-6 else 0)
    if not count:
        return
    prompts, outputs = dataset.at(window.start_s)
    gaps = [_gap_s(window, rng) for _ in range(count - 1)]
    total = sum(gaps)
    squeeze = min(1.0, length_s / total) if total else 1.0
    last = round((window.start_s + length_s) * TICKS_PER_S) - 1
    offset = rng.random() * max(0.0, length_s - total)
    for time_s, prompt, output in zip(
        accumulate((gap * squeeze for gap in gaps), initial=window.start_s + offset),
        rng.choices(prompts.values, prompts.weights, k=count),
        rng.choices(outputs.values, outputs.weights, k=count),
        strict=True,
    ):
        if rows.full:
            break
        rows.add(min(round(time_s * TICKS_PER_S), last), prompt, output)


def _gap_s(window: Window, rng: random.Random) -> float:
    if window.family == "Gamma":
        return rng.gammavariate(window.shape, window.scale_s)
    if window.family == "Weibull":
        return rng.weibullvariate(window.scale_s, window.shape)
    return rng.expovariate(window.rate_per_s)
