"""What was done in the lab while an interview was going on: claims put to the test, and numbers predicted."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tutor.errors import TutorError
from tutor.reports import models as m

if TYPE_CHECKING:
    from tutor.store import Store


def claims_between(store: Store, start: datetime, end: datetime) -> tuple[m.ClaimReport, ...]:
    """Claims settled from `start` to `end`; none where one of the store cannot be read (`tutor doctor` names it)."""
    from tutor.lab.claim_log import settled_claims

    try:
        found = settled_claims(store)
    except TutorError:
        return ()
    return tuple(
        m.ClaimReport(
            id=one.id,
            at=one.at,
            title=one.settled.title,
            changes=one.settled.changes,
            verdict=one.settled.verdict,
            statements=tuple(
                m.StatementReport(
                    words=each.words,
                    verdict=each.verdict,
                    estimate=each.estimate,
                    low=each.low,
                    high=each.high,
                    level=each.level,
                )
                for each in one.settled.statements
            ),
            replications=one.settled.replications,
            requests=one.settled.requests,
            first_seed=one.settled.first_seed,
            probes=one.probes,
            summary=one.summary,
        )
        for one in found
        if start <= one.at <= end
    )


def predictions_between(store: Store, start: datetime, end: datetime) -> tuple[m.LabPredictionReport, ...]:
    """Predictions of the lab locked from `start` to `end`; none where one of the store cannot be read."""
    from tutor.lab.predictions import predictions
    from tutor.lab.words import outcome_rows

    try:
        found = predictions(store)
    except TutorError:
        return ()
    return tuple(
        m.LabPredictionReport(
            id=one.id,
            at=one.at,
            title=f"{one.locked.title}: {one.locked.metric}",
            rows=tuple((row.label, row.mark, row.text) for row in outcome_rows(one)),
            explanation=one.explanation,
        )
        for one in found
        if start <= one.at <= end
    )
