"""Time inside the simulator: whole picoseconds, so that sums of durations are exact.

Seconds as floats appear only at the border. A picosecond is fine enough that a coefficient such as
39.0625 µs per token is kept without rounding, and Python's integers do not overflow.
"""

from __future__ import annotations

from decimal import Decimal

TICKS_PER_S = 10**12


def to_ticks(seconds: float) -> int:
    """Seconds to ticks, from the shortest decimal that prints as `seconds` (0.1 is exactly a tenth)."""
    return round(Decimal(repr(float(seconds))) * TICKS_PER_S)


def to_seconds(ticks: int) -> float:
    """Ticks to the nearest float of seconds (integer division by an integer rounds correctly)."""
    return ticks / TICKS_PER_S
