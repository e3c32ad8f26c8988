"""Sums over columns that stay exact where 64 bits would overflow or floats would round."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.table import Column

_FEWEST_ROWS = 1024
_DIGIT_BITS = 15
_DIGIT = (1 << _DIGIT_BITS) - 1


def _digits(column: Column) -> list[Column]:
    """Non-negative whole numbers as digits to the base 2**15, the lowest first."""
    largest = int(column.max()) if len(column) else 0
    count = max(1, -(-largest.bit_length() // _DIGIT_BITS))
    return [(column >> (_DIGIT_BITS * index)) & _DIGIT for index in range(count)]


def exact_sum(column: Column) -> int:
    """The sum of a column of whole numbers of either sign, as a Python integer."""
    # The upper half may be negative, the lower never is; neither overflows below 2**31 rows.
    return (int((column >> 32).sum()) << 32) + int((column & 0xFFFFFFFF).sum())


def exact_dot(left: Column, right: Column) -> int:
    """The sum of products of two columns of non-negative whole numbers, as a Python integer.

    Products of two digits have 30 bits, so a sum over 2**32 rows still fits.
    """
    if not len(left):
        return 0
    largest = int(left.max()) * int(right.max())
    rows = len(left) if not largest else ((1 << 63) - 1) // largest
    if rows >= _FEWEST_ROWS:
        # As many rows at a time as cannot overflow.
        starts = range(0, len(left), rows)
        return sum(int(left[start : start + rows] @ right[start : start + rows]) for start in starts)
    total = 0
    right_digits = _digits(right)
    for low, left_digit in enumerate(_digits(left)):
        for high, right_digit in enumerate(right_digits):
            total += int(left_digit @ right_digit) << (_DIGIT_BITS * (low + high))
    return total
