"""What each way of asking the model is worth: area under the curve and κ beside the evidence, on calibration answers.

    TUTOR_MODEL__MODEL_DIR=… python -m benchmarks.techniques --every 3 --state techniques.jsonl

Every third calibration answer is put to the built-in model in each of these ways. A line an answer goes into the state
file at once, so that a run that was stopped goes on. Test items are never looked at.

    statement  does the whole answer express the statement that earns the point? (the one in use)
    sentence   the same about the answer's best sentence alone, as the evidence found it
    point      the same about the answer and each of the item's key points, the mean of the logits
    pair       which of two is the answer closer to on this matter, the example that earns the point or the one that
               nearly does; asked in both orders, and averaged

Logits are read relative to the middle of the item's two examples, asked in the same way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from question_bank import load_bank
from question_bank.question import Question
from rubrics import CriterionId
from tutor.evaluation.cases import Case
from tutor.evaluation.fitting import Row, held_out
from tutor.evaluation.gold import default_gold, read_gold
from tutor.evaluation.measures import rubric_words
from tutor.evaluation.metrics import area_under_curve, counts, kappa
from tutor.grading.evidence import find_all
from tutor.grading.grade import compose
from tutor.grading.judge import BODY, SYSTEM, logit_of
from tutor.grading.text import clean, is_foreign
from tutor.llm.catalogue import DEFAULT_ENTRY
from tutor.llm.complete import complete
from tutor.llm.embedded import EmbeddedServer
from tutor.llm.encoder import find_encoder
from tutor.llm.types import Deadlines, Endpoint, Message, Request
from tutor.settings import load_settings

JUDGED: tuple[CriterionId, ...] = ("reasoning", "failure", "verification")
TECHNIQUES = ("statement", "sentence", "point", "pair")
ASKED = {
    "statement": "\nStatement: {statement}\nDoes the answer express the main point of this statement, with no "
    "contradiction? Reply yes or no.",
    "pair": "\nFirst: {first}\nSecond: {second}\nOn the matter of these two, which one does the answer say: the first "
    "or the second? Reply yes if it is the first, no if it is the second.",
}


async def _logit(endpoint: Endpoint, body: str) -> float:
    chat: tuple[Message, ...] = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": body})
    reply = await complete(endpoint, Request(messages=chat, max_tokens=1, logprobs=True, top_logprobs=20), Deadlines())
    if not reply.logprobs:
        return 0.0
    first = reply.logprobs[0]
    return logit_of({first.token: first.logprob} | first.top) or 0.0


async def ask(
    endpoint: Endpoint, question: Question, answer: str, sentence: str, criterion: CriterionId
) -> dict[str, float]:
    """The raw logit of each technique for one criterion of one answer."""
    guide = question.criteria[criterion]
    body = BODY.format_map({"question": clean(question.prompt), "answer": clean(answer)})

    async def entails(text: str, statement: str) -> float:
        return await _logit(endpoint, text + ASKED["statement"].format(statement=" ".join(statement.split())))

    async def says_first(first: str, second: str) -> float:
        return await _logit(endpoint, body + ASKED["pair"].format(first=first, second=second))

    found = {"statement": await entails(body, guide.statement)}
    points = [await entails(body, p) for p in guide.key_points[:3]]
    found["point"] = sum(points) / len(points) if points else found["statement"]
    if guide.nearly_example:
        met, nearly = (" ".join(e.split()) for e in (guide.met_example, guide.nearly_example))
        found["pair"] = (await says_first(met, nearly) - await says_first(nearly, met)) / 2
    alone = BODY.format_map({"question": "(not shown)", "answer": clean(sentence)})
    found["sentence"] = await entails(alone, guide.statement) if sentence else -6.0
    return found


def _best(question: Question, answer: str) -> dict[CriterionId, str]:
    found = find_all(question, answer, JUDGED, rubric_words(), None)
    return {c: e.quote.text if e.quote is not None else "" for c, e in found.items()}


async def collect(cases: list[Case], state: Path) -> None:
    """Asks for what the state file does not have."""
    done = {json.loads(line)["id"] for line in state.read_text("utf-8").splitlines()} if state.exists() else set()
    settings = load_settings()
    server = EmbeddedServer(settings.model_dir / DEFAULT_ENTRY.file_name, settings.model.context_tokens)
    endpoint = await server.start()
    try:
        jobs: dict[str, tuple[Question, str]] = {}
        for case in cases:
            for which in ("met", "nearly"):
                jobs[f"{case.item}#{which}"] = (case.anchor, compose(case.anchor, which))
            jobs[case.id] = (case.question, case.answer)
        for name, (question, answer) in jobs.items():
            if name in done:
                continue
            best = _best(question, answer)
            logits = {c: await ask(endpoint, question, answer, best[c], c) for c in JUDGED}
            with state.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"id": name, "logits": logits}) + "\n")
            print(name, flush=True)
    finally:
        await server.stop()


def _anchored(known: Mapping[str, dict[str, dict[str, float]]], case: Case, c: CriterionId, name: str) -> float:
    middle = sum(known[f"{case.item}#{w}"][c].get(name, 0.0) for w in ("met", "nearly")) / 2
    return known[case.id][c].get(name, 0.0) - middle


def table(cases: list[Case], state: Path) -> str:
    """Per technique and criterion: area by itself and centred, and κ and area beside the evidence, items held out."""
    known = {r["id"]: r["logits"] for r in map(json.loads, state.read_text("utf-8").splitlines())}
    asked = [c for c in cases if c.id in known]
    encoder = find_encoder(load_settings().model_dir)
    lines = [f"{len(asked)} answers to {len({c.item for c in asked})} items; encoder: {'yes' if encoder else 'no'}", ""]
    lines += ["| | " + " | ".join(f"{c}: alone, κ and area with evidence" for c in JUDGED) + " |", "|---|---|---|---|"]
    cells: dict[str, list[str]] = {name: [] for name in ("evidence", *TECHNIQUES, "all")}
    for criterion in JUDGED:
        rows = []
        for case in asked:
            found = find_all(case.question, case.answer, (criterion,), rubric_words(), encoder)[criterion]
            features = found.features if found.quote is not None else {}
            rows.append(Row(case.id, case.item, features, None, case.labels[criterion]))
        met = [row.met for row in rows]
        for name, out in cells.items():
            if name == "evidence":
                told, alone = held_out(rows, criterion, 99, with_model=False), ""
            else:
                used = TECHNIQUES if name == "all" else (name,)
                logits = [
                    sum(math.tanh(_anchored(known, case, criterion, t) / 2) for t in used) / len(used) for case in asked
                ]
                told = held_out([replace(r, anchored=v) for r, v in zip(rows, logits, strict=True)], criterion, 99)
                alone = f"{area_under_curve(logits, met) or 0:.2f}; "
            p = [told[r.case_id] for r in rows]
            agreed = kappa(counts([int(v > 0.5) for v in p], [int(m) for m in met]))
            out.append(f"{alone}{agreed or 0:.2f}, {area_under_curve(p, met) or 0:.2f}")
    return "\n".join([*lines, *(f"| {name} | " + " | ".join(out) + " |" for name, out in cells.items())])


def main() -> None:
    """Ask and print the table; `--table` prints from the state alone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--state", type=Path, default=Path("techniques.jsonl"))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    cases = [c for c in read_gold(default_gold(), load_bank()).cases if c.split == "calibration"]
    cases = [c for c in cases if not is_foreign(c.answer)][:: given.every]
    if not given.table:
        asyncio.run(collect(cases, given.state))
    print(table(cases, given.state))


if __name__ == "__main__":
    main()
