"""Fitting FSRS's parameters to the candidate's own answers, when there are enough of them.

The fit is the `fsrs` package's optimiser, which needs PyTorch and pandas; they are imported here only, on use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from tutor.drills.history import Counted, counted
from tutor.drills.log import DrillError
from tutor.drills.memory import MemoryModel, Rating
from tutor.errors import TutorError

if TYPE_CHECKING:
    from tutor.drills.drills import Drills

ENOUGH_REPEATS: Final = 512
"""Repeated answers below which the package gives back the defaults."""
_EPOCH: Final = datetime(2000, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted parameters and what they are worth on the answers they were fitted to."""

    parameters: tuple[float, ...]
    repeats: int
    loss: float
    """Mean log loss of the repeated answers with these parameters."""
    loss_before: float
    """The same with the parameters in use."""

    @property
    def better(self) -> bool:
        """Whether they are worth using."""
        return self.loss < self.loss_before


def repeats(drills: Drills) -> int:
    """How many repeated answers there are to fit to."""
    return sum(each.expected is not None for each in counted(drills.log, drills.cache.model))


def fit(drills: Drills) -> Fit:
    """Fit the parameters; nothing is changed. `DrillLog.set_parameters` uses them, and undo takes that back.

    Raises:
        DrillError: there are too few answers.
        TutorError: PyTorch or pandas is not installed.
    """
    drills.cache.catch_up()
    reviews = list(counted(drills.log, drills.cache.model))
    enough = sum(each.expected is not None for each in reviews)
    if enough < ENOUGH_REPEATS:
        raise DrillError(
            f"There are {enough} repeated answers, and {ENOUGH_REPEATS} are needed to fit the schedule to you.",
            hint="Until then FSRS-6's defaults are used.",
        )
    # Without them the package still has an optimiser, which only complains.
    for module in ("torch", "pandas", "tqdm"):
        if find_spec(module) is None:
            raise TutorError(
                f"Fitting the schedule needs {module}, which is not installed.",
                hint='Install it with: pip install "fsrs[optimizer]"',
                exit_code=3,
            )
    from fsrs import Optimizer, ReviewLog
    from fsrs import Rating as FsrsRating

    numbers = {item_id: number for number, item_id in enumerate(dict.fromkeys(each.item_id for each in reviews))}
    logs = [
        ReviewLog(
            card_id=numbers[each.item_id],
            rating=FsrsRating(int(each.rating)),
            # Noon of the local day, so that the package counts local days.
            review_datetime=_EPOCH + timedelta(days=each.day.toordinal() - _EPOCH.toordinal()),
            review_duration=each.review.duration_ms,
        )
        for each in reviews
    ]
    parameters = MemoryModel(Optimizer(logs).compute_optimal_parameters()).parameters
    return Fit(parameters, enough, log_loss(reviews, MemoryModel(parameters)), log_loss(reviews, drills.cache.model))


def log_loss(reviews: list[Counted], model: MemoryModel) -> float:
    """Mean log loss of the repeated answers under a model.

    Raises:
        ValueError: no answer is a repeat.
    """
    loss, scored = 0.0, 0
    memory, at_hand = None, ""
    for each in reviews:
        if each.item_id != at_hand:
            memory, at_hand = None, each.item_id
        if memory is not None and each.elapsed_days is not None:
            chance = model.retrievability(memory.stability, each.elapsed_days)
            chance = min(max(chance, 1e-9), 1 - 1e-9)
            loss -= math.log(chance if each.rating is not Rating.AGAIN else 1 - chance)
            scored += 1
        memory = model.after(memory, each.rating, each.elapsed_days or 0)
    if not scored:
        raise ValueError("no answer is a repeat")
    return loss / scored
