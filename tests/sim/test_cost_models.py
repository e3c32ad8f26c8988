"""Every cost model: whole ticks, decode runs exactly as step by step, and never less for more work."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sim.cost import (
    FOREVER,
    CostModel,
    FixedCost,
    LinearCost,
    MixedMaxCost,
    PresetCost,
    RooflineCost,
    StepCost,
    StepWork,
    attention_pairs,
    cost_model,
    gpu_names,
    model_names,
    preset_names,
)
from sim.ticks import to_ticks

seconds = st.floats(0, 0.1, allow_nan=False)
small = st.floats(0, 1e-3, allow_nan=False)

linear_costs = st.builds(
    LinearCost,
    kind=st.just("linear"),
    base_s=seconds,
    per_prefill_token_s=small,
    per_prefill_pair_s=small,
    per_decode_seq_s=small,
    per_context_token_s=small,
    per_context_token_beside_prefill_s=small,
)
knee_costs = st.builds(
    MixedMaxCost,
    kind=st.just("mixed_max"),
    base_s=seconds,
    weights_s=seconds,
    per_token_s=small,
    per_prefill_pair_s=small,
    per_context_token_s=small,
    per_decode_seq_s=small,
    overhead_s=seconds,
)
fixed_costs = st.builds(
    FixedCost, kind=st.just("fixed"), prefill_s=seconds, decode_s=seconds, chunk_s=st.none() | seconds
)
# A GPU with so little arithmetic for its bandwidth that even decodes wait for it.
slow_gpu = {"tflops": 1.0, "bandwidth_gb_per_s": 3000, "memory_gib": 80, "link_gb_per_s": 100}
roofline_costs = st.builds(
    RooflineCost,
    kind=st.just("roofline"),
    model=st.sampled_from(model_names()),
    gpu=st.sampled_from([*gpu_names(), slow_gpu]),
    tensor_parallel=st.sampled_from([1, 2, 4]),
    compute_efficiency=st.floats(0.05, 1),
    bandwidth_efficiency=st.floats(0.05, 1),
    weight_bytes=st.sampled_from([0.5, 1, 2]),
    kv_bytes=st.sampled_from([1, 2]),
)
preset_costs = st.builds(PresetCost, kind=st.just("preset"), name=st.sampled_from(preset_names()), overhead_s=seconds)
costs = fixed_costs | linear_costs | knee_costs | roofline_costs | preset_costs


def works(chunks: list[tuple[int, int]], seqs: int, context: int) -> StepWork:
    tokens = sum(tokens for tokens, _ in chunks)
    kind = "decode" if not chunks else "mixed" if seqs else "prefill"
    pairs = sum(attention_pairs(*chunk) for chunk in chunks)
    return StepWork(kind, tokens, seqs, context + sum(before for _, before in chunks), pairs)  # type: ignore[arg-type]


chunk_lists = st.lists(st.tuples(st.integers(1, 4096), st.integers(0, 8192)), max_size=4)


@given(cost=costs, seqs=st.integers(1, 300), context=st.integers(1, 400_000), further=st.integers(0, 3000))
@settings(max_examples=300, deadline=None)
def test_a_decode_run_is_its_steps(cost: StepCost, seqs: int, context: int, further: int) -> None:
    model = cost_model(cost)
    first, growth, steps = model.decode_run(seqs, context)
    assert 1 <= steps <= FOREVER
    for k in {0, 1, 2, 3, further, steps - 1}:
        if k < min(steps, 10**6):
            assert first + k * growth == model.ticks(StepWork("decode", 0, seqs, context + k * seqs))


@given(
    cost=linear_costs | knee_costs | roofline_costs | preset_costs,
    chunks=chunk_lists,
    seqs=st.integers(0, 256),
    context=st.integers(0, 200_000),
    more_tokens=st.integers(0, 2048),
    more_seqs=st.integers(0, 64),
    more_context=st.integers(0, 50_000),
)
@settings(max_examples=200, deadline=None)
def test_more_work_never_takes_less_time(
    cost: StepCost,
    chunks: list[tuple[int, int]],
    seqs: int,
    context: int,
    more_tokens: int,
    more_seqs: int,
    more_context: int,
) -> None:
    model = cost_model(cost)
    if not chunks and not seqs:
        seqs = 1
    less = model.ticks(works(chunks, seqs, context))
    assert less >= 0
    assert model.ticks(works(chunks, seqs + more_seqs, context)) >= less
    assert model.ticks(works(chunks, seqs, context + more_context)) >= less
    longer = [(chunks[0][0] + more_tokens, chunks[0][1]), *chunks[1:]] if chunks else [(more_tokens + 1, 0)]
    assert model.ticks(works(longer, seqs, context)) >= less


def test_attention_pairs_by_counting() -> None:
    counted = sum(1 for query in range(7, 12) for key in range(query + 1))
    assert attention_pairs(5, 7) == counted


@given(chunks=st.lists(st.integers(1, 500), min_size=1, max_size=8))
def test_chunks_of_a_prompt_make_the_pairs_of_the_whole(chunks: list[int]) -> None:
    before = [sum(chunks[:i]) for i in range(len(chunks))]
    assert sum(map(attention_pairs, chunks, before)) == attention_pairs(sum(chunks), 0)


def test_a_linear_step_by_hand() -> None:
    model = cost_model(
        LinearCost(
            kind="linear",
            base_s=0.01,
            per_prefill_token_s=1e-4,
            per_prefill_pair_s=1e-9,
            per_decode_seq_s=1e-5,
            per_context_token_s=1e-7,
            per_context_token_beside_prefill_s=2e-7,
        )
    )
    # 10 ms + 20 · 0.01 ms + 30,000 · 0.1 µs
    assert model.ticks(StepWork("decode", 0, 20, 30_000)) == to_ticks(0.0132)
    # ... + 100 · 0.1 ms + 5,050 · 1 ns, and the context at 0.3 µs
    assert model.ticks(StepWork("mixed", 100, 20, 30_000, 5050)) == to_ticks(0.02920505)


def test_a_step_below_the_knee_waits_for_the_weights() -> None:
    cost = MixedMaxCost(kind="mixed_max", base_s=0.001, weights_s=0.005, per_token_s=2e-5, overhead_s=0.002)
    model = cost_model(cost)
    assert [model.ticks(StepWork("prefill", n, 0, 0)) for n in (1, 250, 500)] == [
        to_ticks(0.008),
        to_ticks(0.008),
        to_ticks(0.013),
    ]


def test_overhead_slows_every_step_of_a_preset() -> None:
    name = preset_names()[0]
    plain: CostModel = cost_model(PresetCost(kind="preset", name=name))
    slowed: CostModel = cost_model(PresetCost(kind="preset", name=name, overhead_s=0.003))
    work = StepWork("mixed", 300, 5, 1000, 45_150)
    assert slowed.ticks(work) - plain.ticks(work) == to_ticks(0.003)
    assert slowed.decode_run(5, 1000)[0] - plain.decode_run(5, 1000)[0] == to_ticks(0.003)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"kind": "preset", "name": "h100-lama-3.1-8b"}, "did you mean 'h100-llama-3.1-8b'?"),
        ({"kind": "roofline", "model": "llama-3.1-8", "gpu": "h100-sxm"}, "did you mean 'llama-3.1-8b'?"),
        ({"kind": "roofline", "model": "llama-3.1-8b", "gpu": "h100"}, "did you mean 'h100-sxm'?"),
        ({"kind": "roofline", "model": "llama-3.1-8b", "gpu": "h100-sxm", "tensor_parallel": 3}, "must divide"),
        ({"kind": "linear", "base_s": -1}, "greater than or equal to 0"),
        ({"kind": "mixed_max", "weights": 1}, "Extra inputs"),
    ],
)
def test_bad_costs_are_refused_with_the_remedy(data: dict[str, object], told: str) -> None:
    adapter: TypeAdapter[StepCost] = TypeAdapter(StepCost)
    with pytest.raises(ValidationError) as refused:
        adapter.validate_python(data)
    assert told in str(refused.value)
