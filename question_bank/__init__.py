"""Question bank: packs of lessons and items as data, checked, and drawn with numbers by seed.

Nothing is imported until a name is used, because pydantic and YAML cost about 0.1 s.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from question_bank.check import check_bank
    from question_bank.errors import BankError, DrawError, FormulaError
    from question_bank.load import Bank, load_bank
    from question_bank.problem import Problem
    from question_bank.question import (
        CriterionGuide,
        Direction,
        ExampleAnswer,
        Expected,
        FollowUp,
        ItemKind,
        Level,
        Option,
        Quantity,
        Question,
        SimCheck,
        SimulationPlan,
        Slip,
    )
    from question_bank.schema import Item, Lesson, Misconception, Pack, Section, Source, Topic
    from question_bank.variants import build_question, format_number

_HOME = {
    "question_bank.check": ("check_bank",),
    "question_bank.errors": ("BankError", "DrawError", "FormulaError"),
    "question_bank.load": ("Bank", "load_bank"),
    "question_bank.problem": ("Problem",),
    "question_bank.question": (
        "CriterionGuide",
        "Direction",
        "ExampleAnswer",
        "Expected",
        "FollowUp",
        "ItemKind",
        "Level",
        "Option",
        "Quantity",
        "Question",
        "SimCheck",
        "SimulationPlan",
        "Slip",
    ),
    "question_bank.schema": ("Item", "Lesson", "Misconception", "Pack", "Section", "Source", "Topic"),
    "question_bank.variants": ("build_question", "format_number"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Bank",
    "BankError",
    "CriterionGuide",
    "Direction",
    "DrawError",
    "ExampleAnswer",
    "Expected",
    "FollowUp",
    "FormulaError",
    "Item",
    "ItemKind",
    "Lesson",
    "Level",
    "Misconception",
    "Option",
    "Pack",
    "Problem",
    "Quantity",
    "Question",
    "Section",
    "SimCheck",
    "SimulationPlan",
    "Slip",
    "Source",
    "Topic",
    "build_question",
    "check_bank",
    "format_number",
    "load_bank",
]


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(module), name)
