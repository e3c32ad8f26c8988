"""How long until something is seen, as ratios within one run.

`tutor --help` against `python -c "import click"`, and the first frame of the program against the first frame of
a bare Textual app, both on a real pseudo-terminal of 80x24. The pairs are interleaved so that a busy machine
slows both sides alike; medians are compared.

    python -m benchmarks.startup [RUNS]
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

TIME_LIMIT_S = 60.0


def seconds_to_exit(command: list[str]) -> float:
    """Wall seconds of a whole process."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=clean_environment())
    return time.perf_counter() - started


def clean_environment() -> dict[str, str]:
    """The caller's environment, with bytecode caching on and an empty data directory."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment.update(TERM="xterm-256color", TUTOR_DATA_DIR=tempfile.mkdtemp(prefix="tutor-bench-"))
    return environment


def seconds_to_text(command: list[str], text: bytes) -> float:
    """Wall seconds from starting `command` on a new 80x24 pseudo-terminal until `text` is written to it."""
    environment = clean_environment()
    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    seen = b""
    try:
        while time.perf_counter() - started < TIME_LIMIT_S:
            ready, _, _ = select.select([terminal], [], [], 0.5)
            if ready:
                seen += os.read(terminal, 65536)
                if text in seen:
                    return time.perf_counter() - started
        raise SystemExit(f"{' '.join(command)}: {text!r} was not shown within {TIME_LIMIT_S:.0f} s")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def compare(name: str, ours: list[float], base: list[float]) -> None:
    """Print both medians and their ratio."""
    ratio = statistics.median(ours) / statistics.median(base)
    print(
        f"{name}: {statistics.median(ours) * 1000:.0f} ms against {statistics.median(base) * 1000:.0f} ms, "
        f"ratio {ratio:.2f} (n = {len(ours)} pairs)"
    )


def main(runs: int) -> None:
    """Measure both pairs `runs` times."""
    python = sys.executable
    tutor = [python, "-m", "tutor"]
    seconds_to_exit([*tutor, "--help"])  # writes the bytecode
    seconds_to_text(tutor, b"Tutor")
    seconds_to_text([python, "-m", "benchmarks.bare_app"], b"bare-first-frame")
    help_ours, help_base, frame_ours, frame_base = [], [], [], []
    for _ in range(runs):
        help_base.append(seconds_to_exit([python, "-c", "import click"]))
        help_ours.append(seconds_to_exit([*tutor, "--help"]))
        frame_base.append(seconds_to_text([python, "-m", "benchmarks.bare_app"], b"bare-first-frame"))
        frame_ours.append(seconds_to_text(tutor, b"Start"))
    compare("tutor --help / import click", help_ours, help_base)
    compare("first frame / bare Textual app", frame_ours, frame_base)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
