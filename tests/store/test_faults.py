"""A disk, a file or a folder that fails: one sentence that names the file and the remedy, and nothing stored is lost.

The failures are real: a small file system that fills up, rights that are missing, pages overwritten, a file removed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tutor.store import Store, StoreError, open_store
from tutor.store.rescue import rescue_text

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
NOBODY = 65_534
# Fills the disk with drafts and answers until it is refused, frees room, and goes on; says what was given back.
FILLER = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from tutor.store import StoreError, open_store

folder, limit = Path(sys.argv[1]), int(sys.argv[2])
at = datetime(2026, 3, 1, tzinfo=UTC)
kept, told = [], ""
if limit:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ballast = folder / "ballast"
ballast.write_bytes(b"x" * 65536)
with open_store(folder / "tutor.db") as store:
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for n in range(10_000):
        try:
            with store.writing():
                store.append("a", "x", {"n": n, "text": "y" * 700}, at)
                store.save_draft("a", 0, f"draft {n}", at)
        except StoreError as error:
            told = str(error)
            break
        kept.append(n)
    draft = store.draft("a", 0)
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    ballast.unlink()
    store.append("a", "x", {"n": "after"}, at)
with open_store(folder / "tutor.db") as store:
    found = [event.payload["n"] for event in store.events("a")]
    print(json.dumps({"kept": kept, "found": found, "told": told, "draft": draft.text, "sound": store.check() == []}))
"""


def sentence(error: StoreError, path: Path) -> str:
    """The message names the file, is one line, and says what to do."""
    text = str(error)
    assert str(path) in text
    assert "\n" not in text
    assert error.hint
    return text


def holds_what_was_given_back(out: str) -> str:
    """What the filler reports is as it must be; returns the sentence."""
    found = json.loads(out)
    assert len(found["kept"]) > 5
    assert found["found"] == [*found["kept"], "after"]
    assert found["draft"] == f"draft {found['kept'][-1]}"
    assert found["sound"]
    return str(found["told"])


def fill(command: list[str], folder: Path, limit: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, sys.executable, "-c", FILLER, str(folder), str(limit)], capture_output=True, text=True, timeout=60
    )


def test_a_small_file_system_fills_up_and_nothing_given_back_is_lost(tmp_path: Path) -> None:
    # A file system of its own needs a mount: as root, or in a user namespace. Where neither is allowed, a limit on
    # the size of files stands in, and the summary of the tests says so.
    mount = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "sh", "-c"]
    script = 'mount -t tmpfs -o size=700k none "$0" && exec "$@"'
    tried = subprocess.run([*mount, script, str(tmp_path), "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        warnings.warn(f"no file system may be mounted here ({tried.stderr.strip()}): a limit stands in", stacklevel=1)
        done = fill([], tmp_path, 300_000)
        assert done.returncode == 0, done.stderr
        assert "tutor.db" in holds_what_was_given_back(done.stdout)
        return
    done = fill([*mount, script, str(tmp_path)], tmp_path)
    assert done.returncode == 0, done.stderr
    told = holds_what_was_given_back(done.stdout)
    assert told.startswith("There is no room left on the disk of ")
    assert "what was stored before is safe" in told


def test_a_limit_on_the_size_of_files_is_said_and_nothing_given_back_is_lost(tmp_path: Path) -> None:
    done = fill([], tmp_path, 300_000)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "tutor.db") in holds_what_was_given_back(done.stdout)


# -- rights --------------------------------------------------------------------------------------------------------


def told_without_rights(action: Callable[[], str]) -> str:
    """What an action says when an ordinary user does it: root may write everything, so a child gives that up."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            text = action()
        except StoreError as error:
            text = f"{error}"
        except BaseException as error:
            text = f"BROKE {type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(child, 0)
    return text


@pytest.fixture
def everyones_folder() -> Iterator[Path]:
    """A folder that every user may reach."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        os.chmod(name, 0o755)
        folder.mkdir()
        with open_store(folder / "tutor.db") as store:
            store.append("a", "x", {"n": 1}, AT)
        yield folder
        os.chmod(folder, 0o755)


def restrict(folder: Path, folder_mode: int, file_mode: int) -> None:
    for each in (folder, *folder.iterdir()):
        if os.geteuid() == 0:
            os.chown(each, NOBODY, NOBODY)
        os.chmod(each, folder_mode if each == folder else file_mode)


def append(folder: Path) -> str:
    with open_store(folder / "tutor.db") as store:
        assert len(store.events()) == 1
        store.append("a", "x", {"n": 2}, AT)
        return "stored"


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "said"),
    [
        (0o755, 0o444, "cannot be written. Give yourself the right to write the file and its folder"),
        (0o555, 0o444, "cannot be written. Give yourself the right to write the file and its folder"),
        (0o755, 0o000, "cannot be opened. Check that its folder exists and that you may read and write it"),
        (0o000, 0o644, "cannot be read: Permission denied. Check its folder"),
        (0o755, 0o644, "stored"),
    ],
)
def test_rights_that_are_missing_are_said(everyones_folder: Path, folder_mode: int, file_mode: int, said: str) -> None:
    restrict(everyones_folder, folder_mode, file_mode)
    told = told_without_rights(lambda: append(everyones_folder))
    assert said in told
    assert "\n" not in told
    assert told == "stored" or str(everyones_folder / "tutor.db") in told


