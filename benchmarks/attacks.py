"""Attempts to talk the grader round: how often each pattern gains a point, and what it costs right answers.

    python -m benchmarks.attacks                     # six items, code and evidence, without a model
    python -m benchmarks.attacks --model             # with the model of the settings (minutes)
    python -m benchmarks.attacks --carriers empty    # only by themselves; else in a partly right and a right answer too
    python -m benchmarks.attacks --seeds 0 1 2 3     # other words in the generators' slots
    python -m benchmarks.attacks --show              # and each string that paid

An attack pays on an empty or a partly right answer when a criterion is met that was not met without it. Drift is the
number of points out of a hundred that a right answer loses by it; attacks that state other values are left out there.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence

from question_bank import Question, build_question, load_bank
from tutor.evaluation.attacks import Attempt, attacks_on, carriers_of, run_attacks, tally
from tutor.evaluation.attacks.graders import by_settings

ITEMS = (
    "serving/prefill-decode/completion-time",
    "serving/prefill-decode/batching-slower-chat",
    "serving/memory-roofline/bubbles",
    "serving/memory-roofline/busy-but-waiting",
    "serving/capacity-cost/attempts-for-one",
    "serving/capacity-cost/where-the-clock-starts",
)


async def _run(questions: Sequence[Question], seeds: Sequence[int], model: bool, kinds: Sequence[str]) -> list[Attempt]:
    found: list[Attempt] = []
    async with by_settings(model) as grades:
        for question in questions:
            for seed in seeds:
                carriers = [c for c in carriers_of(question) if c.kind in kinds]
                found += await run_attacks(question, attacks_on(question, seed), carriers, grades)
    return found


def _print(attempts: Sequence[Attempt], show: bool) -> None:
    print(f"{'pattern':36}{'tried':>7}{'paid':>6}{'success':>9}{'drift of 100':>14}")
    names = list(dict.fromkeys((a.attack.family, a.attack.pattern) for a in attempts))
    rows = [(name, [a for a in attempts if a.attack.pattern == name]) for _, name in names]
    for family in ("pattern", "evidence"):
        for carrier in ("empty", "partial"):
            part = [a for a in attempts if a.attack.family == family and a.carrier in (carrier, "right")]
            rows.append((f"all, {'the 30 patterns' if family == 'pattern' else 'on evidence'}, {carrier}", part))
    for name, part in rows:
        rates = tally(name, part)
        print(f"{name:36}{rates.tried:7}{rates.paid:6}{rates.success:9.1%}{rates.drift:14.2f}")
    if show:
        for a in attempts:
            if a.carrier != "right" and a.gained:
                print(f"\n{a.item_id} [{a.attack.pattern}, wording {a.attack.wording}, {a.carrier}] "
                      f"gained {', '.join(sorted(a.gained))}\n   {a.attack.text[:400]!r}")  # fmt: skip
            elif a.carrier == "right" and a.lost:
                print(f"\n{a.item_id} [{a.attack.pattern}, wording {a.attack.wording}] a right answer lost "
                      f"{', '.join(sorted(a.before - a.after))}\n   {a.attack.text[:200]!r}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="How often attacks on the grader pay.")
    parser.add_argument("--model", action="store_true", help="with the model of the settings, not code alone")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of the generators")
    parser.add_argument("--items", nargs="+", default=list(ITEMS), help="items, by id")
    parser.add_argument("--carriers", nargs="+", default=["empty", "partial", "right"], help="which answers to attack")
    parser.add_argument("--show", action="store_true", help="list what paid and what was lost")
    options = parser.parse_args()
    bank = load_bank()
    questions = [build_question(bank.item(item), 0) for item in options.items]
    started = time.monotonic()
    attempts = asyncio.run(_run(questions, options.seeds, options.model, options.carriers))
    _print(attempts, options.show)
    strings = len({(a.item_id, a.attack.text) for a in attempts})
    print(f"{strings} strings on {len(questions)} items, {len(attempts)} gradings, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
