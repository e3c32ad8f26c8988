"""Small packs for tests: the smallest valid content, to be bent in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from question_bank import Bank, Item, load_bank

Data = dict[str, Any]


class _NoAliases(yaml.SafeDumper):
    """Repeats shared parts in full, since the loader refuses aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def to_yaml(data: Data) -> str:
    """The data as a lesson file holds it."""
    text: str = yaml.dump(data, Dumper=_NoAliases, sort_keys=False, allow_unicode=True)
    return text


def exercise(**changes: Any) -> Data:
    """A valid exercise; `work` sets the default of work_ms, other names replace fields."""
    work = changes.pop("work", 30)
    guide = {
        "statement": "It takes {total} ms.",
        "key_points": ["the sum"],
        "met_example": "It takes {total} ms.",
        "nearly_example": "It takes long.",
    }
    data: Data = {
        "id": "tiny/lesson/sum",
        "version": 1,
        "kind": "exercise",
        "title": "A sum",
        "topics": ["sums"],
        "difficulty": 1,
        "minutes": 1,
        "prompt": "Waiting takes {wait_ms} ms and work {work_ms} ms. How long in all?",
        "parameters": {
            "wait_ms": {"label": "wait", "unit": "ms", "default": 100, "range": [80, 120], "step": 20},
            "work_ms": {"label": "work", "unit": "ms", "default": work, "choices": [20, 30]},
        },
        "expected": {"total": {"label": "total", "formula": "wait_ms + work_ms", "unit": "ms"}},
        "slips": [{"id": "no-wait", "values": {"total": "work_ms"}, "diagnosis": "The wait is missing."}],
        "criteria": {name: dict(guide) for name in ("result", "reasoning", "failure", "verification")},
        "hints": ["What comes first?", "What comes next?", "Are both there?", "How would you check it?"],
        "solution": "{wait_ms} + {work_ms} = {total} ms",
    }
    return data | changes


def checkpoint(**changes: Any) -> Data:
    """A valid checkpoint."""
    data: Data = {
        "id": "tiny/lesson/choice",
        "version": 1,
        "kind": "checkpoint",
        "title": "A choice",
        "topics": ["sums"],
        "difficulty": 1,
        "minutes": 1,
        "prompt": "Which is right?",
        "options": {
            "one": {"text": "the first of them", "reason": "So it is."},
            "two": {"text": "the second of them", "reason": "It is not."},
            "three": {"text": "the third one here", "reason": "It is not."},
        },
        "answer": "one",
    }
    return data | changes


def lesson(*items: Data, **changes: Any) -> Data:
    """A valid lesson with these items."""
    data: Data = {
        "id": "tiny/lesson",
        "title": "Tiny",
        "objective": "Add two numbers.",
        "minutes": 1,
        "evidence_class": "original practice",
        "sections": [{"id": "one", "title": "One", "text": "Add."}],
        "items": list(items) or [exercise()],
        "wrap_up": "Add.",
    }
    return data | changes


def item_of(data: Data) -> Item:
    """The validated item."""
    item: Item = TypeAdapter(Item).validate_python(data)
    return item


def write_pack(folder: Path, lesson_text: str | Data, **pack: Any) -> Path:
    """Write a pack with one lesson into `folder`; returns the lesson's path."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {"id": "tiny", "title": "Tiny", "description": "A test.", "licence": "MIT", "lessons": ["one"]} | pack
    (folder / "pack.yaml").write_text(to_yaml(head), encoding="utf-8")
    path = folder / "one.yaml"
    text = lesson_text if isinstance(lesson_text, str) else to_yaml(lesson_text)
    path.write_text(text, encoding="utf-8")
    return path


def bank_with(folder: Path, lesson_data: Data) -> Bank:
    """A bank of one pack holding this lesson and nothing else, so that checking it is quick."""
    write_pack(folder, lesson_data)
    bank = load_bank([folder])
    return Bank(packs=bank.packs[-1:], lessons=bank.lessons[-1:], paths=bank.paths)
