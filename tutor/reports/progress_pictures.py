"""The pictures of the progress report as SVG; drawn like those of the interview's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tutor.reports import words as w
from tutor.reports.pictures import svg

if TYPE_CHECKING:
    from tutor.drills.calibration import Calibration
    from tutor.drills.forecast import DueDay
    from tutor.drills.history import Period
    from tutor.drills.readiness import Readiness

_LEFT: Final = 108
_ROOM: Final = 380 - _LEFT - 14


def _x(share: float) -> float:
    return _LEFT + max(0.0, min(1.0, share)) * _ROOM


def _axis(height: int) -> str:
    parts = []
    for share in (0.0, 0.5, 1.0):
        anchor = {0.0: "start", 1.0: "end"}.get(share, "middle")
        parts.append(f'<path class="line" d="M{_x(share):.1f} 20V{height}"/>')
        parts.append(f'<text class="soft" text-anchor="{anchor}" x="{_x(share):.1f}" y="13">{share:.0%}</text>')
    return "".join(parts)


def calibration_picture(everything: Calibration) -> str:
    """Per level: a dashed line at what it is taken for, a dot at what came out, a line over its 95 % interval."""
    height = 24 + 44 * len(everything.levels)
    parts, said = [_axis(height)], []
    for row, level in enumerate(everything.levels):
        y = 24 + 44 * row + 20
        parts.append(f'<text x="0" y="{y - 2}">{w.CONFIDENCE[level.level]}</text>')
        parts.append(f'<text class="soft" x="0" y="{y + 14}">{level.right} of {level.answers}</text>')
        parts.append(
            f'<path class="ink" stroke-width="2" stroke-dasharray="3 3" d="M{_x(level.stated):.1f} {y - 15}v30"/>'
        )
        if level.rate is None:
            said.append(f"{w.CONFIDENCE[level.level]}: no answers")
            continue
        parts.append(f'<path class="accent" stroke-width="2.5" d="M{_x(level.low):.1f} {y}H{_x(level.high):.1f}"/>')
        parts.append(f'<circle class="dot" cx="{_x(level.rate):.1f}" cy="{y}" r="5.5"/>')
        said.append(
            f"{w.CONFIDENCE[level.level]}, taken for {level.stated:.0%}: {level.right} of {level.answers} right, "
            f"{level.rate:.0%}, interval {level.low:.0%} to {level.high:.0%}"
        )
    return svg("Confidence against outcome", "; ".join(said), height + 2, "".join(parts))


def weeks_picture(weeks: Sequence[Period]) -> str:
    """The last weeks: a bar for the answers of each, and the share remembered beside it."""
    shown = weeks[-12:]
    if not shown:
        return ""
    most = max(each.reviews for each in shown)
    parts, said = [], []
    for row, each in enumerate(shown):
        y = 26 * row
        length = max(2.0, each.reviews / most * (_ROOM - 96))
        kept = "" if each.retention is None else f", {each.retention:.0%} kept"
        parts.append(f'<text class="soft" x="0" y="{y + 17}">{each.first_day}</text>')
        parts.append(f'<rect class="bar" x="{_LEFT}" y="{y + 5}" width="{length:.1f}" height="16" rx="3"/>')
        parts.append(f'<text class="soft" x="{_LEFT + length + 6:.1f}" y="{y + 17}">{each.reviews:,}{kept}</text>')
        said.append(f"week from {each.first_day}: {each.reviews} answers{kept}")
    return svg("Answers per week", "; ".join(said), 26 * len(shown) + 2, "".join(parts))


def readiness_picture(ready: Readiness) -> str:
    """A range on a scale from 0 to 100 %; nothing where there is no range."""
    if ready.low is None or ready.high is None:
        return ""
    low, high = _x(ready.low), _x(ready.high)
    body = (
        f'{_axis(48)}<rect class="bar" x="{low:.1f}" y="26" width="{max(3.0, high - low):.1f}" height="16" rx="3"/>'
        f'<text x="0" y="39">{ready.low:.0%} to {ready.high:.0%}</text>'
    )
    return svg("Readiness", f"{ready.low:.0%} to {ready.high:.0%} of {ready.items} items", 52, body)


def ahead_picture(ahead: Sequence[DueDay]) -> str:
    """What is due on each of the coming days."""
    most = max(1, *(each.due for each in ahead))
    parts = []
    for row, each in enumerate(ahead):
        y = 22 * row
        length = each.due / most * (_ROOM - 40)
        parts.append(f'<text class="soft" x="0" y="{y + 15}">{each.day:%a} {each.day.day} {each.day:%b}</text>')
        parts.append(f'<rect class="bar" x="{_LEFT}" y="{y + 4}" width="{length:.1f}" height="14" rx="3"/>')
        parts.append(f'<text class="soft" x="{_LEFT + length + 6:.1f}" y="{y + 15}">{each.due:,}</text>')
    said = "; ".join(f"{each.day}: {each.due}" for each in ahead)
    return svg("Due in the coming days", said, 22 * len(ahead) + 2, "".join(parts))
