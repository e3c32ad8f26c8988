"""What comes over the network, and what is installed."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from tests.llm.faulty_server import Exchange, FaultyServer
from tutor.errors import TutorError
from tutor.llm.catalogue import CATALOGUE
from tutor.llm.files import fetch
from tutor.llm.servers import LOCAL_PORTS, discover
from tutor.llm.types import ModelSettings
from tutor.llm.wire import is_loopback

TOP = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")


def pinned(lock: str) -> dict[str, tuple[str, list[str]]]:
    """Name -> version and hashes, of every requirement of a lock."""
    joined = (TOP / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    found = {}
    for line in joined.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            head, *hashes = line.split(" --hash=")
            match = re.fullmatch(r"([a-z0-9._-]+)==([^\s;]+)\s*(;.*)?", head.strip())
            assert match is not None, f"{lock}: {head} is not pinned to one version"
            found[match[1]] = (match[2], [each.strip() for each in hashes])
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_everything_that_is_installed_is_pinned_by_hash(lock: str) -> None:
    found = pinned(lock)
    assert len(found) > 50
    for name, (_, hashes) in found.items():
        assert hashes, f"{lock}: {name} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), name


def test_both_locks_hold_the_same_versions_and_all_that_the_project_names() -> None:
    run, dev = (pinned(lock) for lock in LOCKS)
    assert {name: run[name] for name in run} == {name: dev[name] for name in run}
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    missing = {re.split(r"[^A-Za-z0-9._-]", each)[0].lower() for each in named} - set(dev)
    assert missing == set()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_place_to_install_from(lock: str) -> None:
    text = (TOP / lock).read_text(encoding="utf-8")
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|--trusted-host| @ |git\+", text)


def test_the_install_of_the_makefile_checks_the_hashes() -> None:
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    installs = [line for line in makefile.splitlines() if "pip install" in line]
    assert installs
    for line in installs:
        assert line.count("pip install") == line.count("--require-hashes") + line.count("--no-deps")


async def test_only_this_machine_is_looked_for_servers() -> None:
    with FaultyServer(routes={"/v1/models": {"data": [{"id": "m"}]}}) as server:
        found = await discover(ModelSettings(), ports=[*LOCAL_PORTS, server.port])
    assert f"http://127.0.0.1:{server.port}/v1" in [info.endpoint.base_url for info in found]
    for info in found:
        assert ipaddress.ip_address(urlsplit(info.endpoint.base_url).hostname or "").is_loopback


async def test_a_key_is_never_sent_to_a_server_that_was_only_found() -> None:
    with FaultyServer(routes={"/v1/models": {"data": [{"id": "m"}]}}) as server:
        settings = ModelSettings(base_url="http://127.0.0.1:9/v1", api_key=SecretStr("sk-secret"))
        await discover(settings, ports=[server.port])
        assert server.exchanges
        assert [each.headers.get("authorization") for each in server.exchanges] == [None] * len(server.exchanges)


@pytest.mark.parametrize(
    ("url", "ours"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://127.0.0.1.evil.test/v1", False),
        ("http://localhost.evil.test/v1", False),
        ("http://evil.test/127.0.0.1", False),
        ("http://127.0.0.1@evil.test/v1", False),
        ("http://0x7f.1/v1", False),
    ],
)
def test_what_counts_as_this_machine(url: str, ours: bool) -> None:
    assert is_loopback(url) is ours


def test_another_file_than_the_one_asked_for_is_not_kept(tmp_path: Path) -> None:
    def sends(exchange: Exchange) -> None:
        exchange.respond(200, "GGUF of somebody else", kind="application/octet-stream")

    with FaultyServer(sends) as server:
        entry = next(iter(CATALOGUE.values())).model_copy(
            update={"url": f"http://127.0.0.1:{server.port}/f", "sha256": "0" * 64, "parts": (), "size_bytes": 21}
        )
        with pytest.raises(TutorError, match="arrived damaged"):
            fetch(entry, tmp_path, source="hub")
    assert not list(tmp_path.glob("*.gguf"))


def test_every_file_of_the_index_has_a_hash_of_ours_and_everything_comes_encrypted() -> None:
    for entry in CATALOGUE.values():
        assert entry.url is None or entry.url.startswith("https://")
        if entry.parts:
            assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256 or ""), entry.id
