"""What the store hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened; never changed afterwards."""

    seq: int
    """Order of writing in this file."""
    id: str
    """The same in every copy of the store."""
    stream: str
    """What it belongs to, such as `interview:5f0c…` or `lesson:serving/prefill-decode`."""
    kind: str
    payload: Mapping[str, Any]
    at: datetime
    """When, with the offset of the place where it happened."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Text being typed."""

    stream: str
    position: int
    slot: str
    """Which editor of that position: `answer`, or a follow-up's."""
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `tutor doctor` found, in one sentence, and what to do about it."""

    what: str
    remedy: str
