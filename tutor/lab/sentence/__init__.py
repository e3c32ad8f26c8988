"""A candidate's own sentence, read as a claim: proposed as a line to be corrected and confirmed, never run as it is.

    "bounded chunks keep the chat gaps under 50 ms and still raise the output rate"
    → server.chunk_tokens -> ?: chat itl p95 at most 50 ms and all tokens/s higher

By rules. First what is changed is found and taken out of the sentence, then numbers that are measured, and what is said
of them, are paired clause by clause. What the sentence leaves open stands as `?` in the line and is named; nothing is
guessed but what the line itself would assume, which is named too. What no part of the line was read from is named as
unread, so that half a sentence is never shown as the whole of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tutor.lab.claim_line import LineError, read_line
from tutor.lab.known_fields import addable
from tutor.lab.quantities import ALL, BY_ID
from tutor.lab.scenario_text import check, leaves
from tutor.lab.sentence.parts import NAMES, OPEN, Change, Proposal, Statement, Text
from tutor.lab.sentence.settings import changes_in
from tutor.lab.sentence.statements import QUANTITY, statements_in
from tutor.lab.sentence.unread import unread

__all__ = ["OPEN", "Change", "Proposal", "Statement", "better", "finish", "read_sentence"]

LONGEST: Final = 1000
_QUESTION: Final = re.compile(r"\?\s*$|^\s*(?:why|what|how|which|should|does|do|can|is|are|will)\b", re.IGNORECASE)

_NOT_ONES_OWN: Final = re.compile(
    r"\b(?:(?:do(?:n't| not)|can(?:not|'t)) (?:know|say|tell|believe|think)|not (?:so )?(?:sure|certain)|unsure|"
    r"whether|i (?:wonder|doubt)|no (?:idea|opinion)|"
    r"(?:let's|let us|we should|i would|i'd) (?:try|look|see|test|check)|"
    r"(?:colleagues?|friend|boss|vendor|he|she|they|someone|people|docs?|paper|blog|manual) "
    r"(?:says?|said|claims?|claimed|thinks?|thought|believes?|told))\b",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(r"\b(p\d\d|mean|median|average|avg)\s*\(([^()]*)\)", re.IGNORECASE)


def _plain(sentence: str) -> str:
    """One way of writing what is written in several, such as p95(itl, chat)."""
    for sign, plain in (("’", "'"), ("−", "-"), ("\u00a0", " ")):
        sentence = sentence.replace(sign, plain)
    return _CALLED.sub(lambda m: f"{m[1]} {m[2].replace(',', ' ')} ", sentence)


def read_sentence(sentence: str, baseline: str, folder: Path | None = None, *, changed: bool = False) -> Proposal:
    """What the sentence claims about a scenario's text; `changed`: something is changed already, on the bench.

    Never raises: what cannot be read is said in the proposal.
    """
    text = Text(_plain(sentence[:LONGEST]))
    scenario = check(baseline, folder).scenario
    if scenario is None:
        return Proposal("", missing=("the scenario is not valid",))
    if _QUESTION.search(text.text):
        return Proposal("", missing=("it asks; a claim says where a number lies",))
    if (of_others := _NOT_ONES_OWN.search(text.text)) is not None:
        return Proposal("", missing=(f"“{of_others[0]}” leaves open whether you claim it",))
    classes = [item.name for item in scenario.classes]
    known = {leaf.path: leaf.text for leaf in leaves(baseline) or ()}
    paths = [*known, *(path for path in addable(scenario, baseline) if path not in known)]
    changes = list(changes_in(text, known, paths, classes))
    statements = statements_in(text, classes)
    if not statements:
        named = QUANTITY.search(sentence) is not None
        why = "where the number lies: at most, at least, lower or higher" if named else "a number that is measured"
        return Proposal("", tuple(changes), missing=(why,))
    return replace(
        finish(changes, statements, baseline, folder, classes, changed),
        unread=unread(text, [*changes], known, classes),
    )


def finish(
    changes: Sequence[Change],
    statements: Sequence[Statement],
    baseline: str,
    folder: Path | None,
    classes: Sequence[str],
    changed: bool,
) -> Proposal:
    """The line of what was read, with what it leaves open and what it takes as usual."""
    missing: list[str] = []
    assumed: list[str] = []
    full = []
    missing += [f"what {change.path.rpartition('.')[2]} is changed to" for change in changes if change.value == OPEN]
    for one in statements:
        if not one.class_name:
            one = replace(one, class_name=classes[0] if len(classes) == 1 else ALL)
            if len(classes) > 1 and BY_ID[one.quantity].statistics:
                assumed.append(f"{NAMES[one.quantity]} of all classes together")
        if BY_ID[one.quantity].statistics and not one.statistic:
            one = replace(one, statistic="p95")
            assumed.append(f"p95 of {one.class_name} {NAMES[one.quantity]}")
        if one.relation not in ("lower", "higher", "steady") and not one.amount:
            missing.append(f"the amount for {one.class_name} {NAMES[one.quantity]}")
        if one.relation == "steady":
            missing.append(f"how high {one.class_name} {NAMES[one.quantity]} may be and still count as the same")
        if one.relation.startswith(("lower", "higher")) and not changes and not changed:
            missing.append("what is changed, so that there is something to compare with")
        full.append(one)
    line = " and ".join(one.in_words() for one in full)
    if changes:
        line = ", ".join(f"{change.path} -> {change.value}" for change in changes) + ": " + line
    if not missing:
        try:
            read = read_line(line, baseline, folder)
        except LineError as error:
            if not (changed and not changes):
                missing.append(str(error).rstrip("."))
        else:
            if changes and not changed and check(read.text, folder).scenario == check(baseline, folder).scenario:
                missing.append("a change: the scenario has this already")
    return Proposal(line, tuple(changes), tuple(full), tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(assumed)))


def better(rules: Proposal, model: Proposal) -> Proposal:
    """Which of two readings is shown: the rules' where it leaves nothing open, else the model's where that does not.

    The model fills in and does not contradict: what the rules did read has to stand in its reading as well.
    """
    if rules.complete or not model.complete:
        return rules
    changed = {change.path: change.value for change in model.changes}
    if any(path not in changed or value not in (OPEN, changed[path]) for path, value in rules.changes):
        return rules
    if any(not any(_fills(one, other) for other in model.statements) for one in rules.statements):
        return rules
    return model


def _fills(one: Statement, other: Statement) -> bool:
    """Whether the second statement is the first one, with an amount where that has none."""
    same = (one.class_name, one.quantity, one.statistic) == (other.class_name, other.quantity, other.statistic)
    return same and one.amount in ("", other.amount)
