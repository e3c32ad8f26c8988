"""Slower or faster machines: a step cost times a factor that may change while the simulation runs."""

from __future__ import annotations

from fractions import Fraction

from sim.cost import CostModel, StepWork


class Paced:
    """Another cost model with every step `factor` times as long, rounded to whole ticks (half up)."""

    def __init__(self, inner: CostModel, factor: Fraction = Fraction(1)) -> None:
        self._inner = inner
        self.factor = factor

    def ticks(self, work: StepWork) -> int:
        return self._scaled(self._inner.ticks(work))

    def decode_run(self, seqs: int, context: int) -> tuple[int, int, int]:
        first, growth, steps = self._inner.decode_run(seqs, context)
        grown, rest = divmod(growth * self.factor.numerator, self.factor.denominator)
        # Rounding keeps pace with the steps only when each grows by a whole number of ticks.
        return self._scaled(first), grown, 1 if rest else steps

    def _scaled(self, ticks: int) -> int:
        top, bottom = self.factor.numerator, self.factor.denominator
        return (2 * ticks * top + bottom) // (2 * bottom)
