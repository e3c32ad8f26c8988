"""Rubric models and their loader."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

CriterionId = Literal["result", "reasoning", "failure", "verification"]
CRITERION_IDS: tuple[CriterionId, ...] = get_args(CriterionId)

DEFAULT_PATH = Path(__file__).parent / "four_point.yaml"
_MAX_BYTES = 64 * 1024


class RubricError(ValueError):
    """A rubric file that cannot be used; `str()` is one sentence naming the file and the field."""


class Criterion(BaseModel):
    """One point that an answer earns or does not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: CriterionId
    title: str = Field(min_length=1, max_length=40)
    """What a screen shows beside the verdict."""
    question: str = Field(min_length=1, max_length=300)
    """The yes/no question, put to a model or to the candidate who marks the answer."""
    earns: str = Field(min_length=1, max_length=600)
    """What an answer has to contain for the point."""
    not_enough: tuple[str, ...] = ()
    """What looks like it but earns nothing."""


class Rubric(BaseModel):
    """A set of binary criteria; the score is the number of criteria met."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    version: int = Field(ge=1)
    title: str
    criteria: tuple[Criterion, ...]

    @model_validator(mode="after")
    def _each_criterion_once_in_order(self) -> Rubric:
        found = tuple(criterion.id for criterion in self.criteria)
        if found != CRITERION_IDS:
            raise ValueError(f"criteria must be {', '.join(CRITERION_IDS)} in this order")
        return self

    @cached_property
    def rubric_hash(self) -> str:
        """SHA-256 (hex) of the canonical content: the same wording gives the same hash."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def criterion(self, criterion_id: CriterionId) -> Criterion:
        """The criterion with this id."""
        return self.criteria[CRITERION_IDS.index(criterion_id)]


def load_rubric(path: Path = DEFAULT_PATH) -> Rubric:
    """Read a rubric file.

    Raises RubricError when the file is missing, too large, not YAML or not a rubric.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise RubricError(f"{path}: larger than {_MAX_BYTES // 1024} KiB; a rubric is a short file")
        data = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
        if not isinstance(data, dict):
            raise RubricError(f"{path}: holds no rubric; it begins with id, version, title and criteria")
        return Rubric.model_validate(data)
    except OSError as error:
        raise RubricError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        first = str(error).splitlines()[0]
        raise RubricError(f"{path}: not valid YAML ({first})") from error
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise RubricError(f"{path}: {where}: {problem['msg']}") from error
