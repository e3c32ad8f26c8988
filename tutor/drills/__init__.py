"""Drills: what was missed comes back. A review log that is only ever added to, and all that follows from it."""

from tutor.drills.deck import Deck, DrillItem
from tutor.drills.drills import Answered, Drills, Presentation
from tutor.drills.health import check_drills
from tutor.drills.log import DrillError, DrillLog, Undo
from tutor.drills.memory import Memory, MemoryModel, Rating
from tutor.drills.plan import DrillPlan
from tutor.drills.queue import Counts
from tutor.drills.rating import Outcome, rating_from_choice, rating_from_grade, rating_from_self_mark
from tutor.drills.session import DrillSession, SessionSummary
from tutor.drills.way_in import WayIn
from tutor.drills.words import return_line

__all__ = [
    "Answered",
    "Counts",
    "Deck",
    "DrillError",
    "DrillItem",
    "DrillLog",
    "DrillPlan",
    "DrillSession",
    "Drills",
    "Memory",
    "MemoryModel",
    "Outcome",
    "Presentation",
    "Rating",
    "SessionSummary",
    "Undo",
    "WayIn",
    "check_drills",
    "rating_from_choice",
    "rating_from_grade",
    "rating_from_self_mark",
    "return_line",
]
