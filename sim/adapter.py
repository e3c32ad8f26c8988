"""The SimPy replica's sequences and steps as a log."""

from __future__ import annotations

from collections.abc import Callable

from sim import log as columns
from sim.arrivals import generate
from sim.engine import Engine
from sim.lane import Lane, fits_lane
from sim.log import GAP, LIFE, RUN, STRETCH, Log
from sim.scenario import Scenario
from sim.schedulers import Sequence
from sim.table import NONE, Table
from sim.ticks import to_ticks


def run(
    scenario: Scenario,
    progress: Callable[[int, int, float], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Log:
    """Run the engine to its end. Raises ScenarioError for a request that can never be served."""
    if fits_lane(scenario):
        return Lane(scenario, generate(scenario)).run(progress, stop)
    engine = Engine(scenario)
    engine.run()
    lives, gaps = Table(LIFE), Table(GAP)
    ended = [_add(seq, scenario, engine.horizon, lives, gaps) for seq in engine.sequences]
    runs = Table(RUN)
    for step in engine.steps:
        kind = columns.KIND_NAMES.index(step.kind)
        seats = step.decode_seqs
        runs.add(step.start_ticks, 1, step.duration_ticks, 0, kind, step.prefill_tokens, seats, 0, seats, 0, 0)
    return Log(scenario, lives, (runs,), Table(STRETCH), gaps, max([engine.horizon or 0, *ended]))


def _add(seq: Sequence, scenario: Scenario, horizon: int | None, lives: Table, gaps: Table) -> int:
    """One life: server times plus transport, and nothing that the client sees after the horizon."""
    item = scenario.classes[seq.class_index]
    transport = to_ticks(item.transport_s)
    seen = list(seq.gaps)
    received = seq.generated
    first = None if seq.first_token is None else seq.first_token + transport
    last = None if seq.last_token is None else seq.last_token + transport
    if horizon is not None:
        while last is not None and last > horizon:
            received -= 1
            last = last - seen.pop() if seen else None
        first = None if last is None else first
    status, ended = columns.IN_FLIGHT, None
    if seq.rejected is not None:
        status, ended = columns.REJECTED, seq.rejected
    elif seq.cancelled is not None:
        status, ended = columns.CANCELLED, seq.cancelled
    elif received == seq.output_tokens:
        status, ended = columns.COMPLETED, last

    def column(time: int | None) -> int:
        return NONE if time is None else time

    lives.add(
        seq.id,
        seq.class_index,
        seq.number,
        status,
        NONE if seq.queued is None else 0,
        1,
        0,
        seq.prompt_tokens,
        seq.output_tokens,
        received,
        0,
        0 if item.prefilled else seq.computed,
        0,
        seq.wasted_output,
        seq.arrival,
        column(seq.queued),
        column(seq.scheduled),
        column(first),
        column(last),
        column(ended),
        transport,
        NONE,
        NONE,
    )
    for gap in seen:
        gaps.add(seq.id, gap)
    return column(ended)
