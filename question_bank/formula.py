"""Arithmetic for content files: a formula is an expression over named numbers, never code.

Allowed are numbers, names, + - * / // % **, comparisons (1 for true, 0 for false), and/or/not and the
functions in FUNCTIONS. Length, depth, exponent and the size of every intermediate value are bounded, so that a
pack from anywhere can be evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import lru_cache

from question_bank.errors import FormulaError

MAX_LENGTH = 500
MAX_DEPTH = 30
MAX_EXPONENT = 64
MAX_MAGNITUDE = 1e18

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _log2(*values: float) -> float:
    (value,) = values
    if value <= 0:
        raise FormulaError(f"log2 of {value:g}, which is not positive")
    return math.log2(value)


def _round(*values: float) -> float:
    value, digits = values if len(values) == 2 else (values[0], 0.0)
    if digits != int(digits) or abs(digits) > 15:
        raise FormulaError(f"round to {digits:g} digits; it takes a whole number from -15 to 15")
    return float(round(value, int(digits)))


# name -> (function, fewest arguments, most arguments)
FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    "min": (lambda *values: min(values), 1, 50),
    "max": (lambda *values: max(values), 1, 50),
    "sum": (lambda *values: math.fsum(values), 1, 50),
    "abs": (lambda value: abs(value), 1, 1),
    "ceil": (lambda value: float(math.ceil(value)), 1, 1),
    "floor": (lambda value: float(math.floor(value)), 1, 1),
    "round": (_round, 1, 2),
    "log2": (_log2, 1, 1),
}


def _nearest(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


@lru_cache(maxsize=8192)
def parse(formula: str) -> ast.expr:
    """The checked syntax tree of a formula.

    Raises FormulaError when it is empty, too long, too deep, no expression, or more than arithmetic.
    """
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"formula of {len(formula)} characters; the limit is {MAX_LENGTH}")
    if not formula.strip():
        raise FormulaError("empty formula")
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(f"formula {formula!r} is not an arithmetic expression") from error
    _check(tree, formula, 1)
    return tree


def _check(node: ast.expr, formula: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FormulaError(f"formula {formula[:40]!r} is nested more than {MAX_DEPTH} deep")
    children: list[ast.expr] = []
    match node:
        case ast.Constant(value=value):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise FormulaError(f"formula {formula!r} holds {value!r}; only numbers are allowed")
            _bounded(value, formula)
        case ast.Name():
            pass
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY or isinstance(op, ast.Pow):
            children = [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            children = [operand]
        case ast.BoolOp(values=values):
            children = values
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _COMPARE for op in ops):
            children = [left, *comparators]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if name not in FUNCTIONS:
                raise FormulaError(
                    f"formula {formula!r} calls {name!r}, which is not a known function"
                    + _nearest(name, list(FUNCTIONS))
                )
            _, fewest, most = FUNCTIONS[name]
            if not fewest <= len(args) <= most:
                raise FormulaError(f"formula {formula!r} calls {name} with {len(args)} arguments")
            children = args
        case _:
            raise FormulaError(
                f"formula {formula!r} uses {type(node).__name__}; "
                "only numbers, names, arithmetic, comparisons and known functions are allowed"
            )
    for child in children:
        _check(child, formula, depth + 1)


def names_in(formula: str) -> frozenset[str]:
    """The names whose values the formula needs. Raises FormulaError as `parse` does."""
    tree = parse(formula)
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions)


def _bounded(value: float, formula: str) -> float:
    if type(value) is float and -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
        return value
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result) or abs(result) > MAX_MAGNITUDE:
        raise FormulaError(f"formula {formula!r} leaves the range of ±{MAX_MAGNITUDE:g}")
    return result


_Compiled = Callable[[Mapping[str, float]], float]


def evaluate(formula: str, values: Mapping[str, float]) -> float:
    """The value of a formula with these values for its names; comparisons give 1.0 or 0.0.

    Raises FormulaError for what `parse` refuses, an unknown name (naming the nearest known one), a division
    by zero, an exponent beyond ±MAX_EXPONENT or a value beyond ±MAX_MAGNITUDE.
    """
    return _compiled(formula)(values)


@lru_cache(maxsize=8192)
def _compiled(formula: str) -> _Compiled:
    """The formula as nested functions, since a bank's check evaluates each one hundreds of times."""
    return _function(parse(formula), formula)


def _function(node: ast.expr, formula: str) -> _Compiled:
    match node:
        case ast.Constant(value=int() | float() as number):
            constant = float(number)
            return lambda values: constant
        case ast.Name(id=name):
            return _name(name, formula)
        case ast.UnaryOp(op=op, operand=operand):
            inner = _function(operand, formula)
            if isinstance(op, ast.Not):
                return lambda values: float(not inner(values))
            return (lambda values: -inner(values)) if isinstance(op, ast.USub) else inner
        case ast.BoolOp(op=op, values=operands):
            test = all if isinstance(op, ast.And) else any
            parts = [_function(operand, formula) for operand in operands]
            return lambda values: float(test(part(values) != 0 for part in parts))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return _comparison([_function(each, formula) for each in (left, *comparators)], ops)
        case ast.Call(func=ast.Name(id=name), args=args):
            function, given = FUNCTIONS[name][0], [_function(arg, formula) for arg in args]
            return lambda values: _bounded(function(*(arg(values) for arg in given)), formula)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _function(left, formula), _function(right, formula), formula)
    raise FormulaError(f"formula {formula!r} cannot be evaluated")


def _name(name: str, formula: str) -> _Compiled:
    def look_up(values: Mapping[str, float]) -> float:
        if name not in values:
            raise FormulaError(f"formula {formula!r} uses the unknown name {name!r}" + _nearest(name, sorted(values)))
        return _bounded(values[name], formula)

    return look_up


def _comparison(parts: list[_Compiled], ops: list[ast.cmpop]) -> _Compiled:
    tests = [_COMPARE[type(op)] for op in ops]

    def compare(values: Mapping[str, float]) -> float:
        chain = [part(values) for part in parts]
        return float(all(test(*pair) for test, *pair in zip(tests, chain, chain[1:], strict=False)))

    return compare


def _binary(op: ast.operator, left: _Compiled, right: _Compiled, formula: str) -> _Compiled:
    if isinstance(op, ast.Pow):
        return lambda values: _power(left(values), right(values), formula)
    operation = _BINARY[type(op)]

    def apply(values: Mapping[str, float]) -> float:
        try:
            return _bounded(operation(left(values), right(values)), formula)
        except ZeroDivisionError as error:
            raise FormulaError(f"formula {formula!r} divides by zero") from error

    return apply


def _power(left: float, right: float, formula: str) -> float:
    if abs(right) > MAX_EXPONENT:
        raise FormulaError(f"formula {formula!r} has the exponent {right:g}; the limit is {MAX_EXPONENT}")
    try:
        power = left**right
    except (OverflowError, ZeroDivisionError) as error:
        raise FormulaError(f"formula {formula!r} has no value for {left:g} ** {right:g}") from error
    if isinstance(power, complex):
        raise FormulaError(f"formula {formula!r} has no real value for {left:g} ** {right:g}")
    return _bounded(power, formula)
