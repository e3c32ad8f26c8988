"""Who may come in: a file with a name and the SHA-256 of a token on each line.

The token itself is shown once, when a person is added, and kept nowhere: it has 256 random bits, so that a plain hash
cannot be searched. A name is also a folder's name and may hold nothing that means something in a path.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tutor.errors import TutorError
from tutor.paths import ensure_private_dir, private_opener

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
TOKEN_BYTES: Final = 32
MOST_USERS: Final = 10_000
LOCAL: Final = "local"
"""The one person of a server on loopback without a file of people."""
_LINE: Final = re.compile(rf"({NAME.pattern})\s+([0-9a-f]{{64}})")


@dataclass(frozen=True, slots=True)
class User:
    """One person."""

    name: str
    token_sha256: str


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def read_users(path: Path) -> tuple[User, ...]:
    """All people of a file; blank lines and lines that begin with # are passed over.

    Raises:
        TutorError: the file cannot be read, can be read by others, or a line is no name and hash.
    """
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise TutorError(f"{path} can be read by others.", hint=f"Run: chmod 600 {path}")
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise TutorError(f"{path}: cannot be read ({why}).", hint="Make it with 'tutor serve --add NAME'.") from None
    found: dict[str, User] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise TutorError(
                f"{path}, line {number}: is not a name and the SHA-256 of a token.",
                hint="Add people with 'tutor serve --users FILE --add NAME'.",
            )
        if match[1] in found:
            raise TutorError(f"{path}, line {number}: {match[1]} is there twice.", hint="Keep one of the lines.")
        found[match[1]] = User(match[1], match[2])
    if not found or len(found) > MOST_USERS:
        raise TutorError(
            f"{path} has {len(found):,} people.", hint="Add one with 'tutor serve --users FILE --add NAME'."
        )
    return tuple(found.values())


def add_user(path: Path, name: str) -> str:
    """Add a person; returns the token, which is kept nowhere.

    Raises:
        TutorError: the name cannot be used or is taken, or the file cannot be written.
    """
    if not NAME.fullmatch(name):
        raise TutorError(
            f"{name!r} cannot be a name here.", hint="Use up to 32 of a to z, 0 to 9, - and _, a letter or digit first."
        )
    if path.exists() and path.stat().st_size and name in {user.name for user in read_users(path)}:
        raise TutorError(f"{name} is in {path} already.", hint="Take the line out to give a new token.")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    try:
        with open(path, "a", encoding="utf-8", opener=private_opener) as file:
            file.write(f"{name} {digest(token)}\n")
    except OSError as error:
        raise TutorError(f"{path}: cannot be written ({error.strerror}).", hint="Choose another file.") from None
    return token


def user_of(users: tuple[User, ...], token: str) -> User | None:
    """Whose token it is; every hash is compared, in constant time each."""
    mine, found = digest(token.strip()), None
    for user in users:
        if hmac.compare_digest(user.token_sha256, mine):
            found = user
    return found


def data_dir_of(root: Path, name: str) -> Path:
    """A person's own folder, private to the account that the server runs under. Raises ValueError for no name."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name")
    return ensure_private_dir(ensure_private_dir(root / "users") / name)
