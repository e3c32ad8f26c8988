"""What this machine has to offer a model: cores and memory, as a container's limits leave them."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """CPU cores this process may keep busy; more threads than that make llama.cpp many times slower."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # no cgroup, or "max"
        quota, period = (cgroup / "cpu.max").read_text().split()
        cores = min(cores, math.ceil(int(quota) / int(period)))
    return max(1, cores)


def memory_bytes(cgroup: Path = _CGROUP) -> int | None:
    """Memory this process may use, in bytes; None where the system does not tell."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    with contextlib.suppress(OSError, ValueError):  # no cgroup, or "max"
        memory = min(memory, int((cgroup / "memory.max").read_text()))
    return memory if memory > 0 else None
