"""Which variants a sweep runs: every combination of values, or a Latin hypercube over ranges."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from sim.commands.overrides import Change
from sim.errors import ScenarioError

MAX_POINTS: Final = 10_000_000
Axis = tuple[str, Sequence[object]]


@dataclass(frozen=True)
class Grid:
    """Every combination, the last path varying fastest; a point is made when it is asked for."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        check_paths([path for path, _ in self.axes])
        check_count(len(self))

    def __len__(self) -> int:
        return prod(len(values) for _, values in self.axes)

    def __getitem__(self, index: int) -> tuple[Change, ...]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        found: list[Change] = []
        for path, values in reversed(self.axes):
            index, place = divmod(index, len(values))
            found.append((path, values[place]))
        return tuple(reversed(found))

    @property
    def identity(self) -> str:
        """The same for the same points in the same order."""
        return _hash(["grid", [[path, list(values)] for path, values in self.axes]])


@dataclass(frozen=True, slots=True)
class Range:
    """Where a path's values lie; whole numbers where both ends are."""

    path: str
    low: float
    high: float

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)


class LatinHypercube:
    """`count` points, one in each of `count` equal slices of every range (McKay, Beckman and Conover 1979)."""

    def __init__(self, ranges: Sequence[Range], count: int, seed: int) -> None:
        """Raises ScenarioError for a range without width, a path given twice, or too many points."""
        check_paths([each.path for each in ranges])
        check_count(count)
        for each in ranges:
            if not each.low < each.high:
                raise ScenarioError(f"--range {each.path}: the lower end must be below the upper one")
        from scipy.stats import qmc  # type: ignore[import-untyped]

        self.ranges, self.seed = tuple(ranges), seed
        self._unit = qmc.LatinHypercube(d=len(ranges), seed=seed).random(count)

    def __len__(self) -> int:
        return len(self._unit)

    def __getitem__(self, index: int) -> tuple[Change, ...]:
        return tuple(
            (each.path, _within(each, float(share))) for each, share in zip(self.ranges, self._unit[index], strict=True)
        )

    @property
    def identity(self) -> str:
        """The same for the same points in the same order."""
        return _hash(["latin", [[each.path, each.low, each.high] for each in self.ranges], len(self), self.seed])


Points = Grid | LatinHypercube


def _within(each: Range, share: float) -> float | int:
    if each.whole:
        return int(each.low) + min(int(share * (each.high - each.low + 1)), int(each.high - each.low))
    return each.low + share * (each.high - each.low)


def check_paths(paths: Sequence[str]) -> None:
    """Raises ScenarioError for a path that is given twice."""
    for path in paths:
        if list(paths).count(path) > 1:
            raise ScenarioError(f"{path} is given twice; write all its values after one --set, or one --range")


def check_count(count: int) -> None:
    """Raises ScenarioError for too many points."""
    if count > MAX_POINTS:
        raise ScenarioError(f"{count:,} points are more than the {MAX_POINTS:,} allowed; give fewer values")


def parse_range(text: str) -> Range:
    """`path=low..high`. Raises ScenarioError."""
    path, equals, ends = text.partition("=")
    low, dots, high = ends.partition("..")
    try:
        if not (equals and dots and path.strip()):
            raise ValueError
        return Range(path.strip(), _number(low), _number(high))
    except ValueError:
        raise ScenarioError(f"--range {text}: write path=low..high, for example server.max_seqs=8..64") from None


def _number(text: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        value = float(text)
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError
    return value


def _hash(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:16]
