"""Files of scheduler cases: what they may hold, and reading one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sim.errors import ScenarioError
from sim.vllm import EngineConfig

MAX_FILE_BYTES = 64_000_000

Segment = tuple[str, Annotated[int, Field(ge=0)]]


class CaseRequest(BaseModel):
    """A request of a case. Token numbers count outputs from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    prompt_tokens: int = Field(ge=1)
    prompt_segments: tuple[Segment, ...]
    max_tokens: int = Field(ge=1)
    arrives_before_step: int | None = None
    priority: int = 0
    arrival_time: float | None = None
    cache_salt: str | None = None
    emits_eos_as_token_number: int | None = None
    emits_stop_token_as_token_number: int | None = None
    ignore_eos: bool = False
    min_tokens: int = Field(default=0, ge=0)


class Events(BaseModel):
    """What happens just before a step is planned: arrivals, then aborts, then a cleared cache."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arrive: tuple[str, ...] = ()
    abort: tuple[str, ...] = ()
    reset_prefix_cache: bool = False
    reset_ok: bool | None = None


class Step(BaseModel):
    """One step and what is expected of it, by field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: int
    events_before: Events = Events()
    expected: dict[str, Any]


class VersionNote(BaseModel):
    """Where another version of the engine first differs."""

    model_config = ConfigDict(frozen=True, extra="allow")

    differs_in: str
    first_difference_at_step: int
    field: str


class Case(BaseModel):
    """A run, step by step."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    config: EngineConfig
    requests: tuple[CaseRequest, ...]
    steps: tuple[Step, ...]
    final: dict[str, dict[str, Any]] = Field(default_factory=dict)
    version_note: VersionNote | None = None
    also_identical_in: str | None = None


class Table(BaseModel):
    """Rows of inputs and results of one calculation."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    rows: tuple[dict[str, Any], ...] = Field(min_length=1)


class Unreadable(BaseModel):
    """A case that asks for something this engine does not know, and what."""

    model_config = ConfigDict(frozen=True)

    id: str
    reason: str


def load_cases(path: Path) -> tuple[Case | Table | Unreadable, ...]:
    """Read a file with a list `cases`; entries with `rows` are tables.

    A case with an unknown setting is kept as Unreadable, for it cannot be judged. Raises ScenarioError, one
    sentence, for a file that cannot be used.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScenarioError(f"{path}: larger than {MAX_FILE_BYTES:,} bytes; split it")
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror or error}); check the path") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise ScenarioError(f"{path}: not valid JSON; write it anew") from None
    cases = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(cases, list) or not cases:
        raise ScenarioError(f"{path}: must be an object with a list `cases` that is not empty")
    read = tuple(_case(path, number, item) for number, item in enumerate(cases, 1))
    seen: set[str] = set()
    for case in read:
        if case.id in seen:
            raise ScenarioError(f"{path}: the case id {case.id!r} is given twice; rename one")
        seen.add(case.id)
    return read


def _case(path: Path, number: int, item: object) -> Case | Table | Unreadable:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        raise ScenarioError(f"{path}: case {number} must be an object with a text `id`")
    name = item["id"]
    try:
        if "rows" in item:
            return Table.model_validate(item)
        case = Case.model_validate(item)
    except ValidationError as error:
        errors = error.errors()
        unknown = [".".join(map(str, one["loc"])) for one in errors if one["type"] == "extra_forbidden"]
        if len(unknown) == len(errors):
            return Unreadable(id=name, reason=f"this engine does not know {', '.join(unknown)}")
        first = next(one for one in errors if one["type"] != "extra_forbidden")
        where = ".".join(map(str, first["loc"]))
        raise ScenarioError(f"{path}: case {name!r}: {where}: {_lower(first['msg'])}") from None
    known = {request.id for request in case.requests}
    for request in case.requests:
        if sum(tokens for _, tokens in request.prompt_segments) != request.prompt_tokens:
            raise ScenarioError(
                f"{path}: case {name!r}: request {request.id!r}: the segments must add up to "
                f"prompt_tokens = {request.prompt_tokens}"
            )
    for step in case.steps:
        for one in (*step.events_before.arrive, *step.events_before.abort):
            if one not in known:
                raise ScenarioError(f"{path}: case {name!r}: step {step.step}: there is no request {one!r}")
    return case


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
