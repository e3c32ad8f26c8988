"""What a long sweep holds in memory: the peak of the sweeping process, by the number of points.

    python -m benchmarks.sweep_memory                  # 1,000, 10,000 and 100,000 points
    python -m benchmarks.sweep_memory --points 1000000 # a million; hours on two cores

Each point is one run of the built-in exercise with another seed, kept in a `.jsonl`; peak resident memory is read from
the operating system when the process ends, its workers not counted. In the same run, so that a slope is a slope.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

CODE = """
import resource, sys
from sim.__main__ import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def peak_mb(points: int, folder: Path) -> tuple[float, float, int]:
    """Peak resident memory in MB (10^6 bytes), the kept file's size in MB, and its lines."""
    kept = folder / f"{points}.jsonl"
    command = ["sweep", "exercise", "--range", f"seed=1..{points}", "--latin", str(points), "--out", str(kept)]
    done = subprocess.run([sys.executable, "-c", CODE, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the sweep ended with {done.returncode}: {done.stderr[-500:]}")
    with kept.open("rb") as file:
        lines = sum(1 for _ in file)
    return int(done.stderr.split()[-1]) * 1024 / 1e6, kept.stat().st_size / 1e6, lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep_memory", description="memory of long sweeps")
    parser.add_argument("--points", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    options = parser.parse_args()
    print(f"{'points':>12} {'peak MB':>9} {'file MB':>9} {'lines':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for points in options.points:
            peak, size, lines = peak_mb(points, Path(folder))
            print(f"{points:>12,} {peak:>9.1f} {size:>9.1f} {lines:>10,}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
