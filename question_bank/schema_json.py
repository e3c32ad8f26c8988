"""JSON Schemas of a pack's files, so that an editor completes and checks them while one writes.

`python -m question_bank.schema_json` renews question_bank/*.schema.json; a test fails when one is stale.
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel

from question_bank.schema import ItemFile, Lesson, Pack, SourcesFile, TopicsFile

FOLDER = Path(__file__).parent
MODELS: dict[str, tuple[type[BaseModel], str]] = {
    "pack": (Pack, "Tutor pack.yaml"),
    "lesson": (Lesson, "Tutor lesson"),
    "items": (ItemFile, "Tutor items of a lesson"),
    "topics": (TopicsFile, "Tutor topics.yaml"),
    "sources": (SourcesFile, "Tutor sources.yaml"),
}


def schema_path(name: str) -> Path:
    """Where the schema of this kind of file is kept."""
    return FOLDER / f"{name}.schema.json"


def schema_text(name: str) -> str:
    """The schema of one kind of file, as the text of the committed file."""
    model, title = MODELS[name]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(),
        "title": title,
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in MODELS:
        schema_path(each).write_text(schema_text(each), encoding="utf-8")
