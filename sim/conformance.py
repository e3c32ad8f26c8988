"""`python -m sim.conformance FILE`: run recorded scheduler cases and compare every step.

Exit codes: 0 all cases agree, 1 at least one does not, 2 the file or the command line cannot be used.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sim.accounting import (
    Lookups,
    Verification,
    count_speculation,
    kv_block_bytes,
    max_concurrency,
    window_rate,
)
from sim.casefile import Case, CaseRequest, Step, Table, Unreadable, load_cases
from sim.errors import ScenarioError
from sim.kv import TokenStream
from sim.vllm import Engine, EngineConfig, EngineRequest, Scheduler, StepPlan


@dataclass(frozen=True)
class Difference:
    """Where a case first left the record."""

    step: int | None
    """The case's step, from 1; None for its state at the end, and in a table."""
    field: str
    expected: object
    got: object
    row: int | None = None
    """The table's row, from 1."""

    def __str__(self) -> str:
        place = f"row {self.row}" if self.row else f"step {self.step}" if self.step else "at the end"
        return f"{place}: {self.field}: expected {_short(self.expected)}, got {_short(self.got)}"


@dataclass(frozen=True)
class Outcome:
    """How one case or table went."""

    id: str
    kind: str
    """`case` or `table`."""
    passed: bool
    difference: Difference | None = None
    reason: str | None = None
    """Why it could not be run."""


class _Unknown(Exception):
    """The record speaks of something this engine has no value for."""


def run_file(path: Path, engine: Engine = "0.33") -> tuple[Outcome, ...]:
    """Run all cases of a file. Raises ScenarioError for one that cannot be used."""
    return tuple(run_case(case, engine) for case in load_cases(path))


def run_case(case: Case | Table | Unreadable, engine: Engine = "0.33") -> Outcome:
    """Run one case to its first difference.

    The records are of 0.33; with engine 0.11, a case whose note says where that version differs is followed
    to there, and what the note gives for it is expected.
    """
    kind = "table" if isinstance(case, Table) else "case"
    if isinstance(case, Unreadable):
        return Outcome(case.id, kind, False, reason=case.reason)
    try:
        difference = _run_table(case) if isinstance(case, Table) else _Replay(case, engine).run()
    except (_Unknown, ValueError) as error:
        return Outcome(case.id, kind, False, reason=str(error))
    return Outcome(case.id, kind, difference is None, difference)


class _Replay:
    """One case against a scheduler."""

    def __init__(self, case: Case, engine: Engine) -> None:
        self._case = case
        self._old = engine == "0.11"
        self._specs = {request.id: (index, request) for index, request in enumerate(case.requests)}
        self._scheduler = Scheduler(case.config, engine)
        self._requests: dict[str, EngineRequest] = {}

    def run(self) -> Difference | None:
        note = self._case.version_note if self._old else None
        for step in self._case.steps:
            expected = step.expected
            last = note is not None and note.first_difference_at_step == step.step
            if note and last:
                extra = note.model_extra or {}
                value = next((value for key, value in extra.items() if key.startswith("value_0_11")), None)
                expected = {note.field: value}
            difference = self._step(step, expected)
            if difference or last:
                return difference
        return self._end()

    def _step(self, step: Step, expected: Mapping[str, Any]) -> Difference | None:
        events, scheduler = step.events_before, self._scheduler
        for name in events.arrive:
            if name in self._requests:
                raise _Unknown(f"{name!r} is there already (step {step.step})")
            request = self._requests[name] = _request(*self._specs[name], self._case.config)
            scheduler.add(request)
        for name in events.abort:
            if name in self._requests:
                scheduler.abort(self._requests[name])
        if events.reset_prefix_cache:
            done = scheduler.pool.reset()
            if events.reset_ok is not None and done != events.reset_ok:
                return Difference(step.step, "reset_ok", events.reset_ok, done)
        plan = scheduler.plan()
        state = _planned(scheduler, plan)
        state |= self._completed(scheduler.complete(plan))
        for name, value in expected.items():
            if name == "prefix_hit_tokens_if_arriving_now":
                got: object = self._probes(step.step, value)
            elif name not in state:
                raise _Unknown(f"this engine has no value for {name} (step {step.step})")
            else:
                got = state[name]
            if not _same(name, value, got):
                return Difference(step.step, name, value, got)
        return None

    def _completed(self, finished: Sequence[EngineRequest]) -> dict[str, object]:
        return {
            "finished_after_step": {
                request.id: {
                    "reason": "stop" if request.status == "finished_stopped" else "length",
                    "output_tokens": request.generated,
                }
                for request in finished
            },
            "free_blocks_after_step": self._scheduler.pool.free,
        }

    def _probes(self, step: int, probes: Any) -> list[dict[str, Any]]:
        block_size = self._case.config.block_size
        try:
            streams = [
                TokenStream([(str(label), int(tokens)) for label, tokens in probe["prompt"]], block_size, salt)
                for probe in probes
                for salt in [probe.get("cache_salt")]
            ]
        except (TypeError, KeyError, ValueError, AttributeError):
            raise _Unknown(f"the probes of step {step} are not lists of prompts of label and length") from None
        hits = map(self._scheduler.hit_tokens, streams)
        return [{**probe, "hit_tokens": hit} for probe, hit in zip(probes, hits, strict=True)]

    def _end(self) -> Difference | None:
        for name, expected in self._case.final.items():
            request = self._requests.get(name)
            got = {
                "status": request.status if request else None,
                "output_tokens": request.generated if request else None,
                "preemptions": request.preemptions if request else None,
            }
            for field, value in expected.items():
                if field not in got:
                    raise _Unknown(f"this engine has no value for {field} (at the end)")
                if got[field] != value:
                    return Difference(None, f"{name}.{field}", value, got[field])
        return None


