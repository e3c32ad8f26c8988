"""What the title bar says about the model, and what grading needs of it."""

from __future__ import annotations

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


def short_model(name: str, limit: int = 32) -> str:
    """A model's name without folders and file endings, for a title bar."""
    short = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].removesuffix(".gguf")
    return short if len(short) <= limit else short[: limit - 1] + "…"
