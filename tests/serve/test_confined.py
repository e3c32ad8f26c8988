"""One person's program cannot reach another's files, whatever name is typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tutor.serve.run import origins_for

TRIES = """
import os, sqlite3, sys
from pathlib import Path
from tutor.settings import load_settings
from tutor.serve.child import alone
own, other = Path(sys.argv[1]), Path(sys.argv[2])
alone(load_settings({"data_dir": own}), [])
from question_bank import load_bank
from sim.scenario import Scenario
from tutor.store import open_store
load_bank()
import litellm, matplotlib.pyplot
matplotlib.pyplot.figure().savefig("mine.png")
open_store(own / "tutor.db").close()
Path("mine.yaml").write_text("a: 1")
assert Path("mine.yaml").read_text() == "a: 1"
(own / "link").symlink_to(own / "mine.yaml")
def refused(act):
    try:
        act()
    except PermissionError:
        return
    raise SystemExit(f"{act} was not refused")
for name in (other / "tutor.db", own / ".." / "ben" / "tutor.db", own.parent.parent / "people"):
    refused(name.read_bytes)
    refused(lambda: name.write_bytes(b""))
    refused(lambda: os.open(os.fsencode(name), os.O_RDWR))
    refused(lambda: sqlite3.connect(name))
    refused(name.unlink)
    refused(lambda: Path("mine.yaml").replace(name))
refused((other / "new.html").touch)
refused((other / "folder").mkdir)
refused(Path(sys.argv[3]).read_bytes)
print("all refused")
"""


def test_only_ones_own_folder_can_be_read_and_written(tmp_path: Path) -> None:
    own, other, home = tmp_path / "data/users/anna", tmp_path / "data/users/ben", tmp_path / "home"
    for folder in (own, other, home):
        folder.mkdir(parents=True)
    for file in (other / "tutor.db", tmp_path / "data/people", home / "key"):
        file.write_bytes(b"secret")
    done = subprocess.run(
        [sys.executable, "-c", TRIES, str(own), str(other), str(home / "key")],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "all refused\n"), done.stderr
    assert sorted(path.name for path in other.iterdir()) == ["tutor.db"]
    assert (other / "tutor.db").read_bytes() == b"secret"


WORKER = """
import runpy, sys
sys.argv = ["child", "--one-of-many", sys.argv[1], sys.argv[2]]
runpy.run_module("tutor.serve.child", run_name="__mp_main__", alter_sys=True)
open(sys.argv[3])
"""


def test_the_simulators_own_processes_are_closed_off_too(tmp_path: Path) -> None:
    own, other = tmp_path / "users/anna", tmp_path / "users/ben"
    for folder in (own, other):
        folder.mkdir(parents=True)
        (folder / "trace.csv").write_text("1")
    codes = [
        subprocess.run([sys.executable, "-c", WORKER, str(own), str(folder / "trace.csv")], capture_output=True)
        for folder in (own, other)
    ]
    assert [done.returncode for done in codes] == [0, 1]
    assert b"PermissionError" in codes[1].stderr


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("https://Tutor.Example.org", "https://tutor.example.org"),
        ("https://tutor.example.org:443/", "https://tutor.example.org"),
        ("https://tutor.example.org:8443", "https://tutor.example.org:8443"),
        ("http://[::1]:8010", "http://[::1]:8010"),
    ],
)
def test_an_origin_is_taken_as_browsers_send_it(given: str, sent: str) -> None:
    assert origins_for("127.0.0.1", 8010, given, with_users=True) == (sent,)
