"""Peak memory of this process."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_mib() -> float:
    """Largest resident size since the program started, MiB.

    The kernel's figure for a child counts what its parent held when it was forked, so Linux's own count for
    the running program is preferred where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
