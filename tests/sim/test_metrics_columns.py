"""Gaps told from runs of steps are the gaps that writing every token out gives."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Result, Scenario, parse_scenario
from sim.exact import exact_dot, exact_sum
from sim.log import CANCELLED, COMPLETED, FAILED, GAP, IN_FLIGHT, LIFE, REJECTED, RUN, STRETCH, Log
from sim.metrics import summarise
from sim.progressions import Progressions
from sim.table import NONE, Table
from sim.ticks import TICKS_PER_S, to_ticks

MS = 10**9


def column(values: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def table_of(names: tuple[str, ...], rows: Sequence[dict[str, int]]) -> Table:
    table = Table(names)
    for row in rows:
        assert not set(row) - set(names)
        table.add(*(row.get(name, 0) for name in names))
    return table


def two_class_scenario(slo: dict[str, float] | None = None, **more: object) -> Scenario:
    kind = {"prompt_tokens": 10, "output_tokens": 3, "arrivals": {"kind": "times", "times_s": [0.0]}}
    return parse_scenario(
        {
            "name": "made up",
            "classes": [{**kind, "name": "chat", "slo": slo or {}}, {**kind, "name": "batch"}],
            "server": {"policy": "continuous"},
            "step_cost": {"kind": "linear", "base_s": 0.01},
            **more,
        },
        "a test",
    )


def made_up_log(seed: int, replicas: int = 2, requests: int = 30, runs: int = 40) -> tuple[Log, list[list[int]]]:
    """A log as an engine might leave it, and the gaps of each request written out token by token."""
    rng = random.Random(seed)
    tables, durations = [], []
    for _ in range(replicas):
        rows, written, clock = [], [], 0
        for _ in range(runs):
            steps, first, growth = rng.choice([1, 1, 2, 9]), rng.randint(1, 50) * MS, rng.choice([0, 0, 3, MS, -7])
            written.append([first + growth * number for number in range(steps)])
            rows.append({"start": clock, "steps": steps, "first": first, "growth": growth, "kind": 1})
            clock += sum(written[-1])
        tables.append(table_of(RUN, rows))
        durations.append(written)
    lives, stretches, singles, gaps = [], [], [], []
    for number in range(requests):
        replica = rng.randrange(replicas)
        first, last = sorted((rng.randrange(runs), rng.randrange(runs)))
        mine = [gap for run in durations[replica][first + 1 : last + 1] for gap in run]
        for _ in range(rng.choice([0, 0, 1, 2])):
            single = rng.randint(1, 900) * MS
            other = rng.randrange(replicas)
            begin, end = sorted((rng.randrange(runs), rng.randrange(runs)))
            singles.append({"id": number, "ticks": single})
            stretches.append({"id": number, "replica": other, "first_run": begin, "last_run": end})
            mine += [single, *(gap for run in durations[other][begin + 1 : end + 1] for gap in run)]
        arrival = number * MS
        lives.append(
            {
                "id": number,
                "class_index": number % 2,
                "number": number // 2 + 1,
                "status": COMPLETED,
                "replica": replica,
                "attempts": 1,
                "output_tokens": len(mine) + 1,
                "wanted_tokens": len(mine) + 1,
                "prompt_tokens": 10,
                "arrival": arrival,
                "queued": arrival,
                "scheduled": arrival + MS,
                "first_token": arrival + 5 * MS,
                "last_token": arrival + 5 * MS + sum(mine),
                "ended": arrival + 5 * MS + sum(mine),
                "first_run": first,
                "last_run": last,
            }
        )
        gaps.append(mine)
    log = Log(
        two_class_scenario({"itl_s": 0.03}),
        table_of(LIFE, lives),
        tuple(tables),
        table_of(STRETCH, stretches),
        table_of(GAP, singles),
        10**15,
    )
    return log, gaps


@pytest.mark.parametrize("seed", range(8))
def test_gaps_of_a_log_are_those_written_out(seed: int) -> None:
    log, gaps = made_up_log(seed)
    result = Result(log)
    assert [list(record.gap_ticks) for record in result.requests] == gaps
    assert result.columns.gaps.count().tolist() == [len(mine) for mine in gaps]
    assert result.columns.gaps.longest().tolist() == [max(mine, default=NONE) for mine in gaps]
    limit = 30 * MS
    expected = [sum(gap <= limit for gap in mine) for mine in gaps]
    assert result.columns.gaps.count_at_most(limit).tolist() == expected


@pytest.mark.parametrize("seed", range(8))
def test_the_pooled_distribution_is_that_of_all_gaps_in_one_list(seed: int) -> None:
    log, gaps = made_up_log(seed)
    result = Result(log)
    assert result.overall.itl == summarise([gap for mine in gaps for gap in mine], TICKS_PER_S)
    chat = [gap for mine in gaps[::2] for gap in mine]
    assert result.classes["chat"].itl == summarise(chat, TICKS_PER_S)
    assert result.overall.max_gap == summarise([max(mine) for mine in gaps if mine], TICKS_PER_S)
    tpots = [sum(mine) / len(mine) for mine in gaps if mine]
    tpot = result.overall.tpot
    assert tpot is not None
    assert tpot.p99_s == pytest.approx(float(np.percentile(tpots, 99)) / TICKS_PER_S, rel=1e-12)
    assert tpot.mean_s == pytest.approx(sum(tpots) / len(tpots) / TICKS_PER_S, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_a_request_keeps_to_its_gap_limit_when_95_percent_of_its_gaps_do(seed: int) -> None:
    log, gaps = made_up_log(seed)
    good = sum(20 * sum(gap <= 30 * MS for gap in mine) >= 19 * len(mine) for mine in gaps[::2])
    goodput = Result(log).classes["chat"].goodput
    assert (goodput.submitted, goodput.good) == (len(gaps[::2]), good)
    assert goodput.missed == {"itl": len(gaps[::2]) - good}


def test_steps_of_all_replicas_come_in_order_of_time() -> None:
    log, _ = made_up_log(1)
    result = Result(log)
    assert len(result.steps) == result.step_count == sum(int(runs["steps"].sum()) for runs in log.runs)
    starts = [step.start_ticks for step in result.steps]
    assert starts == sorted(starts)
    for replica, series in enumerate(result.series):
        last = [step for step in result.steps if step.replica == replica][-1]
        assert series.end_ticks[-1] == last.start_ticks + last.duration_ticks


# ---- progressions ----------------------------------------------------------------------------------


@st.composite
def progressions(draw: st.DrawFn) -> Progressions:
    rows = draw(
        st.lists(
            st.tuples(
                st.one_of(st.integers(1, 5), st.integers(10**9, 10**12)),
                st.one_of(st.integers(0, 3), st.integers(0, 10**8)),
                st.integers(1, 30),
                st.integers(1, 5),
            ),
            min_size=1,
            max_size=20,
        )
    )
    return Progressions(*(column(values) for values in zip(*rows, strict=True)))


def written_out(pool: Progressions) -> list[int]:
    rows = zip(pool.first.tolist(), pool.growth.tolist(), pool.steps.tolist(), pool.weight.tolist(), strict=True)
    return sorted(
        value
        for first, growth, steps, weight in rows
        for value in (first + growth * number for number in range(steps))
        for _ in range(weight)
    )


@settings(max_examples=200, deadline=None)
@given(progressions(), st.data())
def test_counting_summing_and_ranking_agree_with_a_sorted_list(pool: Progressions, data: st.DataObject) -> None:
    values = written_out(pool)
    assert pool.n == len(values)
    assert pool.total == sum(values)
    limit = data.draw(st.one_of(st.sampled_from(values), st.integers(0, 10**12)))
    assert pool.at_most(limit) == sum(value <= limit for value in values)
    ranks = sorted(data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1, max_size=6)))
    assert pool.ranked(ranks) == [values[rank] for rank in ranks]


@settings(max_examples=100, deadline=None)
@given(progressions(), st.data())
def test_ranking_by_counting_agrees_too(pool: Progressions, data: st.DataObject) -> None:
    """The same with nothing small enough to be written out, and with samples too small to be lucky."""
    values = written_out(pool)
    ranks = sorted(data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1, max_size=6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sim.progressions._WRITTEN_OUT", 1)
        patch.setattr("sim.progressions._SAMPLE", 3)
        assert pool.ranked(ranks) == [values[rank] for rank in ranks]


def test_ranking_many_durations_needs_no_room_for_them() -> None:
    """A million progressions of a thousand steps each, three times over: 3·10⁹ durations, i·10⁶ + j."""
    count, steps = 10**6, 1000
    first = np.arange(count, dtype=np.int64) * 1000
    pool = Progressions(first, np.ones_like(first), np.full_like(first, steps), np.full_like(first, 3))
    assert pool.n == 3 * count * steps
    ranks = [0, 10**9 + 1, 10**9 + 2, 2_999_999_999]
    assert pool.ranked(ranks) == [rank // 3 for rank in ranks]


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), max_size=20))
def test_sums_do_not_overflow(pairs: list[tuple[int, int]]) -> None:
    left, right = column([pair[0] for pair in pairs]), column([pair[1] for pair in pairs])
    assert exact_dot(left, right) == sum(one * other for one, other in pairs)
    assert exact_sum(left) == sum(one for one, _ in pairs)
    assert exact_sum(-left) == -sum(one for one, _ in pairs)


# ---- goodput ---------------------------------------------------------------------------------------


def one_class_log(rows: Sequence[dict[str, int]], slo: dict[str, float], gaps: Sequence[tuple[int, int]] = ()) -> Log:
    scenario = two_class_scenario(slo, horizon_s=10.0)
    lives = [
        {"id": number, "replica": 0, "first_run": NONE, "last_run": NONE, "attempts": 1, "queued": 0, **row}
        for number, row in enumerate(rows)
    ]
    return Log(
        scenario,
        table_of(LIFE, lives),
        (Table(RUN),),
        Table(STRETCH),
        table_of(GAP, [{"id": number, "ticks": ticks} for number, ticks in gaps]),
        to_ticks(10.0),
    )


def life(status: int, tokens: int, first_ms: int, last_ms: int) -> dict[str, int]:
    never = tokens == 0
    return {
        "status": status,
        "output_tokens": tokens,
        "wanted_tokens": 2,
        "scheduled": NONE if never else 0,
        "first_token": NONE if never else first_ms * MS,
        "last_token": NONE if never else last_ms * MS,
        "ended": NONE if status == IN_FLIGHT else last_ms * MS,
    }


def test_goodput_counts_what_was_submitted_not_what_survived() -> None:
    rows = [
        life(COMPLETED, 2, 100, 150),  # good
        life(COMPLETED, 2, 900, 950),  # late first token
        life(COMPLETED, 1, 100, 100),  # one token: no TPOT, no gap, good
        life(COMPLETED, 2, 100, 400),  # slow
        life(REJECTED, 0, 0, 0),
        life(CANCELLED, 0, 0, 500),
        life(FAILED, 0, 0, 700),
        life(IN_FLIGHT, 1, 100, 100),
    ]
    gaps = [(0, 50 * MS), (1, 50 * MS), (3, 300 * MS)]
    result = Result(one_class_log(rows, {"ttft_s": 0.5, "itl_s": 0.2, "tpot_s": 0.2, "e2e_s": 0.3}, gaps))
    good = result.classes["chat"].goodput
    assert (good.submitted, good.good, good.good_tokens) == (8, 2, 3)
    assert good.attainment == 0.25
    assert good.missed == {"ttft": 1, "itl": 1, "tpot": 1, "e2e": 2}
    assert result.metric("chat.attainment") == 0.25
    assert result.metric("chat.goodput") == result.metric("goodput_requests_per_s") == 2 / 10
    assert result.metric("chat.goodput_tokens_per_s") == 3 / 10
    assert result.metric("chat.requests_per_s") == 4 / 10
    assert result.metric("batch.attainment") is None
    assert result.counts == (8, 8, 1, 1, 4, 1, 1)
    fates = ("completed", "cancelled", "rejected", "failed", "in_flight")
    assert sum(result.metric(name) or 0 for name in fates) == result.metric("submitted") == 8


def test_a_limit_is_met_to_the_tick() -> None:
    """TTFT of exactly the limit is in time; a picosecond more is not. TPOT 1 tick / 3 tokens above is not."""
    exact, above = life(COMPLETED, 4, 100, 400), life(COMPLETED, 4, 100, 400)
    above["last_token"] += 1
    late = life(COMPLETED, 4, 100, 400)
    late["first_token"] += 1
    late["last_token"] += 1
    result = Result(one_class_log([exact, above, late], {"ttft_s": 0.1, "tpot_s": 0.1}))
    assert result.classes["chat"].goodput.missed == {"ttft": 1, "tpot": 1}


def test_without_limits_every_completed_request_is_good() -> None:
    result = Result(one_class_log([life(COMPLETED, 1, 100, 100), life(CANCELLED, 0, 0, 10)], {}))
    assert result.metric("chat.attainment") == 0.5


def test_work_tells_what_was_wasted_recomputed_and_saved() -> None:
    rows = [
        {**life(COMPLETED, 2, 1, 2), "computed_tokens": 8, "cached_tokens": 2},
        {**life(CANCELLED, 1, 1, 2), "computed_tokens": 10, "wasted_tokens": 4},
        {**life(FAILED, 0, 0, 2), "computed_tokens": 5, "recomputed_tokens": 5, "wasted_tokens": 1},
    ]
    work = Result(one_class_log(rows, {})).work
    assert work._asdict() == {
        "prompt_tokens": 23,
        "output_tokens": 8,
        "wasted_prompt_tokens": 15,
        "wasted_output_tokens": 5,
        "unfinished_output_tokens": 1,
        "recomputed_tokens": 5,
        "cached_tokens": 2,
        "useful_tokens": 10,
    }
    assert work.useful_share == 10 / 31


def test_a_log_without_requests_has_no_numbers_and_no_errors() -> None:
    result = Result(one_class_log([], {"ttft_s": 1.0}))
    assert result.counts.submitted == 0
    assert result.metric("all.ttft_s") is None
    assert result.metric("chat.itl_s.p99") is None
    assert result.metric("goodput") is None
    assert result.classes["chat"].slo[0].held is None
    assert result.requests == ()
