"""The JSON Schema of a lesson file, so that an editor completes and checks it while one writes.

`python -m question_bank.schema_json` renews question_bank/lesson.schema.json; a test fails when it is stale.
"""

from __future__ import annotations

import json
from pathlib import Path

from question_bank.schema import Lesson

PATH = Path(__file__).parent / "lesson.schema.json"


def lesson_schema() -> str:
    """The schema as the text of the committed file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Lesson.model_json_schema(),
        "title": "Tutor lesson",
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(lesson_schema(), encoding="utf-8")
