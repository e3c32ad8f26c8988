"""The peers live in a virtual environment of their own, made on demand under the user's cache folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from platformdirs import user_cache_path

PEERS = {"ai-dynamo-runtime": "1.6.1", "sched-sim": "0.2.1"}
EXTRA = {"ai-dynamo": "1.6.1"}
"""Installed without its dependencies: only its Python sources are wanted."""


def cache_folder() -> Path:
    """Where the environment and the traces are kept; safe to delete at any time."""
    folder = user_cache_path("tutor-benchmarks") / "sim-peers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def peers_python() -> Path:
    """The interpreter of the peers' environment, which is made and filled first if it is not there.

    Raises SystemExit with one sentence when the packages cannot be installed.
    """
    wanted = "\n".join(f"{name}=={version}" for name, version in sorted({**PEERS, **EXTRA}.items()))
    home = cache_folder() / "venv"
    stamp, python = home / "installed.txt", home / "bin" / "python"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {wanted.replace(chr(10), ', ')} into {home}", file=sys.stderr)
    shutil.rmtree(home, ignore_errors=True)
    try:
        if uv := shutil.which("uv"):
            subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(home)], check=True)
            install = [uv, "pip", "install", "-q", "--compile-bytecode", "--python", str(python)]
        else:
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            install = [str(python), "-m", "pip", "install", "-q"]
        subprocess.run([*install, *(f"{name}=={version}" for name, version in PEERS.items())], check=True)
        subprocess.run([*install, "--no-deps", *(f"{name}=={version}" for name, version in EXTRA.items())], check=True)
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            f"the peers could not be installed ({error}); is a package index reachable? `--only ours` needs none"
        ) from None
    stamp.write_text(wanted, encoding="utf-8")
    return python
