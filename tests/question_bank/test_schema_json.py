"""The committed JSON Schemas are those that the models generate, and refuse what loading refuses."""

from __future__ import annotations

import json

import pytest

from question_bank.schema_json import MODELS, schema_path, schema_text


@pytest.mark.parametrize("name", MODELS)
def test_the_committed_schema_is_current(name: str) -> None:
    text = schema_path(name).read_text(encoding="utf-8")
    assert text == schema_text(name), "run: python -m question_bank.schema_json"


@pytest.mark.parametrize("name", MODELS)
def test_it_refuses_unknown_fields_everywhere(name: str) -> None:
    schema = json.loads(schema_text(name))
    assert schema["additionalProperties"] is False
    objects = [each for each in schema.get("$defs", {}).values() if each.get("type") == "object"]
    assert objects or name == "pack"
    assert all(each["additionalProperties"] is False for each in objects)
