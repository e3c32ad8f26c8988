"""The committed JSON Schema is the one that the models generate, and accepts the committed lesson."""

from __future__ import annotations

import json

from question_bank.schema_json import PATH, lesson_schema


def test_the_committed_schema_is_current() -> None:
    assert PATH.read_text(encoding="utf-8") == lesson_schema(), "run: python -m question_bank.schema_json"


def test_it_refuses_unknown_fields_everywhere() -> None:
    schema = json.loads(lesson_schema())
    assert schema["additionalProperties"] is False
    objects = [each for each in schema["$defs"].values() if each.get("type") == "object"]
    assert objects
    assert all(each["additionalProperties"] is False for each in objects)
