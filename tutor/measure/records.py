"""What was seen of each request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Status = Literal["completed", "cancelled", "failed", "stalled", "not_sent"]


@dataclass(slots=True)
class Seen:
    """One request as its client saw it; times in seconds from the start of the run."""

    class_name: str
    number: int
    due_s: float
    asked_prompt_tokens: int
    asked_output_tokens: int
    sent_s: float | None = None
    events_s: list[float] = field(default_factory=list)
    """When each event with text came; a server may put several tokens into one."""
    prompt_tokens: int | None = None
    """As the server counts them; None where it did not say."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    status: Status = "not_sent"
    error: str = ""

    @property
    def first_s(self) -> float | None:
        """When the first token came."""
        return self.events_s[0] if self.events_s else None

    @property
    def last_s(self) -> float | None:
        """When the last token came."""
        return self.events_s[-1] if self.events_s else None

    @property
    def ttft_s(self) -> float | None:
        """Sent to first token."""
        return None if self.sent_s is None or not self.events_s else self.events_s[0] - self.sent_s

    @property
    def e2e_s(self) -> float | None:
        """Sent to last token."""
        return None if self.sent_s is None or not self.events_s else self.events_s[-1] - self.sent_s

    @property
    def tpot_s(self) -> float | None:
        """(E2E - TTFT) / (n - 1); None for a single token."""
        tokens = self.tokens
        if tokens < 2 or not self.events_s:
            return None
        return (self.events_s[-1] - self.events_s[0]) / (tokens - 1)

    @property
    def tokens(self) -> int:
        """Output tokens, as the server counts them, else as events came."""
        return self.output_tokens if self.output_tokens is not None else len(self.events_s)

    @property
    def gaps_s(self) -> list[float]:
        """Between output events."""
        return [later - earlier for earlier, later in zip(self.events_s, self.events_s[1:], strict=False)]

    @property
    def late_s(self) -> float:
        """How much later than planned the generator sent it."""
        return 0.0 if self.sent_s is None else max(0.0, self.sent_s - self.due_s)