def _request(index: int, spec: CaseRequest, config: EngineConfig) -> EngineRequest:
    return EngineRequest(
        id=spec.id,
        prompt_tokens=spec.prompt_tokens,
        text=TokenStream(spec.prompt_segments, config.block_size, spec.cache_salt),
        max_tokens=spec.max_tokens,
        priority=spec.priority,
        arrival=index if spec.arrival_time is None else spec.arrival_time,
        eos_at=spec.emits_eos_as_token_number,
        ignore_eos=spec.ignore_eos,
        stop_at=spec.emits_stop_token_as_token_number,
        min_tokens=spec.min_tokens,
    )


def _planned(scheduler: Scheduler, plan: StepPlan) -> dict[str, object]:
    """What is known once the step is planned, under the record's names."""
    return {
        "scheduled_tokens": {request.id: tokens for request, tokens in plan.scheduled.items()},
        "total_scheduled_tokens": plan.total_tokens,
        "admitted": [request.id for request in plan.admitted],
        "resumed": [request.id for request in plan.resumed],
        "preempted": [request.id for request in plan.preempted],
        "running": [request.id for request in scheduler.running],
        "waiting": [request.id for request in scheduler.waiting],
        "free_blocks_after_schedule": scheduler.pool.free,
        "blocks_held": {request.id: request.held for request in scheduler.running},
        "requests_sampling_a_token": [request.id for request in plan.sampling],
        "cached_tokens_at_admission": {request.id: tokens for request, tokens in plan.cached_tokens.items()},
        "prefix_cache_stats_this_step": asdict(plan.prefix),
        "kv_usage": scheduler.pool.usage,
    }


_UNORDERED = {"preempted", "requests_sampling_a_token"}
"""Lists whose order the record does not define."""


def _same(name: str, expected: object, got: object) -> bool:
    if isinstance(expected, list) and isinstance(got, list) and name in _UNORDERED:
        return sorted(map(str, expected)) == sorted(map(str, got))
    if name == "accepted_per_position" and isinstance(expected, list) and isinstance(got, list):
        # A position that no draft reached may be written as zero or left out.
        length = max(len(expected), len(got))
        return expected + [0] * (length - len(expected)) == got + [0] * (length - len(got))
    if isinstance(expected, int | float) and isinstance(got, float):
        return math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-9)
    if name == "scheduled_tokens" and isinstance(expected, dict) and isinstance(got, dict):
        return list(expected.items()) == list(got.items())
    return expected == got


def _run_table(table: Table) -> Difference | None:
    for number, row in enumerate(table.rows, 1):
        kind = next((kind for kind in _TABLES if kind[0] <= row.keys()), None)
        if kind is None:
            raise _Unknown(f"row {number} is of no kind of table this engine knows")
        inputs, calculate = kind
        try:
            results = calculate(row)
        except (TypeError, KeyError, AttributeError, ZeroDivisionError):
            raise _Unknown(f"row {number} is not of the shape of its kind of table") from None
        for name, expected in row.items():
            if name in inputs:
                continue
            if name not in results:
                raise _Unknown(f"row {number}: this engine has no value for {name}")
            if not _same(name, expected, results[name]):
                return Difference(None, name, expected, results[name], row=number)
    return None


