"""What is built can be installed elsewhere, is complete, and runs from there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PACKAGES = ("sim", "question_bank", "rubrics", "tutor")
ANSWER = "TTFT is 300 ms. 31 tokens leave 30 gaps, so 1050 ms. If the queue doubles both rise by 100 ms."

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, stdin: str = "", code: tuple[int, ...] = (0,), data: str = "") -> str:
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"TUTOR_DATA_DIR": data},
    )
    assert done.returncode in code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, made of the files that belong to the project."""
    out = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "hatchling", "build", "-d", out, cwd=TOP)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a fresh environment with the wheel.

    The packages it depends on are lent by this environment, so that no network is needed.
    """
    home = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    python = home / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip())
    (wheel,) = built.glob("*.whl")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=home)
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def tracked() -> set[str]:
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES, cwd=TOP).splitlines()
    return {each for each in listed if (TOP / each).is_file()}


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {each for each in archive.namelist() if ".dist-info/" not in each}
        (licence,) = (each for each in archive.namelist() if each.endswith("LICENSE"))
        assert b"MIT" in archive.read(licence)
    assert held == tracked()
    assert wheel.stat().st_size < 5_000_000


def test_the_source_archive_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    for needed in ("README.md", "CHANGELOG.md", "requirements.lock", "tests", "docs"):
        assert (folder / needed).exists(), needed
    assert not (folder / ".venv").exists()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again", cwd=folder)
    names = []
    for wheel in (*built.glob("*.whl"), *(tmp_path / "again").glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive_:
            names.append(sorted(archive_.namelist()))
    assert names[0] == names[1]


def test_the_commands_run_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    tutor, data = installed / "tutor", str(tmp_path / "data")
    where = run(installed / "python", "-c", "import tutor, sim; print(tutor.__file__, sim.__file__)", cwd=tmp_path)
    assert all(path.startswith(str(installed.parent)) for path in where.split())
    from tutor import __version__

    assert __version__ in run(tutor, "--version", cwd=tmp_path, data=data)
    asked = run(
        tutor, "--no-model", "ask", "serving/prefill-decode/completion-time", "--seed", "0",
        cwd=tmp_path, stdin=f"2\n{ANSWER}\n.\n\n.\n", code=(0, 1), data=data,
    )  # fmt: skip
    assert "✓ result" in asked
    assert "kv_pressure" in run(tutor, "sim", "list", cwd=tmp_path, data=data)
    assert "chat" in run(tutor, "sim", "run", "kv_pressure", cwd=tmp_path, data=data)
    assert "nothing to mend" in run(tutor, "--no-model", "doctor", cwd=tmp_path, data=data)
    run(tutor, "bank", "new", tmp_path / "mine", cwd=tmp_path, data=data)
    assert (tmp_path / "mine" / "pack.yaml").is_file()
    run(tutor, "report", "-o", tmp_path / "report.html", cwd=tmp_path, data=data)
    assert "300 ms" in (tmp_path / "report.html").read_text(encoding="utf-8")
    run(installed / "python", "-m", "sim", "run", "scheduler_trace", cwd=tmp_path)
