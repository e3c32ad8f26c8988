"""Attempts to talk the grader round: generated strings, the answers they are put into, and what they gain.

attacks_on(question, seed)   the thirty patterns and the attacks on the evidence, several wordings each
carriers_of(question)        an empty, a partly right and a right answer to put them into
run_attacks(...)             grades each combination and says where an attack paid
"""

from tutor.evaluation.attacks.build import Attack, attacks_on
from tutor.evaluation.attacks.carriers import Carrier, carriers_of, carry
from tutor.evaluation.attacks.measure import Attempt, Rates, run_attacks, tally

__all__ = ["Attack", "Attempt", "Carrier", "Rates", "attacks_on", "carriers_of", "carry", "run_attacks", "tally"]
