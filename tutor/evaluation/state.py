"""The file that a broken-off evaluation goes on from: one line an answer, written when the answer is graded."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from tutor.evaluation.cases import EvaluationError
from tutor.evaluation.record import AnswerRecord, GraderIdentity

Key = tuple[str, int]
"""Hash of question and answer, and number of the run."""


class StateFile:
    """Graded answers of one grader by what was graded; a path of None keeps nothing.

    A line goes to the disk in one piece. What a power cut tears off is the last line at most: it is dropped, and its
    answer is graded again.
    """

    def __init__(self, path: Path | None, fresh: bool = False) -> None:
        self.path = path
        self._records: dict[Key, AnswerRecord] = {}
        self._handle: int | None = None
        if path is not None:
            self._open(path, fresh)

    def _open(self, path: Path, fresh: bool) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = b"" if fresh or not path.exists() else path.read_bytes()
            whole = raw[: raw.rfind(b"\n") + 1]
            for line in whole.split(b"\n"):
                if line.strip():
                    record = AnswerRecord.model_validate_json(line)
                    self._records[record.content_hash, record.run] = record
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.ftruncate(self._handle, len(whole))
        except OSError as error:
            raise EvaluationError(
                f"{path}: cannot be used for what is graded ({error.strerror or error}).",
                hint="Name another file with --state.",
            ) from error
        except ValidationError:
            raise EvaluationError(
                f"{path}: is not a file of graded answers, or of another version of this program.",
                hint="Name another file with --state, or start anew with --fresh.",
            ) from None

    def get(self, content_hash: str, run: int) -> AnswerRecord | None:
        """What was graded before."""
        return self._records.get((content_hash, run))

    def put(self, record: AnswerRecord) -> None:
        """Keeps a graded answer, on the disk before this returns.

        Raises:
            EvaluationError: the disk does not take it.
        """
        self._records[record.content_hash, record.run] = record
        if self._handle is None:
            return
        line = record.model_dump_json().encode("utf-8", "replace") + b"\n"
        try:
            written = os.write(self._handle, line)
            if written != len(line):
                raise OSError("the disk is full")
            os.fsync(self._handle)
        except OSError as error:
            raise EvaluationError(
                f"{self.path}: cannot be written ({error.strerror or error}).", hint="Free some space and run again."
            ) from error

    def close(self) -> None:
        """Lets go of the file; safe to call twice."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def state_path(folder: Path, grader: GraderIdentity) -> Path:
    """Where a grader's graded answers are kept below a folder."""
    plain = "".join(c if c.isalnum() or c in "-._" else "-" for c in grader.name.replace(" ", "-"))[:60]
    return folder / "evaluations" / f"{plain}-{grader.key}.jsonl"