def _speculation(row: Mapping[str, Any]) -> dict[str, object]:
    drafts, emitted = row["drafts"], row["emitted"]
    pairs = [Verification(len(draft), len(out)) for draft, out in zip(drafts, emitted, strict=True)]
    counts = count_speculation(pairs)
    return {
        "num_drafts": counts.drafts,
        "num_draft_tokens": counts.draft_tokens,
        "num_accepted": counts.accepted_tokens,
        "accepted_per_position": list(counts.accepted_per_position),
        "scheduled_total_in_verify_step": _verify_step_tokens(pairs),
    }


def _verify_step_tokens(pairs: Sequence[Verification]) -> int:
    """Tokens of the step that verifies the drafts, after a step with a prompt of one token each."""
    tokens = 1 + sum(pair.draft_tokens + 1 for pair in pairs)
    config = EngineConfig(
        max_num_batched_tokens=tokens, max_num_seqs=len(pairs) or 1, usable_kv_blocks=tokens, max_model_len=tokens + 2
    )
    scheduler = Scheduler(config)
    requests = [EngineRequest(index, 1, max_tokens=pair.emitted_tokens + 2) for index, pair in enumerate(pairs)]
    for request in requests:
        scheduler.add(request)
    scheduler.complete(scheduler.plan())
    for request, pair in zip(requests, pairs, strict=True):
        request.drafts = pair.draft_tokens
    plan = scheduler.plan()
    scheduler.complete(plan, {request: pair.emitted_tokens for request, pair in zip(requests, pairs, strict=True)})
    return plan.total_tokens


def _hit_rate(row: Mapping[str, Any]) -> dict[str, object]:
    observations = [Lookups(item["requests"], item["queried"], item["hit"]) for item in row["observations"]]
    return {"hit_rate": window_rate(observations, row["window_requests"])}


def _block_bytes(row: Mapping[str, Any]) -> dict[str, object]:
    return {"bytes_per_block_per_layer": kv_block_bytes(**{name: row[name] for name in _BLOCK_SHAPE})}


def _concurrency(row: Mapping[str, Any]) -> dict[str, object]:
    return {"max_concurrency": max_concurrency(row["usable_kv_blocks"], row["block_size"], row["max_model_len"])}


_BLOCK_SHAPE = frozenset({"block_size", "kv_heads", "k_dim", "v_dim", "dtype_bytes"})

_TABLES: tuple[tuple[frozenset[str], Callable[[Mapping[str, Any]], dict[str, object]]], ...] = (
    (frozenset({"drafts", "emitted"}), _speculation),
    (frozenset({"window_requests", "observations"}), _hit_rate),
    (_BLOCK_SHAPE, _block_bytes),
    (frozenset({"usable_kv_blocks", "block_size", "max_model_len"}), _concurrency),
)


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 200 else text[:197] + "..."


def _report(outcomes: Sequence[Outcome]) -> str:
    lines = []
    for outcome in outcomes:
        why = outcome.difference or outcome.reason
        lines.append(f"{'passed' if outcome.passed else 'FAILED'}  {outcome.id}{f'  {why}' if why else ''}")
    passed = sum(outcome.passed for outcome in outcomes)
    lines.append(f"{passed} passed, {len(outcomes) - passed} failed")
    return "\n".join(lines) + "\n"


def _as_json(outcomes: Sequence[Outcome], engine: Engine) -> dict[str, object]:
    passed = sum(outcome.passed for outcome in outcomes)
    return {
        "engine": engine,
        "passed": passed,
        "failed": len(outcomes) - passed,
        "cases": [asdict(outcome) for outcome in outcomes],
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a command line the arguments that `run_command` reads."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a JSON file with a list `cases`")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    parser.add_argument("--engine", choices=["0.33", "0.11"], default="0.33", help="the vLLM version to follow")


def run_command(options: argparse.Namespace) -> int:
    """Print how the cases went and return the exit code, 0 or 1. Raises ScenarioError for a bad file."""
    outcomes = run_file(options.file, options.engine)
    if options.json:
        json.dump(_as_json(outcomes, options.engine), sys.stdout)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(_report(outcomes))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m sim.conformance", description="Compare the scheduler with recorded steps of vLLM."
    )
    add_arguments(parser)
    try:
        return run_command(parser.parse_args(arguments))
    except ScenarioError as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader (head, less) closed early; leave without a complaint at interpreter exit.
        sys.stderr.close()
        sys.exit(1)
