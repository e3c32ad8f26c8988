"""Several programs on one file, for real."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

from tutor.store import Store, open_store

WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from tutor.store import open_store
at = datetime(2026, 3, 1, tzinfo=UTC)
with open_store(Path(sys.argv[1])) as store:
    print("open", flush=True)
    sys.stdin.readline()
    for n in range(int(sys.argv[3])):
        with store.writing():
            last = store.events("shared")[-1:]
            store.append("shared", "x", {"by": sys.argv[2], "n": n, "saw": last[0].seq if last else 0}, at)
        store.save_draft("shared", 1, f"{sys.argv[2]} {n}", at)
print("done", flush=True)
"""


def start(path: Path, name: str, writes: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(writes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_programs_write_300_each_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tutor.db"
    # Both find no file and no table, and make them at the same moment.
    writers = [start(path, name, 300) for name in ("a", "b")]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        out, err = writer.communicate(timeout=60)
        assert (writer.returncode, out, err) == (0, "done\n", "")
    with open_store(path) as store:
        events = store.events("shared")
        for name in ("a", "b"):
            assert [e.payload["n"] for e in events if e.payload["by"] == name] == list(range(300))
        # Each saw the newest event in the transaction in which it wrote.
        assert [event.payload["saw"] for event in events] == [0, *(event.seq for event in events[:-1])]
        assert store.check() == []


def test_threads_share_one_store(store: Store, at: datetime) -> None:
    def write(name: str) -> None:
        for n in range(50):
            store.append(name, "x", {"n": n}, at)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in ("a", "b", "c"):
        assert [event.payload["n"] for event in store.events(name)] == list(range(50))
