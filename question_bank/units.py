"""Whether the units in a formula fit together: times with times, and milliseconds not with seconds."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from question_bank.errors import FormulaError
from question_bank.formula import parse

_TIME = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BYTES = {"B": 1.0}
_BYTES |= {f"{prefix}B": 1000.0**power for power, prefix in enumerate("KMGT", 1)}
_BYTES |= {f"{prefix}iB": 1024.0**power for power, prefix in enumerate("KMGT", 1)}
# Counted things carry no dimension; their names say what is counted.
_COUNTS = {
    *("", "%", "×", "tokens", "token", "requests", "request", "gaps", "gap", "chunks", "chunk", "steps", "step"),
    *("sequences", "sequence", "blocks", "block", "replicas", "replica", "GPUs", "GPU", "layers", "heads"),
    *("parameters", "parameter", "experts", "users", "rows", "events", "stages", "workers", "seats", "preemptions"),
    *("instances", "rounds", "$", "Mtokens", "Mtoken", "bits", "hits", "attempts", "drafts", "sessions"),
}
_FLOP = {"FLOP": 1.0, "GFLOP": 1e9, "TFLOP": 1e12}
_CONVERSIONS = {1000.0, 0.001, 1e6, 1e-6, 1e9, 1e-9, 1e12, 60.0, 3600.0, 1024.0, 1024.0**2, 1024.0**3}


@dataclass(frozen=True, slots=True)
class Unit:
    """Exponents of time, bytes and FLOP, and the factor to seconds, bytes and FLOP (None when open)."""

    time: int = 0
    size: int = 0
    flop: int = 0
    scale: float | None = 1.0
    literal: bool = False
    """A bare number, which fits beside anything in a sum."""

    def combined(self, other: Unit, sign: int) -> Unit:
        """Product (sign 1) or quotient (sign −1)."""
        scale = None if self.scale is None or other.scale is None else self.scale * other.scale**sign
        return Unit(
            self.time + sign * other.time,
            self.size + sign * other.size,
            self.flop + sign * other.flop,
            scale,
            self.literal and other.literal,
        )

    def fits(self, other: Unit) -> bool:
        """Whether values in both units may be added or compared."""
        if (self.time, self.size, self.flop) != (other.time, other.size, other.flop):
            return False
        return self.scale is None or other.scale is None or math.isclose(self.scale, other.scale)


def read_unit(text: str, counts: Collection[str] = ()) -> Unit:
    """A unit such as "ms", "tokens/s" or "GiB"; `counts` are names of further things that are counted.

    Raises FormulaError for one that is not known.
    """
    unit = Unit()
    for position, part in enumerate(text.split("/")):
        if part in _TIME:
            factor = Unit(time=1, scale=_TIME[part])
        elif part in _BYTES:
            factor = Unit(size=1, scale=_BYTES[part])
        elif part in _FLOP:
            factor = Unit(flop=1, scale=_FLOP[part])
        elif part in _COUNTS or part in counts:
            factor = Unit()
        else:
            close = get_close_matches(part, [*_TIME, *_BYTES, *_FLOP, *_COUNTS, *counts], n=1)
            raise FormulaError(f"unknown unit {text!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        unit = unit.combined(factor, 1 if position == 0 else -1)
    return unit


def unit_of(formula: str, units: Mapping[str, Unit]) -> Unit:
    """The unit of a formula's value. Raises FormulaError where its parts do not fit together."""
    return _unit(parse(formula), units, formula)


def _together(parts: list[Unit], formula: str) -> Unit:
    measured = [part for part in parts if not part.literal]
    if not measured:
        return parts[0]
    for part in measured[1:]:
        if not measured[0].fits(part):
            raise FormulaError(f"formula {formula!r} adds or compares values whose units do not fit")
    return next((part for part in measured if part.scale is not None), measured[0])


def _unit(node: ast.expr, units: Mapping[str, Unit], formula: str) -> Unit:
    match node:
        case ast.Constant(value=int() | float() as value):
            return Unit(scale=None if float(value) in _CONVERSIONS else 1.0, literal=True)
        case ast.Name(id=name):
            # An unknown name is reported where the formula is evaluated, so it fits anything here.
            return units.get(name, Unit(scale=None, literal=True))
        case ast.UnaryOp(operand=operand):
            return _unit(operand, units, formula)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _unit(left, units, formula).combined(_unit(right, units, formula), 1)
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv(), right=right):
            return _unit(left, units, formula).combined(_unit(right, units, formula), -1)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_unit(left, units, formula), right, formula)
        case ast.BinOp(left=left, right=right):
            return _together([_unit(left, units, formula), _unit(right, units, formula)], formula)
        case ast.Compare(left=left, comparators=comparators):
            _together([_unit(part, units, formula) for part in (left, *comparators)], formula)
            return Unit()
        case ast.BoolOp(values=operands):
            for each in operands:
                _unit(each, units, formula)
            return Unit()
        case ast.Call(func=ast.Name(id="round"), args=args):
            return _unit(args[0], units, formula)
        case ast.Call(args=args):
            return _together([_unit(arg, units, formula) for arg in args], formula)
    raise FormulaError(f"formula {formula!r} has no unit")


def _power(base: Unit, exponent: ast.expr, formula: str) -> Unit:
    if (base.time, base.size, base.flop) == (0, 0, 0):
        return base
    if isinstance(exponent, ast.Constant) and isinstance(exponent.value, int):
        times = exponent.value
        scale = None if base.scale is None else base.scale**times
        return Unit(base.time * times, base.size * times, base.flop * times, scale)
    raise FormulaError(f"formula {formula!r} raises a value with a unit to a power that is not a whole number")
