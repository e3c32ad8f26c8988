"""How well sentences are read as claims: the labelled ones of `rubrics/gold/claims.jsonl`, field by field.

    python -m benchmarks.claims                                     # the rules, both halves
    TUTOR_MODEL__MODEL_DIR=… python -m benchmarks.claims --model    # and the built-in model, alone and after them
    python -m benchmarks.claims --show                              # and what is read otherwise, held-out ones not

"claim" is whether something testable is claimed at all; the other fields are counted over sentences that claim
something. A statistic that is not said is right as the line's usual one. "whole" is every field of a sentence;
"wrong, not said" counts lines with nothing open or unread that are not what was claimed.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from rubrics.claim_gold import ClaimSentence, load_claim_gold
from tutor.lab.gallery import entry_named
from tutor.lab.quantities import BY_ID
from tutor.lab.sentence import Proposal, better, read_sentence
from tutor.llm.capabilities import probe_capabilities
from tutor.llm.catalogue import DEFAULT_ENTRY
from tutor.llm.embedded import EmbeddedServer
from tutor.llm.errors import LlmError
from tutor.settings import load_settings

FIELDS = ("claim", "changes", "statements", "class", "quantity", "statistic", "relation", "amount", "whole")
Reader = Callable[[ClaimSentence], Proposal]
Stated = tuple[str, str, str, str, str]


def by_rules(one: ClaimSentence) -> Proposal:
    """The rules' reading."""
    entry = entry_named(one.scenario)
    return read_sentence(one.sentence, entry.text, entry.folder)


def wanted(one: ClaimSentence) -> list[Stated]:
    """The labels as a proposal has them."""
    return [
        (
            s.class_name, s.quantity, (s.statistic or "p95") if BY_ID[s.quantity].statistics else "", s.relation,
            s.amount or "",
        )
        for s in one.statements
    ]  # fmt: skip


def read(proposal: Proposal) -> list[Stated]:
    """What was proposed, in the same form."""
    return [(s.class_name, s.quantity, s.statistic, s.relation, s.amount) for s in proposal.statements]


def score(one: ClaimSentence, proposal: Proposal) -> dict[str, list[bool]]:
    """Right or wrong, by field."""
    labels, found = wanted(one), read(proposal)
    out: dict[str, list[bool]] = {"claim": [bool(labels) == bool(proposal.line)]}
    if not labels:
        return out
    changes = sorted((path, value or "?") for path, value in one.changes) == sorted(proposal.changes)
    out |= {"changes": [changes], "statements": [len(labels) == len(found)]}
    left = list(found)
    for label in labels:
        alike = [sum(a == b for a, b in zip(label, one, strict=True)) + (label[1] == one[1]) * 5 for one in left]
        near = left.pop(alike.index(max(alike))) if alike and max(alike) >= 5 else ("",) * 5
        for place, name in enumerate(("class", "quantity", "statistic", "relation", "amount")):
            out.setdefault(name, []).append(label[place] == near[place])
    out["whole"] = [changes and sorted(labels) == sorted(found)]
    return out


def table(rows: Sequence[tuple[str, Sequence[ClaimSentence], Sequence[Proposal]]]) -> str:
    """A row a reader."""
    lines = ["| | " + " | ".join((*FIELDS, "wrong, not said")) + " |", "|---|" + "--:|" * (len(FIELDS) + 1)]
    for name, sentences, proposals in rows:
        right, of, silent = Counter[str](), Counter[str](), 0
        for one, proposal in zip(sentences, proposals, strict=True):
            for field, marks in score(one, proposal).items():
                right[field] += sum(marks)
                of[field] += len(marks)
            silent += proposal.complete and not all(all(marks) for marks in score(one, proposal).values())
        lines.append(f"| {name} | " + " | ".join(f"{right[f] / of[f]:.2f}" for f in FIELDS) + f" | {silent} |")
    return "\n".join(lines)


async def by_model(sentences: Sequence[ClaimSentence]) -> list[Proposal]:
    """The built-in model's reading of each."""
    from tutor.lab.sentence.asked import ask_model

    settings, found = load_settings(), []
    server = EmbeddedServer(settings.model_dir / DEFAULT_ENTRY.file_name, settings.model.context_tokens)
    endpoint = await server.start()
    try:
        capabilities = await probe_capabilities(endpoint, known=server.capabilities)
        for one in sentences:
            entry = entry_named(one.scenario)
            try:
                found.append(await ask_model(endpoint, capabilities, one.sentence, entry.text, entry.folder))
            except LlmError as error:  # counted as no claim
                found.append(Proposal("", missing=(error.message,)))
            print(f"{one.id}  {found[-1].line}", flush=True)
    finally:
        await server.stop()
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description="sentences read as claims")
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    sentences = load_claim_gold()
    rules = [by_rules(one) for one in sentences]
    readers = {"rules": rules}
    if given.model:
        # The model is not changed by what it gets wrong, so the held-out half is enough.
        asked = [one for one in sentences if one.held_out]
        replies = dict(zip((one.id for one in asked), asyncio.run(by_model(asked)), strict=True))
        readers["built-in model"] = [replies.get(one.id, Proposal("")) for one in sentences]
        # As in the program: asked where the rules leave something open, and taken where its line is whole.
        readers["rules, then model"] = [better(r, m) for r, m in zip(rules, readers["built-in model"], strict=True)]
    rows = []
    for name, proposals in readers.items():
        for half in (False, True) if name == "rules" else (True,):
            here = [n for n, one in enumerate(sentences) if one.held_out == half]
            title = f"{name}, {'held out' if half else 'looked at'} ({len(here)})"
            rows.append((title, [sentences[n] for n in here], [proposals[n] for n in here]))
    print(table(rows))
    if given.show:
        for one, proposal in zip(sentences, rules, strict=True):
            if not one.held_out and not all(all(marks) for marks in score(one, proposal).values()):
                print(f"{one.id}  {one.sentence}\n  read    {proposal.line}\n  labels  {one.changes} {wanted(one)}")


if __name__ == "__main__":
    main()
