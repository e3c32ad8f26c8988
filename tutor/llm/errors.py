"""The one error that a model call raises."""

from __future__ import annotations

from typing import Literal

from tutor.errors import TutorError

ErrorKind = Literal[
    "unreachable",
    "timeout",
    "auth",
    "not_found",
    "rate_limited",
    "server",
    "bad_request",
    "context",
    "empty",
    "length",
    "bad_reply",
    "cancelled",
]


class LlmError(TutorError):
    """A model could not be asked, or its reply cannot be used; programs look at `kind`."""

    exit_code = 3

    def __init__(self, kind: ErrorKind, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind: ErrorKind = kind
