"""Where the program keeps its files, and making those places private to their owner."""

from __future__ import annotations

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

    return _under_home(lambda: platformdirs.user_data_path(APP_NAME, appauthor=False), "answers")


def default_config_file() -> Path | None:
    """The settings file that is read when none is named, or None without a home directory."""
    import platformdirs

    try:
        folder = _under_home(lambda: platformdirs.user_config_path(APP_NAME, appauthor=False), "settings")
    except TutorError:
        return None
    return folder / "config.toml"


def _under_home(find: object, what: str) -> Path:
    assert callable(find)
    remedy = "Set HOME, or name a folder with --data-dir or TUTOR_DATA_DIR."
    try:
        found = find()
    except (RuntimeError, KeyError, OSError):
        found = None
    if not isinstance(found, Path) or not found.is_absolute() or "~" in found.parts:
        raise TutorError(f"There is no home directory, so there is no place for the {what}.", hint=remedy)
    return found


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
