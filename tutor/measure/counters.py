"""The server's own counters, read from its Prometheus page before and after a run."""

from __future__ import annotations

import math
import re

import httpx

_LINE = re.compile(r"^([A-Za-z_:][A-Za-z0-9_:]*)(\{[^}]*\})?\s+(\S+)(?:\s+\d+)?\s*$")
MAX_SERIES = 20_000


def parse_metrics(text: str) -> dict[str, float]:
    """Name with labels -> value; lines that are no samples, and values that are no numbers, are left out."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        match = None if line.startswith("#") else _LINE.match(line)
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        if math.isfinite(value):
            found[match[1] + (match[2] or "")] = value
        if len(found) >= MAX_SERIES:
            break
    return found


async def read_metrics(client: httpx.AsyncClient, base_url: str) -> dict[str, float]:
    """What the server counts; empty where it has no such page."""
    root = base_url.removesuffix("/").removesuffix("/v1")
    try:
        reply = await client.get(f"{root}/metrics", timeout=5.0)
    except httpx.HTTPError:
        return {}
    return parse_metrics(reply.text) if reply.status_code == 200 else {}


def difference(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """What changed in between, by name; histograms' buckets are left out."""
    return {
        name: value - before.get(name, 0.0)
        for name, value in after.items()
        if "_bucket{" not in name and value != before.get(name, 0.0)
    }
