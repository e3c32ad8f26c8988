"""Claims that were settled, as they are kept: with the texts, the seed and the version that give them again."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tutor import __version__
from tutor.lab import events as ev
from tutor.lab.differences import differences
from tutor.lab.statements import words_of

if TYPE_CHECKING:
    from sim.experiment.comparison import Outcome, TermOutcome
    from tutor.lab.overturn import Probed
    from tutor.store import Store


@dataclass(frozen=True, slots=True)
class SettledClaim:
    """One claim and what became of it."""

    id: str
    at: datetime
    settled: ev.ClaimSettled
    probes: tuple[tuple[str, str], ...] = ()
    summary: str = ""


def settled(
    store: Store,
    title: str,
    scenario: str,
    baseline: str,
    outcome: Outcome,
    at: datetime,
    files: Sequence[str] = (),
) -> str:
    """Keep an outcome; returns the id that attempts to overturn it are added under. Raises StoreError."""
    payload = ev.ClaimSettled(
        title=title,
        scenario=scenario,
        baseline=baseline,
        changes=tuple(one.words() for one in differences(baseline, scenario)) if baseline else (),
        statements=tuple(_statement(one) for one in outcome.terms),
        verdict=outcome.verdict,
        replications=outcome.replications,
        requests=outcome.requests,
        first_seed=outcome.first_seed,
        seconds=outcome.seconds,
        version=__version__,
        files=tuple(files),
    )
    identity = secrets.token_hex(8)
    store.append(f"{ev.CLAIM_PREFIX}{identity}", payload.kind, payload.model_dump(mode="json"), at)
    return identity


def attacked(store: Store, identity: str, probed: Sequence[Probed], summary: str, at: datetime) -> None:
    """Keep what the attempts to overturn it gave; the last ones count. Raises StoreError."""
    payload = ev.ClaimAttacked(
        probes=tuple(
            (one.name, f"not tried: {one.note}" if one.outcome is None else one.outcome.verdict) for one in probed
        ),
        summary=summary,
    )
    store.append(f"{ev.CLAIM_PREFIX}{identity}", payload.kind, payload.model_dump(mode="json"), at)


def settled_claims(store: Store) -> list[SettledClaim]:
    """All of them in order of time. Raises PredictionEventError for one that cannot be read."""
    found = []
    for stream in store.streams(ev.CLAIM_PREFIX):
        made: SettledClaim | None = None
        for event in store.events(stream):
            payload = ev.parse(event.kind, event.payload)
            if isinstance(payload, ev.ClaimSettled):
                made = SettledClaim(stream.removeprefix(ev.CLAIM_PREFIX), event.at, payload)
            elif isinstance(payload, ev.ClaimAttacked) and made is not None:
                made = SettledClaim(made.id, made.at, made.settled, payload.probes, payload.summary)
        if made is not None:
            found.append(made)
    return sorted(found, key=lambda one: (one.at, one.id))


def _statement(one: TermOutcome) -> ev.StatementSettled:
    low, high = one.interval if one.interval is not None else (None, None)
    return ev.StatementSettled(
        words=words_of(one.term),
        metric=one.term.metric,
        verdict=one.verdict,
        estimate=one.estimate,
        low=low if low is not None and math.isfinite(low) else None,
        high=high if high is not None and math.isfinite(high) else None,
        level=one.level,
    )
