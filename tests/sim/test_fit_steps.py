"""Step costs from measured steps: planted coefficients, the presets' own errors, floors, bad files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cost import (
    LinearCost,
    MixedMaxCost,
    RooflineCost,
    StepWork,
    attention_pairs,
    cost_model,
    gpu,
    model_shape,
    preset,
    preset_names,
)
from sim.cost.presets import point_errors
from sim.errors import ScenarioError
from sim.export.tables import step_blocks, write_table
from sim.fit.floors import floors_of
from sim.fit.forms import TERMS, FormName
from sim.fit.steps import fit_steps, load_steps
from sim.loading import load_scenario, parse_scenario
from sim.result import simulate
from sim.ticks import to_seconds


def some_steps() -> list[StepWork]:
    steps = [StepWork("prefill", n, 0, 0, attention_pairs(n, 0)) for n in (16, 64, 256, 512, 1024, 4096)]
    steps += [StepWork("prefill", 512, 0, c, attention_pairs(512, c)) for c in (1024, 8192)]
    steps += [StepWork("decode", 0, b, b * c) for b in (1, 8, 32, 64, 200) for c in (100, 1000, 4000)]
    steps += [StepWork("mixed", 300, b, b * c, attention_pairs(300, 0)) for b in (10, 100) for c in (500, 2000)]
    return steps


PLANTED: dict[FormName, LinearCost | MixedMaxCost] = {
    "linear": LinearCost(
        kind="linear",
        base_s=0.02,
        per_prefill_token_s=8e-5,
        per_decode_seq_s=2e-5,
        per_context_token_s=1.3e-7,
    ),
    "quadratic": LinearCost(
        kind="linear", base_s=0.006, per_prefill_token_s=2e-5, per_prefill_pair_s=8e-10, per_context_token_s=4e-8
    ),
    "split": LinearCost(
        kind="linear",
        base_s=0.028,
        per_prefill_token_s=1.6e-4,
        per_decode_seq_s=3e-5,
        per_context_token_s=2e-7,
        per_context_token_beside_prefill_s=1.8e-7,
    ),
    "mixed_max": MixedMaxCost(
        kind="mixed_max",
        base_s=0.001,
        weights_s=0.0064,
        per_token_s=2.5e-5,
        per_prefill_pair_s=8e-10,
        per_context_token_s=4e-8,
        per_decode_seq_s=1e-5,
    ),
}


@pytest.mark.parametrize("form", sorted(PLANTED))
def test_steps_of_a_model_give_the_model_back(form: FormName) -> None:
    planted = PLANTED[form]
    steps = some_steps()
    model = cost_model(planted)
    fit = fit_steps(steps, [to_seconds(model.ticks(step)) for step in steps], form, outliers=False)
    assert fit.error.max_percent < 0.01
    for name in TERMS[form]:
        assert getattr(fit.cost, name) == pytest.approx(getattr(planted, name), rel=1e-3, abs=1e-12)


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_no_coefficient_is_below_its_floor(seed: int) -> None:
    floors = floors_of(model_shape("llama-3.1-8b"), gpu("h100-sxm"))
    steps = some_steps()
    # Times that no such chip could reach.
    seconds = [1e-4 * (1 + (seed + 7 * i) % 13) for i in range(len(steps))]
    for form in TERMS:
        cost = fit_steps(steps, seconds, form, floors=floors).cost
        for name in TERMS[form]:
            if not (form == "mixed_max" and name == "base_s"):
                assert getattr(cost, name) >= floors.get(name, 0.0) * (1 - 1e-5)
        if isinstance(cost, MixedMaxCost):
            assert cost.base_s + cost.weights_s >= floors["weights_s"] * (1 - 1e-5)


@pytest.mark.parametrize("name", [name for name in preset_names() if preset(name).points])
def test_a_preset_states_its_error(name: str) -> None:
    found = preset(name)
    sizes = [abs(error) for error in point_errors(cost_model(found.cost), found.points)]
    assert found.error.mean_percent == pytest.approx(sum(sizes) / len(sizes), rel=5e-3)
    assert found.error.max_percent == pytest.approx(max(sizes), rel=5e-3)
    assert found.error.mean_percent <= 3
    assert found.error.max_percent <= 16


@pytest.mark.parametrize("name", preset_names())
def test_no_preset_is_faster_than_its_chips(name: str) -> None:
    found = preset(name)
    peak = cost_model(
        RooflineCost.model_validate(
            {
                "kind": "roofline",
                "model": found.model,
                "gpu": found.gpu,
                "tensor_parallel": found.tensor_parallel,
                "compute_efficiency": 1,
                "bandwidth_efficiency": 1,
                "overhead_s": 0,
                "all_reduce_latency_s": 0,
            }
        )
    )
    shape, chip = model_shape(found.model), gpu(found.gpu)
    mine = cost_model(found.cost)
    for step in some_steps():
        took_s = to_seconds(mine.ticks(step))
        tokens = step.prefill_tokens + step.decode_seqs
        operations = 2 * shape.active_parameters * tokens
        operations += 4 * shape.layers * shape.heads * shape.head_dim * step.prefill_pairs
        read_bytes = 2 * shape.active_parameters + shape.kv_bytes_per_token() * step.context_tokens
        assert took_s >= operations / (chip.tflops * 1e12 * found.tensor_parallel)
        assert took_s >= read_bytes / (chip.bandwidth_gb_per_s * 1e9 * found.tensor_parallel)
    # And never below the roofline of a lone decode, which is nothing but reading the weights.
    lone = StepWork("decode", 0, 1, 1)
    assert mine.ticks(lone) >= 0.99 * peak.ticks(lone)


def test_too_few_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="3 steps cannot tell the 4 coefficients"):
        fit_steps(some_steps()[:3], [0.1, 0.2, 0.3])


def test_steps_are_read_from_csv_and_jsonl(tmp_path: Path) -> None:
    rows = [
        {"prefill_tokens": 100, "decode_seqs": 0, "context_tokens": 0, "seconds": 0.03},
        {"prefill_tokens": 0, "decode_seqs": 3, "context_tokens": 900, "seconds": 0.02},
        {"prefill_tokens": 10, "decode_seqs": 3, "context_tokens": 903, "seconds": 0.025, "prefill_pairs": 1055},
    ]
    as_lines, as_csv = tmp_path / "steps.jsonl", tmp_path / "steps.csv"
    as_lines.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    as_csv.write_text(
        "seconds,prefill_tokens,decode_seqs,context_tokens,prefill_pairs\n"
        "0.03,100,0,0,\n0.02,0,3,900,\n0.025,10,3,903,1055\n",
        encoding="utf-8",
    )
    assert load_steps(as_lines) == load_steps(as_csv)
    steps, seconds = load_steps(as_lines)
    assert steps == [
        StepWork("prefill", 100, 0, 0, 5050),
        StepWork("decode", 0, 3, 900),
        StepWork("mixed", 10, 3, 903, 1055),
    ]
    assert seconds == [0.03, 0.02, 0.025]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seconds,prefill_tokens\n0.1,5\n", "line 2: decode_seqs must be a number of at least 0, but is missing"),
        ("seconds,prefill_tokens,decode_seqs,context_tokens\n0.1,-5,0,0\n", "line 2: prefill_tokens must be"),
        ("seconds,prefill_tokens,decode_seqs,context_tokens\nfast,5,0,0\n", "line 2: seconds must be a number"),
        ("seconds,prefill_tokens,decode_seqs,context_tokens\n0,5,0,0\n", "line 2: seconds must be above zero"),
        ("seconds,prefill_tokens,decode_seqs,context_tokens\n1,0,0,0\n", "line 2: a step without"),
        ('{"seconds": 1}\nnonsense\n', "line 1: prefill_tokens must be"),
        ("{broken\n", "line 1: not a line of JSON"),
    ],
)
def test_a_bad_file_of_steps_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "steps"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match="steps") as refused:
        load_steps(path)
    assert told in str(refused.value)


def test_a_simulation_s_own_table_of_steps_gives_its_cost_back(tmp_path: Path) -> None:
    planted = PLANTED["linear"]
    scenario = parse_scenario(
        {
            "name": "planted",
            "classes": [
                {
                    "name": "chat",
                    "prompt_tokens": {"dist": "uniform", "low_tokens": 50, "high_tokens": 900},
                    "output_tokens": {"dist": "uniform", "low_tokens": 5, "high_tokens": 200},
                    "arrivals": {"kind": "poisson", "rate_per_s": 6, "count": 150},
                }
            ],
            "server": {"policy": "vllm", "max_seqs": 32},
            "step_cost": planted.model_dump(),
        },
        "test",
    )
    path = tmp_path / "steps.csv"
    write_table(step_blocks(simulate(scenario)), path)
    fit = fit_steps(*load_steps(path), "linear")
    assert fit.error.max_percent < 0.01
    for name in TERMS["linear"]:
        assert getattr(fit.cost, name) == pytest.approx(getattr(planted, name), rel=1e-3)


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        ("{kind: preset, name: h100-llama-3.1-8}", "did you mean 'h100-llama-3.1-8b'?"),
        ("{kind: roofline, model: llama-3.1-8b, gpu: h100}", "did you mean 'h100-sxm'?"),
        (
            "{kind: roof, model: llama-3.1-8b, gpu: h100}",
            "kind must be one of fixed, linear, mixed_max, roofline, preset",
        ),
        ("{kind: mixed_max}", "makes every step take no time at all"),
    ],
)
def test_a_scenario_with_a_bad_cost_is_refused_in_one_sentence(tmp_path: Path, cost: str, told: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "name: bad\nclasses:\n  - {name: a, prompt_tokens: 5, output_tokens: 5, "
        f"arrivals: {{kind: times, times_s: [0]}}}}\nserver: {{policy: vllm}}\nstep_cost: {cost}\n",
        encoding="utf-8",
    )
    with pytest.raises(ScenarioError) as refused:
        load_scenario(path)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "cost",
    [
        {"kind": "preset", "name": "h100-llama-3.1-8b", "overhead_s": 0.001},
        {"kind": "roofline", "model": "qwen3-30b-a3b", "gpu": "h100-sxm", "tensor_parallel": 2},
        PLANTED["mixed_max"].model_dump(),
    ],
)
def test_every_kind_of_cost_runs_in_a_scenario(cost: dict[str, object]) -> None:
    data = {
        "name": "one",
        "classes": [
            {
                "name": "a",
                "prompt_tokens": 300,
                "output_tokens": 4,
                "arrivals": {"kind": "times", "times_s": [0.0]},
            }
        ],
        "server": {"policy": "vllm"},
        "step_cost": cost,
    }
    scenario = parse_scenario(data, "test")
    model = cost_model(scenario.step_cost)
    # One prefill, then three decodes that read 301, 302 and 303 tokens.
    prefill = model.ticks(StepWork("prefill", 300, 0, 0, attention_pairs(300, 0)))
    decodes = sum(model.ticks(StepWork("decode", 0, 1, n)) for n in (301, 302, 303))
    lives = simulate(scenario).log.lives
    assert lives["first_token"].tolist() == [prefill]
    assert lives["last_token"].tolist() == [prefill + decodes]
