"""Replicas that are lost, come back, or become slow."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from sim.fleet.clock import Rank
from sim.fleet.lives import Life
from sim.fleet.node import Node, State
from sim.fleet.spec import Loss, Slow
from sim.replica import Sequence
from sim.table import NONE
from sim.ticks import to_ticks

if TYPE_CHECKING:
    from sim.fleet.driver import Driver


def schedule_faults(driver: Driver) -> None:
    """Let every fault of the scenario happen at its time."""
    for fault in driver.scenario.fleet.faults:
        if isinstance(fault, Loss):
            driver.clock.after(to_ticks(fault.at_s), Rank.WORLD, partial(_lose, driver, fault))
        else:
            _schedule_slow(driver, fault)


def _lose(driver: Driver, fault: Loss) -> None:
    node = driver.nodes[fault.replica]
    if node.state in (State.OFF, State.LOST):
        return
    victims = _empty(driver, node)
    node.starts += 1
    node.enter(State.OFF if fault.down_s is None else State.LOST)
    node.renew()
    driver.pools.refresh()
    if fault.down_s is not None:
        driver.clock.after(to_ticks(fault.down_s), Rank.WORLD, partial(_machine_is_back, driver, node, node.starts))
    for seq, life in victims:
        driver.counted(life, seq)
        if life.seq is seq:
            _go_on(driver, life, seq, node, fault)
    driver.pools.give_up_hope()
    driver.machines.round_off()


def _empty(driver: Driver, node: Node) -> list[tuple[Sequence, Life]]:
    """Take everything off a node, with what it had at this instant."""
    driver.machines.catch_up(node)
    victims = [*node.inside.items()]
    for seq, life in victims:
        if life.seq is seq:
            driver.see(life)
    for seq, _ in victims:
        # On a lost replica that only brings the sequence's counts up to date.
        node.replica.abort(seq, driver.clock.now)
    victims += node.leaving
    node.inside, node.leaving = {}, []
    return victims


def _go_on(driver: Driver, life: Life, seq: Sequence, node: Node, fault: Loss) -> None:
    if fault.in_flight == "fail":
        driver.fail(life)
        return
    life.attempts += 1
    life.lost_tokens = min(seq.computed, seq.prompt_tokens + seq.generated)
    fresh = driver.fresh(life)
    if fault.in_flight == "resume" and seq.generated:
        fresh.generated = seq.generated
        fresh.queued, fresh.scheduled = seq.queued, seq.scheduled
        fresh.first_token, fresh.last_token = seq.first_token, seq.last_token
        fresh.gaps = list(seq.gaps)
        if seq.first_run != NONE:
            fresh.stretches.append((node.index, seq.first_run, seq.last_run))
        fresh.stretches += seq.stretches
    driver.place(life, fresh)


def _machine_is_back(driver: Driver, node: Node, loss: int) -> None:
    if node.starts == loss and node.state is State.LOST:
        driver.pools.start(node, 0)
        driver.machines.round_off()


def _schedule_slow(driver: Driver, fault: Slow) -> None:
    node = driver.nodes[fault.replica]
    factor = Fraction(repr(fault.factor))
    clock = driver.clock
    clock.after(to_ticks(fault.from_s), Rank.WORLD, partial(_change_pace, driver, node, factor))
    clock.after(to_ticks(fault.to_s), Rank.WORLD, partial(_change_pace, driver, node, 1 / factor))


def _change_pace(driver: Driver, node: Node, factor: Fraction) -> None:
    """The step under way keeps its pace; overlapping slow-downs multiply."""
    driver.machines.catch_up(node)
    node.change_pace(factor)
    driver.machines.round_off()
