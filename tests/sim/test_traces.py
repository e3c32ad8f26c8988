"""Recorded traces: coarse clocks, shared prefixes, slices, statistics."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import ScenarioError
from sim.ticks import TICKS_PER_S
from sim.traces import Trace, load_trace
from sim.traces.prefixes import block_ids, shareable_tokens, shared_prefixes, without_private_parts
from sim.traces.rows import clock_step
from sim.traces.summary import render, summarize

S = TICKS_PER_S
DATA = Path(__file__).parent / "data" / "traces"


# ---- coarse clocks ---------------------------------------------------------------------------------


def test_mooncakes_three_second_steps_are_spread_inside_the_step_and_say_so() -> None:
    path = DATA / "mooncake_conversation.jsonl"
    recorded = [json.loads(line)["timestamp"] / 1000 for line in path.read_text(encoding="utf-8").splitlines()]
    trace = load_trace(path)
    first = load_trace(path, spread=False)
    assert [time / S for time in first.times] == recorded
    assert first.notes == ()
    assert "steps of 3 s" in trace.notes[0]
    assert len(set(trace.times)) == len(trace)
    # Nobody leaves the step the clock gave, up to the shift that puts the first request at 0.
    assert all(-3 < time / S - noted < 3 for time, noted in zip(trace.times, recorded, strict=True))
    assert trace.prompt_tokens == first.prompt_tokens
    assert load_trace(path) == trace


def test_a_fine_clock_and_batches_are_left_alone() -> None:
    assert load_trace(DATA / "mooncake_synthetic.jsonl").notes == ()
    assert clock_step([0] * 50) is None
    assert clock_step([k * S for k in range(50)]) is None
    assert clock_step([60 * S * (k // 10) for k in range(500)]) is None


@given(st.lists(st.integers(0, 40), min_size=60, max_size=200), st.sampled_from([1, 2, 3, 5]))
def test_a_step_of_seconds_is_found_through_a_millisecond_of_jitter(slots: list[int], step: int) -> None:
    times = [(slot + 7) * step * S + (slot % 3 - 1) * S // 1000 for slot in [*slots, *range(40)]]
    found = clock_step(times)
    assert found is not None
    assert (step * S) % found == 0


# ---- prefixes --------------------------------------------------------------------------------------


def test_blocks_of_one_prompt_only_and_all_behind_them_are_private() -> None:
    ids = [[0, 1, 2, 3], [0, 1, 4], [0, 1, 2, 5], [9], [8, 0]]
    prefixes = shared_prefixes(ids, [2000, 1400, 2048, 512, 1000], 512, "t")
    lengths = [[tokens for _, tokens in prefix] for prefix in prefixes]
    assert [sum(prefix) for prefix in lengths] == [1536, 1024, 1536, 0, 0]
    assert prefixes[0] == prefixes[2]
    assert prefixes[3] == prefixes[4] == ()


def test_prompts_agree_exactly_as_far_as_their_ids_do() -> None:
    ids = [[1, 2, 3], [1, 2, 4], [1, 2, 3], [1, 5], [1, 5], [1, 2, 4, 6], [1, 2, 4, 6]]
    prompts = [30, 30, 30, 15, 15, 40, 40]
    prefixes = shared_prefixes(ids, prompts, 10, "t")
    for a, one in enumerate(ids):
        for b, other in enumerate(ids):
            if a != b:
                common = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
                blocks = min(len(one), len(other)) if common is None else common
                assert agreement(prefixes[a], prefixes[b]) == min(blocks * 10, prompts[a], prompts[b])


def agreement(one: tuple[tuple[str, int], ...], other: tuple[tuple[str, int], ...]) -> int:
    """Tokens two prefixes have in common, told token by token."""
    streams = [[(label, i) for label, tokens in prefix for i in range(tokens)] for prefix in (one, other)]
    return next((i for i, (a, b) in enumerate(zip(*streams, strict=False)) if a != b), min(map(len, streams)))


trees = st.lists(st.lists(st.sampled_from("abc"), max_size=5), min_size=1, max_size=12)


def ids_in(paths: list[list[str]]) -> list[list[int]]:
    """Ids as traces have them: one for each different start of a prompt."""
    numbers: dict[str, int] = {}
    return [[numbers.setdefault("".join(path[: i + 1]), len(numbers)) for i in range(len(path))] for path in paths]


@given(trees)
def test_ids_to_prefixes_to_ids_keeps_what_prompts_have_in_common(paths: list[list[str]]) -> None:
    ids = ids_in(paths)
    prompts = [max(1, 4 * len(one)) for one in ids]
    prefixes = shared_prefixes(ids, prompts, 4, "t")
    again = list(block_ids(prefixes, prompts, 4))
    assert [len(one) for one in again] == [-(-prompt // 4) for prompt in prompts]
    counts = Counter(block for one in ids for block in one)
    for (a, new_a), (b, new_b) in pairwise(zip(ids, again, strict=True)):
        common = sum(x == y for x, y in zip(a, b, strict=False))
        assert sum(x == y for x, y in zip(new_a, new_b, strict=False)) == common
    # What an unlimited cache saves: every use of a block but its first.
    assert shareable_tokens(prefixes) == 4 * sum(count - 1 for count in counts.values())


@given(st.lists(st.lists(st.tuples(st.sampled_from("xy"), st.integers(1, 3)), max_size=3).map(tuple), max_size=6))
def test_cutting_private_parts_keeps_every_agreement(prefixes: list[tuple[tuple[str, int], ...]]) -> None:
    # A part is told as a whole: two prompts that go on alike within a label must have told the parts before alike.
    cut = without_private_parts(prefixes)
    assert without_private_parts(cut) == cut
    assert shareable_tokens(cut) == shareable_tokens(prefixes)


# ---- the trace -------------------------------------------------------------------------------------


def test_speed_slices_and_what_they_leave_in_common() -> None:
    trace = load_trace(DATA / "mooncake_synthetic.jsonl")
    twice = trace.faster(2)
    assert [time // 2 for time in trace.times] == list(twice.times)
    assert "2 times its speed" in twice.notes[-1]
    part = trace.between(5, 10)
    inside = [time for time in trace.times if 5 * S <= time < 10 * S]
    assert list(part.times) == [time - inside[0] for time in inside]
    assert trace.first(1).prefixes == ((),)
    assert trace.first(10_000) == trace
    with pytest.raises(ScenarioError, match="no request arrives from 1e"):
        trace.between(1e6, 2e6)
    with pytest.raises(ScenarioError, match="speed must be above 0"):
        trace.faster(0)


def test_the_summary_is_that_of_hand_arithmetic() -> None:
    trace = Trace(
        times=(0, 1 * S, 3 * S, 61 * S, 130 * S),
        prompt_tokens=(10, 20, 30, 40, 100),
        output_tokens=(5, 4, 3, 2, 1),
        prefixes=((("a", 10),), (("a", 10),), (("a", 10), ("b", 10)), (("a", 10), ("b", 5)), ()),
        source="hand",
    )
    summary = summarize(trace)
    assert (summary.requests, summary.duration_s, summary.rate_per_s) == (5, 130.0, 4 / 130)
    # Gaps 1, 2, 58, 69: mean 32.5, variance 976.25.
    assert summary.gap_cv == pytest.approx(976.25**0.5 / 32.5)
    # The finished windows hold 3 and 1: mean 2, variance 1.
    assert summary.dispersion == pytest.approx(0.5)
    assert (summary.prompt_tokens.mean, summary.prompt_tokens.p50, summary.prompt_tokens.largest) == (40.0, 30.0, 100)
    assert summary.prompt_tokens.p95 == pytest.approx(88.0)
    # Deviations −30 −20 −10 0 60 and 2 1 0 −1 −2: −200 over the root of 5,000 times 10.
    assert summary.correlation == pytest.approx(-200 / 50_000**0.5)
    # Repeated: 10, then 10, then 10 and 5, of 200 tokens.
    assert summary.shareable_share == pytest.approx(35 / 200)
    assert "5 requests in 130.0 s" in render(summary)


def test_one_request_has_no_rate() -> None:
    summary = summarize(Trace((0,), (4,), (2,), ((),)))
    assert (summary.rate_per_s, summary.gap_cv, summary.dispersion, summary.correlation) == (None,) * 4
    assert "–" in render(summary)


@pytest.mark.parametrize("times", [(), (1,), (0, 2, 1)])
def test_columns_that_are_no_trace_are_refused(times: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="trace"):
        Trace(times, (1,) * len(times), (1,) * len(times), ((),) * len(times))
