"""A new pack to start from: a copy of the template folder under another id."""

from __future__ import annotations

import re
from pathlib import Path

from question_bank.errors import BankError

FOLDER = Path(__file__).parent / "template"
_ID = "my-pack"
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def new_pack(folder: Path, pack_id: str) -> list[Path]:
    """Write a small pack that passes the check into `folder`; returns its files.

    Raises BankError when the id is not of the form `my-pack`, when the folder holds anything, or cannot be written.
    """
    if not _SLUG.fullmatch(pack_id) or len(pack_id) > 60:
        raise BankError(f"pack id {pack_id!r}: small letters, digits and single hyphens, such as 'my-pack'")
    written = []
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BankError(f"{folder}: is there already and not empty; name another folder")
        for source in sorted(FOLDER.rglob("*.yaml")):
            target = folder / source.relative_to(FOLDER)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.read_text(encoding="utf-8").replace(_ID, pack_id), encoding="utf-8")
            written.append(target)
    except OSError as error:
        raise BankError(f"{folder}: cannot be written ({error.strerror})") from error
    return written
