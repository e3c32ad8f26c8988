"""Locales, pipes and missing homes around the command line: one sentence or the same words, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tutor.cli.guard import writable


def tutor(arguments: list[str], data_dir: Path | None, **variables: str) -> tuple[int, str, str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TUTOR_", "XDG_", "LC_"))}
    environment |= {"TUTOR_MODEL__DISCOVER": "false", "TUTOR_MODEL__USE_EMBEDDED": "false", **variables}
    if data_dir is not None:
        environment["TUTOR_DATA_DIR"] = str(data_dir)
    done = subprocess.run(
        [sys.executable, "-m", "tutor", *arguments], env=environment, capture_output=True, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "utf-8"])
def test_signs_keep_their_meaning_in_every_encoding(encoding: str) -> None:
    said = writable("✓ met ✗ not met ? unsure – not graded é 漢 …", encoding)
    said.encode(encoding)
    assert said[0] in "✓+"
    assert said.count("?") == 1 + {"utf-8": 0, "ascii": 2}.get(encoding, 1)


def test_a_locale_without_our_signs_gets_plain_ones(tmp_path: Path) -> None:
    code, out, err = tutor(["doctor"], tmp_path, PYTHONIOENCODING="latin-1")
    assert (code, err) == (0, "")
    assert "+ nothing to mend" in out


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    environment = {**os.environ, "TUTOR_DATA_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "tutor", "bank", "list"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("home", ["", "/proc/nowhere"], ids=["empty", "cannot be made"])
def test_without_a_home_it_is_said_what_to_set(home: str) -> None:
    code, _, err = tutor(["drill"], None, HOME=home)
    assert code == 2
    assert "TUTOR_DATA_DIR" in err or "--data-dir" in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Kiritimati", "Nowhere/Atall", ""])
def test_any_zone_of_the_machine_is_taken(tmp_path: Path, zone: str) -> None:
    code, out, err = tutor(["drill"], tmp_path, TZ=zone)
    assert (code, err) == (0, "")
    assert "due" in out