def test_a_folder_that_takes_no_new_file_is_said(everyones_folder: Path) -> None:
    for each in everyones_folder.iterdir():
        each.unlink()
    restrict(everyones_folder, 0o555, 0o644)
    told = told_without_rights(lambda: append(everyones_folder))
    assert "tutor.db cannot be made: Permission denied" in told
    assert "--data-dir" in told


# -- damage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_page_overwritten_at_random_is_noticed_or_harmless(tmp_path: Path, seed: int) -> None:
    path, rng = tmp_path / "tutor.db", random.Random(seed)
    with open_store(path) as store:
        for n in range(120):
            store.append(f"s{n % 7}", "x", {"n": n, "text": "y" * 300}, AT)
        store.save_draft("s1", 0, "typed", AT)
    whole = bytearray(path.read_bytes())
    start = rng.randrange(len(whole) // 4096) * 4096
    whole[start : start + 4096] = rng.randbytes(4096) if seed % 2 else bytes(4096)
    path.write_bytes(whole)
    try:
        with open_store(path) as store:
            found = len(store.events())
            store.drafts()
            store.append("s1", "x", {"n": "new"}, AT)
            assert found == 120 or store.check() != []
    except StoreError as error:
        text = sentence(error, path)
        assert "damaged" in text
        assert "import an export" in text
    assert path.exists()


def test_what_can_be_read_of_a_damaged_event_is_a_sentence_and_not_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "tutor.db"
    with open_store(path) as store:
        store.append("a", "x", {"text": "PAYLOAD"}, AT)
    path.write_bytes(path.read_bytes().replace(b'{"text":"PAYLOAD"}', b'{"text":"PAYLOAD",'))
    with open_store(path) as store, pytest.raises(StoreError, match="damaged") as caught:
        store.events()
    sentence(caught.value, path)


# -- a file that goes away -----------------------------------------------------------------------------------------


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    other = path.with_name("other.db")
    open_store(other).close()
    os.replace(other, path)


@pytest.mark.parametrize("happens", [removed, replaced])
def test_a_file_that_loses_its_name_while_open_takes_nothing_more_and_leaves_a_copy(
    store: Store, at: datetime, happens: Callable[[Path], None]
) -> None:
    store.append("a", "x", {"n": 1}, at)
    store.save_draft("a", 0, "typed", at)
    happens(store.path)
    for _ in range(2):  # SQLite itself would write on, into a file that nobody can open again
        with pytest.raises(StoreError, match="removed or replaced while it was in use") as caught:
            store.append("a", "x", {"n": 2}, at)
        assert caught.value.exit_code == 3
    copy = store.path.parent / "backups" / "tutor-rescued.db"
    assert str(copy) in sentence(caught.value, store.path)
    assert [each.name for each in copy.parent.iterdir()] == [copy.name]
    assert copy.stat().st_mode & 0o777 == 0o600
    store.close()
    os.replace(copy, store.path)
    with open_store(store.path) as again:
        assert [event.payload["n"] for event in again.events()] == [1]
        assert [draft.text for draft in again.drafts()] == ["typed"]
        again.append("a", "x", {"n": 2}, at)


def test_a_file_that_comes_back_is_written_again(store: Store, at: datetime) -> None:
    aside = store.path.with_name("aside.db")
    store.path.rename(aside)
    with pytest.raises(StoreError, match="removed or replaced"):
        store.append("a", "x", {"n": 1}, at)
    aside.rename(store.path)
    store.append("a", "x", {"n": 1}, at)
    assert len(store.events()) == 1


def test_text_that_was_not_stored_is_put_into_the_first_folder_that_takes_it(tmp_path: Path, at: datetime) -> None:
    missing, there = tmp_path / "missing", tmp_path / "there"
    there.mkdir()
    path = rescue_text("half a pair \ud800, typed", (missing, there), at)
    assert path == there / "tutor-unsaved-2026-03-01-093000.txt"
    assert path.read_text(encoding="utf-8") == "half a pair ?, typed"
    assert path.stat().st_mode & 0o777 == 0o600
    second = rescue_text("more", (there,), at)  # one that is there is never written over
    assert second is not None
    assert second.parent != there
    second.unlink()
