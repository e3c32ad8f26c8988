"""What the title bar says about the model, and what grading needs of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tutor.llm.choose import OpenModel
    from tutor.llm.types import Capabilities

Status = Literal["waiting", "looking", "loading", "probing", "ready", "none"]


@dataclass(frozen=True)
class ModelState:
    """Where the search for a model stands."""

    status: Status = "waiting"
    name: str = ""
    """What is being loaded or used, for a person."""
    reason: str = ""
    """Why there is none, and what to do."""
    since_s: float = 0.0
    """Monotonic time when this state began."""
    opened: OpenModel | None = None
    capabilities: Capabilities | None = None

    @property
    def settled(self) -> bool:
        """True once it is known whether there is a model."""
        return self.status in ("ready", "none")

    def seconds(self) -> int:
        """Whole seconds since this state began."""
        return int(monotonic() - self.since_s)

    def label(self) -> str:
        """The title bar's words."""
        if self.status == "ready":
            return self.name
        if self.status == "loading":
            return f"loading {self.name}, {self.seconds()} s"
        if self.status == "probing":
            return f"asking {self.name} what it can do, {self.seconds()} s"
        if self.status == "none":
            return "no model"
        return "looking for a model…"


_TAIL = re.compile(r"[-_.](instruct|chat|it|gguf|awq|gptq|fp8|i?q\d\w*)(?=$|[-_.])", re.IGNORECASE)


def short_model(name: str, limit: int = 24) -> str:
    """A model's name without folders, quantisation and endings, for a title bar: Qwen2.5-Coder-1.5B."""
    short = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    short = _TAIL.sub("", short) or short
    return short if len(short) <= limit else short[: limit - 1] + "…"
