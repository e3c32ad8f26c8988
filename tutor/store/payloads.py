"""From a stored event's kind and payload to its typed form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tutor.errors import TutorError

Payload = TypeVar("Payload", bound=BaseModel)


def read_payload(
    kinds: Mapping[str, type[Payload]], kind: str, payload: Mapping[str, Any], error: type[TutorError], what: str
) -> Payload:
    """The typed payload of a stored event; `what` is what a person calls such an event.

    Raises:
        error: the kind is unknown, or the payload is not of its form.
    """
    model = kinds.get(kind)
    if model is None:
        raise error(
            f"The store holds {what} of the unknown kind {kind}.",
            hint="It was probably written by a newer version; update the program.",
        )
    try:
        return model.model_validate(dict(payload))
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise error(
            f"A stored event of kind {kind} is damaged: {field}: {first['msg'].lower()}.",
            hint="'tutor doctor' names it; a backup may hold it whole.",
        ) from None
