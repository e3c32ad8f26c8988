"""What goes wrong while a bank is read."""

from __future__ import annotations


class BankError(ValueError):
    """A pack that cannot be used; `str()` is one sentence naming the file, the line and the remedy."""


class FormulaError(ValueError):
    """A formula that is not allowed or has no value; `str()` is one sentence about it."""


class DrawError(ValueError):
    """No set of parameter values keeps all constraints of an item within the allowed number of tries."""
