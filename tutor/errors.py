"""The one error type that a face (terminal or command line) shows to a person as a sentence."""

from __future__ import annotations


class TutorError(Exception):
    """Something a person can mend.

    `message` is one clear sentence naming the file, line or field; `hint` says what to do about it;
    `exit_code` is 2 for bad input and 3 when a model or another resource is missing.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()
