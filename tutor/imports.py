"""Whether an event that comes from another store can be what it says.

An export is the word of whoever sends it, and nothing in it proves that the answers were given or graded as it says.
What can be checked is: that each event has the form of its kind, so that no screen stumbles over it later, and that
a grade belongs to the answer it stands at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from tutor.errors import TutorError
from tutor.store.payloads import read_payload

_HINT: Final = "Use a file that 'tutor export' has written; nothing was imported."


class ImportRefused(TutorError):
    """An event is not what it says."""


def known_kinds() -> dict[str, type[BaseModel]]:
    """Every kind of event that has a form of its own."""
    from tutor.drills import events as drills
    from tutor.interview import events as interview
    from tutor.lab import events as lab

    return {
        each.__dict__["kind"]: each
        for module in (interview, drills, lab)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, BaseModel) and isinstance(each.__dict__.get("kind"), str)
    }


class EventCheck:
    """Looks at the events of one file in their order."""

    def __init__(self) -> None:
        self._kinds = known_kinds()
        self._hashes: dict[str, str] = {}
        """Of the answers, by their attempts."""

    def __call__(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Pass an event, or refuse it. Kinds of newer versions pass: they are kept and not used.

        Raises:
            TutorError: the payload has not the form of its kind, or a grade belongs to another answer.
        """
        if kind not in self._kinds:
            return
        read_payload(self._kinds, kind, payload, ImportRefused, "an event")
        if kind == "answer.submitted":
            from tutor.grading.grade import answer_hash

            self._hashes[payload["attempt_id"]] = answer_hash(payload["text"])
        elif kind == "attempt.graded":
            self._grade(payload["attempt_id"], payload["grade"])

    def _grade(self, attempt_id: str, grade: Mapping[str, Any]) -> None:
        criteria = grade.get("criteria", [])  # a grade in the form of another version has none
        if not isinstance(criteria, list) or not all(
            isinstance(one, dict) and isinstance(one.get("criterion"), str) and isinstance(one.get("verdict"), str)
            for one in criteria
        ):
            raise ImportRefused(f"The grade of {attempt_id} has no verdicts.", hint=_HINT)
        provenance = grade.get("provenance")
        told = provenance.get("answer_hash") if isinstance(provenance, dict) else None
        if told is not None and told != self._hashes.get(attempt_id):
            raise ImportRefused(f"The grade of {attempt_id} belongs to another answer.", hint=_HINT)
