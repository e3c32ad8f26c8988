"""What a form says about a number, as a statement that an experiment can settle, and back in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sim.experiment.terms import Term
from tutor.lab.quantities import BY_ID, Chosen, chosen_from
from tutor.lab.surprise import read_number, read_range
from tutor.lab.words import measured

if TYPE_CHECKING:
    from sim.experiment.comparison import TermOutcome

RELATIONS: Final = (
    ("at_most", "at most"),
    ("at_least", "at least"),
    ("within", "between"),
    ("lower", "lower"),
    ("higher", "higher"),
    ("lower_by", "lower by at least %"),
    ("higher_by", "higher by at least %"),
)
NEEDS_AMOUNT: Final = frozenset({"at_most", "at_least", "within", "lower_by", "higher_by"})
COMPARES: Final = frozenset({"lower", "higher", "lower_by", "higher_by"})


def term_of(chosen: Chosen, relation: str, amount: str) -> Term | str:
    """The statement, or one sentence about what is wrong with the amount."""
    scale, unit = chosen.of.scale, chosen.of.unit
    if relation in ("lower", "higher"):
        return Term(chosen.metric, "at_most" if relation == "lower" else "at_least", 0.0, "difference")
    if relation == "within":
        found = read_range(amount)
        if isinstance(found, str):
            return found
        if found.low >= found.high:
            return "The upper amount must be above the lower one."
        return Term(chosen.metric, "within", found.low / scale, upper=found.high / scale)
    value = read_number(amount.removesuffix("%"))
    if value is None:
        what = "is empty" if not amount.strip() else "is not a number"
        return f"The amount {what}; write it in {'%' if relation in COMPARES else unit}, such as 50."
    if relation == "lower_by":
        return Term(chosen.metric, "at_most", -abs(value) / 100, "change")
    if relation == "higher_by":
        return Term(chosen.metric, "at_least", abs(value) / 100, "change")
    return Term(chosen.metric, "at_most" if relation == "at_most" else "at_least", value / scale)


def words_of(term: Term) -> str:
    """chat ITL p95 is at most 50 ms · chat TTFT p95 is lower by at least 10 %"""
    name, scale, unit = named(term.metric)
    if term.subject == "value":
        if term.relation == "within":
            assert term.upper is not None
            return f"{name} is between {measured(term.amount * scale)} and {measured(term.upper * scale)} {unit}"
        return f"{name} is {term.relation.replace('_', ' ')} {measured(term.amount * scale)} {unit}"
    if term.subject == "change" and term.relation != "within":
        way = "lower" if term.amount < 0 or (term.amount == 0 and term.relation == "at_most") else "higher"
        # At most −10 % is lower by at least 10 %; at least −10 % is lower by at most that.
        bound = "at least" if (term.relation == "at_most") == (way == "lower") else "at most"
        return f"{name} is {way} by {bound} {abs(term.amount) * 100:g} %"
    if term.subject == "difference" and term.amount == 0 and term.relation != "within":
        return f"{name} is {'lower' if term.relation == 'at_most' else 'higher'}"
    low, high = term.region
    factor, by = (100.0, "%") if term.subject == "change" else (scale, unit)
    return f"{name} changes by {measured(low * factor)} to {measured(high * factor)} {by}"


def named(metric: str) -> tuple[str, float, str]:
    """A metric in words, its scale and the unit that it is shown in."""
    from sim.metrics import name_in_words

    chosen = chosen_from(metric)
    if chosen is not None:
        return chosen.words(), chosen.of.scale, chosen.of.unit
    last = metric.rpartition(".")[2]
    known = BY_ID.get(last)
    if known is not None:
        return name_in_words(metric), known.scale, known.unit
    seconds = "_s" in metric.split(".")[1] if "." in metric else metric.endswith("_s")
    return name_in_words(metric), 1000.0 if seconds else 1.0, "ms" if seconds else ""


def shown_in(outcome: TermOutcome) -> tuple[str, float, str]:
    """What a statement's subject is called, the factor it is shown with, and its unit."""
    name, scale, unit = named(outcome.term.metric)
    if outcome.term.subject == "change":
        return f"change of {name}", 100.0, "%"
    return (name if outcome.term.subject == "value" else f"difference of {name}"), scale, unit
