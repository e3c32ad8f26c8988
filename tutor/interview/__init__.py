"""The interview: what is asked, what was answered, what comes next; all of it folded from events."""

from tutor.interview.health import check_interviews
from tutor.interview.history import Entry
from tutor.interview.past import Past, past_of, weak_topics
from tutor.interview.plan import Plan, PlanEntry, lesson_plan, single_item_plan
from tutor.interview.plans import PlanError, make_plan, plan_names, section_plan
from tutor.interview.reading import last_section, lesson_opened, section_read, sections_read
from tutor.interview.session import MAX_ANSWER_CHARS, Session, SessionError
from tutor.interview.state import Mark, Phase
from tutor.interview.views import EntryView, Pending, Summary, unfinished

__all__ = [
    "MAX_ANSWER_CHARS",
    "Entry",
    "EntryView",
    "Mark",
    "Past",
    "Pending",
    "Phase",
    "Plan",
    "PlanEntry",
    "PlanError",
    "Session",
    "SessionError",
    "Summary",
    "check_interviews",
    "last_section",
    "lesson_opened",
    "lesson_plan",
    "make_plan",
    "past_of",
    "plan_names",
    "section_plan",
    "section_read",
    "sections_read",
    "single_item_plan",
    "unfinished",
    "weak_topics",
]
