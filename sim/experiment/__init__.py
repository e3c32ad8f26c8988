"""Comparing two scenarios with the uncertainty shown: replications on common random numbers, intervals, a verdict.

from sim import load_scenario
from sim.experiment import Budget, Term, compare

outcome = compare(baseline, changed, [Term("chat.itl_s.p95", "at_most", 0.05)], Budget(seconds=20))
outcome.verdict, outcome.terms[0].interval
"""

from __future__ import annotations

from sim.experiment.comparison import Outcome, TermOutcome, compare
from sim.experiment.terms import Budget, Relation, Subject, Term, Verdict

__all__ = ["Budget", "Outcome", "Relation", "Subject", "Term", "TermOutcome", "Verdict", "compare"]
