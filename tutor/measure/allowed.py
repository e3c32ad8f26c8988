"""What a measurement may not do without being told to: load somebody else's machine, or load one too hard."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from tutor.errors import TutorError
from tutor.measure.plan import LoadPlan

MAX_RATE_PER_S: Final = 10.0
"""Requests a second above which a run has to be confirmed; a closed loop's users count as one request each."""


def check_host(url: str, owned: tuple[str, ...]) -> None:
    """Loopback, or a host that was named as one's own.

    Raises:
        TutorError: neither, or no address at all.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise TutorError(f"{url}: is no address of a server.", hint="Write it as http://127.0.0.1:8000/v1.")
    if _loopback(host) or host.casefold() in (name.casefold() for name in owned):
        return
    raise TutorError(
        f"{host} is not this machine.",
        hint=f"A measurement loads a server on purpose; if it is yours, say so with --my-host {host}.",
    )


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_rate(plan: LoadPlan, confirmed_per_s: float | None) -> None:
    """Bounded, unless a higher bound was confirmed.

    Raises:
        TutorError: the busiest second has more requests than the bound.
    """
    rate = max(plan.busiest_rate_per_s, float(plan.users))
    bound = MAX_RATE_PER_S if confirmed_per_s is None else confirmed_per_s
    if rate > bound:
        raise TutorError(
            f"The busiest second of this load has {rate:,.0f} requests, and {bound:g} are allowed.",
            hint=f"If the server is meant to bear it, confirm with --max-rate {rate:.0f}.",
        )
