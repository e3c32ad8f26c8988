"""What one person's program may touch on the server: a folder of their own, and the program's parts to read.

The screens ask for names of files: a scenario to open, a report to save. On one's own machine any name is good; on a
server it would reach other people's answers and the account's files. An audit hook sees every file that Python opens,
also those that a scenario names, and refuses it with the error that a missing permission gives, for which each place
has its sentence. It is no wall against code of one's own, which nobody can bring in through the screens.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES: Final = frozenset(
    {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown"}
)
SYSTEM: Final = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc",
    "/dev",
    "/proc/self",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/sys",
)
PARTS: Final = ("tutor", "sim", "question_bank", "rubrics")


def confine(own: Path, shared: Path, readable: Iterable[Path] = ()) -> None:
    """From now on this process opens files to write in `own` only, and to read there and where the program is.

    `shared` holds everybody's folders: nothing of it but `own` and `readable` is open, wherever it is. There is no way
    back for this process.
    """
    mine, everybodys = os.path.realpath(own), os.path.realpath(shared)
    granted = tuple(os.path.realpath(one) for one in readable)
    root = Path(__file__).resolve().parents[2]
    program = tuple(
        os.path.realpath(one) for one in (sys.prefix, sys.base_prefix, *SYSTEM, *(str(root / part) for part in PARTS))
    )

    def allowed(name: object, writes: bool) -> bool:
        if not isinstance(name, str | bytes | os.PathLike):
            return True  # a file that is open already
        path = os.path.realpath(os.fsdecode(name))
        if _within(path, (mine,)) or path == os.devnull:
            return True
        if writes:
            return False
        if _within(path, granted):
            return True
        return not _within(path, (everybodys,)) and _within(path, program)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            name, _, flags = arguments
            refused = not allowed(name, isinstance(flags, int) and bool(flags & WRITING))
        elif event in CHANGES:
            names = [one for one in arguments if isinstance(one, str | bytes | os.PathLike)]
            refused = not all(allowed(one, True) for one in names)
        elif event == "sqlite3.connect":
            name = arguments[0]
            refused = name != ":memory:" and not allowed(name, True)
        else:
            return
        if refused:
            raise PermissionError(13, "outside your own folder on this server")

    sys.addaudithook(hook)


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
