"""Where the program keeps its files, and making those places private to their owner."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tutor.errors import TutorError

APP_NAME: Final = "tutor"
STORE_NAME: Final = "tutor.db"
DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600


def default_data_dir() -> Path:
    """The user's data directory for this program, as the platform has it.

    Raises:
        TutorError: there is no home directory to put it in.
    """
    import platformdirs

    found = platformdirs.user_data_path(APP_NAME, appauthor=False)
    if not _has_home(found, "XDG_DATA_HOME"):
        raise TutorError(
            "There is no home directory, so there is no place for your answers.",
            hint="Set HOME, or name a folder with --data-dir or TUTOR_DATA_DIR.",
        )
    return found


def default_config_file() -> Path | None:
    """The settings file that is read when none is named, or None without a home directory."""
    import platformdirs

    found = platformdirs.user_config_path(APP_NAME, appauthor=False)
    return found / "config.toml" if _has_home(found, "XDG_CONFIG_HOME") else None


def _has_home(path: Path, variable: str) -> bool:
    """Whether a path below the home directory could be spelled out: an empty HOME would make it start at the root."""
    if not path.is_absolute() or "~" in path.parts:
        return False
    return os.environ.get("HOME") != "" or bool(os.environ.get(variable))


def private_opener(path: str, flags: int) -> int:
    """For `open(…, opener=private_opener)`: a file made by it is read by its owner only."""
    return os.open(path, flags, FILE_MODE)


def ensure_private_dir(path: Path) -> Path:
    """`path`, made (with its parents) if missing, readable by its owner only when it was made here.

    Raises:
        TutorError: it is not a folder, or cannot be made.
    """
    if path.is_dir():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    except FileExistsError:
        raise TutorError(
            f"{path} is a file, and a folder is needed there.", hint="Move it or name another folder with --data-dir."
        ) from None
    except OSError as error:
        raise TutorError(
            f"The folder {path} cannot be made: {error.strerror or error}.",
            hint="Make it yourself, or name another folder with --data-dir.",
        ) from None
    return path
