"""The roofline against the chips' peaks, known sizes of models, and figures of real servers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cost import RooflineCost, StepWork, attention_pairs, cost_model, gpu, gpu_names, kv_blocks, model_names
from sim.cost import model_shape as shape_of
from sim.ticks import to_seconds


def roofline(model: str, chip: str, **more: object) -> RooflineCost:
    return RooflineCost.model_validate({"kind": "roofline", "model": model, "gpu": chip, **more})


@pytest.mark.parametrize(
    ("name", "kib"),
    [
        ("llama-3.1-8b", 128),  # 32 layers · 8 heads · 128 · 2 · 2 bytes
        ("mistral-7b", 128),
        ("llama-2-7b", 512),
        ("llama-3-70b", 320),
        ("llama-2-70b", 320),
        ("qwen3-32b", 256),
        ("qwen2.5-7b", 56),
        ("qwen3-30b-a3b", 96),
        ("opt-13b", 800),
    ],
)
def test_kv_bytes_of_a_token(name: str, kib: int) -> None:
    assert shape_of(name).kv_bytes_per_token() == kib * 1024


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("llama-3.1-8b", 8.03),
        ("llama-2-7b", 6.74),
        ("llama-2-70b", 68.98),
        ("llama-3-70b", 70.55),
        ("mistral-7b", 7.24),
        ("mixtral-8x7b", 46.7),
        ("qwen2.5-7b", 7.61),
        ("qwen3-32b", 32.8),
        ("qwen3-30b-a3b", 30.5),
        ("opt-13b", 12.85),
    ],
)
def test_parameters_as_published(name: str, billions: float) -> None:
    assert shape_of(name).parameters / 1e9 == pytest.approx(billions, rel=0.005)


@given(
    name=st.sampled_from(model_names()),
    chip=st.sampled_from(gpu_names()),
    gpus=st.sampled_from([1, 2, 4]),
    compute=st.floats(0.1, 1),
    bandwidth=st.floats(0.1, 1),
    prompt=st.integers(0, 8192),
    before=st.integers(0, 8192),
    seqs=st.integers(0, 256),
    context=st.integers(0, 300_000),
)
@settings(max_examples=300, deadline=None)
def test_no_step_is_faster_than_the_chip(
    name: str,
    chip: str,
    gpus: int,
    compute: float,
    bandwidth: float,
    prompt: int,
    before: int,
    seqs: int,
    context: int,
) -> None:
    if not prompt:
        before = 0
        seqs = max(seqs, 1)
    context = context if seqs else 0
    cost = roofline(
        name,
        chip,
        tensor_parallel=gpus,
        compute_efficiency=compute,
        bandwidth_efficiency=bandwidth,
        overhead_s=0,
    )
    pairs = attention_pairs(prompt, before) if prompt else 0
    work = StepWork("mixed", prompt, seqs, context + before, pairs)
    took_s = to_seconds(cost_model(cost).ticks(work))
    shape, peak = shape_of(name), gpu(chip)
    tokens = prompt + seqs
    operations = 2 * shape.active_parameters * tokens
    operations += 4 * shape.layers * shape.heads * shape.head_dim * (pairs + context)
    # Read in any case: attention and the weights of the experts one token chooses, the head, and the cache.
    read_bytes = 2.0 * (shape.active_parameters + shape.head_parameters)
    read_bytes += shape.kv_bytes_per_token() * (context + before)
    assert took_s >= operations / (peak.tflops * 1e12 * gpus) * (1 - 1e-12)
    assert took_s >= read_bytes / (peak.bandwidth_gb_per_s * 1e9 * gpus) * (1 - 1e-12)


def test_a_prompt_of_8192_tokens_on_one_h100_takes_longer_than_its_arithmetic() -> None:
    # 2 · 6.98e9 · 8,192 + 4 · 32 · 4,096 · 8,192² / 2 operations at 989.4e12 a second are 133 ms at least.
    took_s = to_seconds(
        cost_model(roofline("llama-3.1-8b", "h100-sxm")).ticks(
            StepWork("prefill", 8192, 0, 0, attention_pairs(8192, 0))
        )
    )
    assert took_s > 0.133


def test_tokens_from_the_prefix_cache_cost_no_matrix_arithmetic() -> None:
    model = cost_model(roofline("llama-3.1-8b", "h100-sxm"))
    whole = model.ticks(StepWork("prefill", 4096, 0, 0, attention_pairs(4096, 0)))
    half = model.ticks(StepWork("prefill", 2048, 0, 2048, attention_pairs(2048, 2048)))
    assert 0.45 < half / whole < 0.6


def test_decode_of_one_sequence_is_the_weights_over_the_bandwidth() -> None:
    cost = roofline("llama-3.1-8b", "h100-sxm", bandwidth_efficiency=1, overhead_s=0)
    took_s = to_seconds(cost_model(cost).ticks(StepWork("decode", 0, 1, 1)))
    shape = shape_of("llama-3.1-8b")
    assert took_s == pytest.approx(2 * (shape.active_parameters + shape.head_parameters) / 3.35e12, rel=1e-4)


def test_more_gpus_are_faster_but_pay_for_their_talk() -> None:
    work = StepWork("prefill", 2048, 0, 0, attention_pairs(2048, 0))
    one, two, four = (
        cost_model(roofline("llama-3-70b", "h100-sxm", tensor_parallel=gpus)).ticks(work) for gpus in (1, 2, 4)
    )
    assert one > two > four
    assert two > one / 2


def test_a_step_of_few_tokens_reads_few_experts() -> None:
    model = cost_model(roofline("mixtral-8x7b", "h100-sxm", tensor_parallel=2, overhead_s=0))
    one, many = (model.ticks(StepWork("decode", 0, seqs, 0)) for seqs in (1, 64))
    # Two of eight experts against nearly all: the layers' weights are 12.6 and 46.4 billion.
    assert 3 < many / one < 3.8


def test_kv_blocks_of_a_measured_server() -> None:
    # vLLM 0.19 on this GPU, at its default share of 0.9, counted 2,588 blocks with its null block.
    blocks = kv_blocks(shape_of("llama-3.1-8b"), gpu("rtx-4090"))
    assert blocks == pytest.approx(2587, rel=0.02)


def test_kv_blocks_by_hand() -> None:
    # 80 GiB · 0.9 = 77.31 GB, less 1.7 and 16.06 of weights, over 2 MiB a block.
    assert kv_blocks(shape_of("llama-3.1-8b"), gpu("a100-80gb-sxm")) == pytest.approx(59.55e9 / 2**21, rel=1e-3)


def test_a_model_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="raise tensor_parallel"):
        kv_blocks(shape_of("llama-3-70b"), gpu("a100-80gb-sxm"))
