"""Step costs from request times alone: two measured runs of vLLM, planted costs, and what a file must look like."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sim.cost import LinearCost, gpu, model_shape, preset, preset_names
from sim.errors import ScenarioError
from sim.fit.compare import METRICS, compare
from sim.fit.floors import floors_of
from sim.fit.forms import FormName
from sim.fit.loop import best_form, fit_run
from sim.fit.replay import replay
from sim.fit.runs import MeasuredRun, load_run
from sim.vllm import EngineConfig

MEASURED = Path(__file__).parent / "data" / "measured"
RTX_4090 = "vllm-0.19-rtx-4090-llama-3.1-8b"
RTX_PRO_6000 = "vllm-0.19-rtx-pro-6000-qwen3-32b"
ENGINES = {
    RTX_4090: EngineConfig(max_num_batched_tokens=2048, max_num_seqs=256, usable_kv_blocks=2587, max_model_len=32_768),
    RTX_PRO_6000: EngineConfig(
        max_num_batched_tokens=2048, max_num_seqs=128, usable_kv_blocks=25_000, max_model_len=32_768
    ),
}
FLOORS = {
    RTX_4090: floors_of(model_shape("llama-3.1-8b"), gpu("rtx-4090")),
    RTX_PRO_6000: floors_of(model_shape("qwen3-32b"), gpu("rtx-pro-6000"), 2),
}


def measured(name: str) -> MeasuredRun:
    return load_run(MEASURED / f"{name}.jsonl.gz")


def test_the_measured_runs_have_their_published_figures() -> None:
    # As published with the runs; times count from joining the engine's queue.
    published = {
        RTX_4090: (65.4566, 60.1109, 0.0324, 86.5783),
        RTX_PRO_6000: (36.9052, 40.7018, 0.0803, 90.4081),
    }
    for name, figures in published.items():
        run = measured(name)
        assert len(run) == 300
        times = (run.first_token_s, run.last_token_s)
        found = compare(run.arrival_s, run.output_tokens, times, times).measured
        for metric, figure in zip(("ttft_mean_s", "ttft_p50_s", "tpot_mean_s", "e2e_mean_s"), figures, strict=True):
            assert found[metric] == pytest.approx(figure, rel=2e-3)


def test_four_coefficients_reproduce_the_run_on_an_rtx_4090_within_a_percent() -> None:
    fit = fit_run(measured(RTX_4090), ENGINES[RTX_4090], "linear")
    assert set(fit.fitted.errors_percent) == set(METRICS)
    assert fit.fitted.worst_percent < 1
    assert fit.fitted.ttft_median_error_percent <= 0.3
    # The published simulation of this run with the same rules preempts 186 times.
    assert 150 < fit.preemptions < 220


@pytest.mark.parametrize(
    ("form", "limit"), [("linear", 3), ("split", 1), pytest.param("mixed_max", 1.5, marks=pytest.mark.slow)]
)
def test_the_run_on_two_rtx_pro_6000_within_three_percent(form: FormName, limit: float) -> None:
    fit = fit_run(measured(RTX_PRO_6000), ENGINES[RTX_PRO_6000], form, polish=0)
    assert fit.fitted.worst_percent < limit
    assert fit.fitted.ttft_median_error_percent < limit


@pytest.mark.parametrize(
    ("name", "form", "limit"),
    [
        (RTX_4090, "linear", 1.5),
        pytest.param(RTX_4090, "mixed_max", 1.5, marks=pytest.mark.slow),
        (RTX_PRO_6000, "mixed_max", 3),
    ],
)
def test_the_first_half_predicts_the_second(name: str, form: FormName, limit: float) -> None:
    fit = fit_run(measured(name), ENGINES[name], form, fit_first=150, floors=FLOORS[name], polish=0)
    assert fit.predicted is not None
    assert fit.fitted.requests == fit.predicted.requests == 150
    assert fit.predicted.worst_percent < limit


def test_the_form_that_predicts_best_is_chosen_by_half_and_half() -> None:
    run, config = measured(RTX_PRO_6000), ENGINES[RTX_PRO_6000]
    assert best_form(run, config, ("split", "mixed_max"), FLOORS[RTX_PRO_6000]) == "mixed_max"


@pytest.mark.parametrize("name", [name for name in preset_names() if preset(name).run])
def test_a_run_simulated_with_its_preset_has_the_stated_error(name: str) -> None:
    found = preset(name)
    assert found.run is not None
    assert found.settings is not None
    config = EngineConfig(
        max_num_batched_tokens=found.settings.token_budget,
        max_num_seqs=found.settings.max_seqs,
        usable_kv_blocks=found.settings.kv_blocks,
        max_model_len=32_768,
    )
    run = measured(found.run)
    result = replay(run, config, found.cost.build())
    sizes = [
        abs(error)
        for error in compare(
            run.arrival_s,
            run.output_tokens,
            (run.first_token_s, run.last_token_s),
            (result.first_token_s, result.last_token_s),
        ).errors_percent.values()
    ]
    assert found.error.mean_percent == pytest.approx(sum(sizes) / len(sizes), rel=0.01)
    assert found.error.max_percent == pytest.approx(max(sizes), rel=0.01)


@pytest.mark.parametrize(
    ("kv_blocks", "watermark", "ttft_mean_s", "makespan_s", "preemptions"),
    [
        (2587, 0.0, 65.4, 184.9, 186),
        (1500, 0.0, 114.1, 278.6, 217),
        (8000, 0.0, 17.3, 100.9, 138),
        (35_000, 0.0, 2.88, 76.7, 0),
        (2587, 0.02, 64.3, 181.5, 86),
        (2587, 0.10, 66.7, 184.1, 32),
    ],
)
def test_what_another_cache_would_do_agrees_with_an_independent_simulation(
    kv_blocks: int, watermark: float, ttft_mean_s: float, makespan_s: float, preemptions: int
) -> None:
    # The expected figures are those of another program with the same rules and these coefficients.
    cost = LinearCost(
        kind="linear",
        base_s=0.021834610595,
        per_prefill_token_s=8.28929414e-05,
        per_decode_seq_s=1.73735197e-05,
        per_context_token_s=7.48690038e-08,
    )
    run = measured(RTX_4090)
    config = ENGINES[RTX_4090].model_copy(update={"usable_kv_blocks": kv_blocks, "watermark": watermark})
    result = replay(run, config, cost.build())
    assert float((result.first_token_s - run.arrival_s).mean()) == pytest.approx(ttft_mean_s, rel=2e-3)
    assert float(result.last_token_s.max()) == pytest.approx(makespan_s, rel=2e-3)
    assert result.preemptions == pytest.approx(preemptions, abs=3)


def planted_run(cost: LinearCost, config: EngineConfig, requests: int = 120) -> MeasuredRun:
    """A run as this simulator itself would measure it."""
    rng = np.random.default_rng(3)
    arrivals = np.asarray(np.cumsum(rng.exponential(0.12, requests)), dtype=np.float64)
    arrivals -= arrivals[0]
    prompts = [int(value) for value in rng.integers(50, 1500, requests)]
    outputs = [int(value) for value in rng.integers(2, 300, requests)]
    empty = np.zeros(requests, dtype=np.float64)
    run = MeasuredRun("planted", arrivals, prompts, outputs, empty, empty, [()] * requests)
    result = replay(run, config, cost.build())
    return MeasuredRun("planted", arrivals, prompts, outputs, result.first_token_s, result.last_token_s, run.prefixes)


@pytest.mark.parametrize(("kv_blocks", "preempts"), [(100_000, False), (1500, True)])
def test_a_simulated_run_gives_its_coefficients_back(kv_blocks: int, preempts: bool) -> None:
    planted = LinearCost(
        kind="linear", base_s=0.012, per_prefill_token_s=6e-5, per_decode_seq_s=4e-5, per_context_token_s=1e-7
    )
    config = EngineConfig(max_num_batched_tokens=1024, max_num_seqs=64, usable_kv_blocks=kv_blocks, max_model_len=8192)
    fit = fit_run(planted_run(planted, config), config, "linear", polish=0)
    assert (fit.preemptions > 0) == preempts
    # A wait for a tenth of a second hangs on where in a step a request came; the steps themselves do not.
    assert fit.fitted.e2e_median_error_percent < 0.5
    assert abs(fit.fitted.errors_percent["tpot_mean_s"]) < 0.5
    assert fit.cost.base_s == pytest.approx(planted.base_s, rel=0.01)
    assert isinstance(fit.cost, LinearCost)
    assert fit.cost.per_prefill_token_s == pytest.approx(planted.per_prefill_token_s, rel=0.02)


def test_idle_time_is_not_put_on_the_steps() -> None:
    planted = LinearCost(kind="linear", base_s=0.01, per_prefill_token_s=1e-4)
    config = EngineConfig(max_num_batched_tokens=1024, max_num_seqs=8, usable_kv_blocks=10_000, max_model_len=8192)
    run = planted_run(planted, config, 40)
    apart = MeasuredRun(
        "apart",
        np.asarray(np.arange(40) * 100.0, dtype=np.float64),
        run.prompt_tokens,
        run.output_tokens,
        run.first_token_s,
        run.last_token_s,
        run.prefixes,
    )
    result = replay(apart, config, planted.build())
    slow = MeasuredRun(
        "apart",
        apart.arrival_s,
        run.prompt_tokens,
        run.output_tokens,
        result.first_token_s,
        result.last_token_s,
        run.prefixes,
    )
    fit = fit_run(slow, config, "linear", polish=0)
    assert fit.cost.base_s == pytest.approx(0.01, rel=1e-3)
    assert fit.fitted.worst_percent < 0.01


# ---- files ------------------------------------------------------------------------------------------


def test_a_run_is_read_from_csv_with_other_names(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(
        "arrival_time,input_toks,output_toks,first_token_ts,last_token_ts\n"
        "1001.5,20,3,1001.8,1002.0\n1000.0,10,2,1000.25,1000.5\n",
        encoding="utf-8",
    )
    run = load_run(path)
    assert run.arrival_s.tolist() == [0.0, 1.5]
    assert run.prompt_tokens == [10, 20]
    assert run.first_token_s.tolist() == [0.25, pytest.approx(1.8)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("arrival_s,prompt_tokens\n1,2\n", "line 2: first_token_s must be a number"),
        (
            "arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s\n5,2,2,1,2\n",
            "line 2: arrival_s, first_token_s and last_token_s must follow each other",
        ),
        (
            "arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s\n0,0,2,1,2\n",
            "line 2: prompt_tokens must be a number of at least 1, but is '0'",
        ),
        (
            "arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s\n0,5,2,1,2\n",
            "1 requests are too few to fit to",
        ),
        ('{"arrival_s": 1}\n[]\n', "line 1: first_token_s must be a number"),
        ('{"queued_s": 0, "prompt_tokens": 1, "output_tokens": 1, "first_token_s": 1, "last_token_s": 1, '
         '"prefix_blocks": "x"}\n', "line 1: prefix_blocks must be a list of whole numbers"),
    ],
)  # fmt: skip
def test_a_bad_run_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "run"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        load_run(path)
    assert told in str(refused.value)


# ---- command ----------------------------------------------------------------------------------------


def sim_fit(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sim", "fit", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_the_command_prints_a_step_cost_for_a_scenario() -> None:
    path = str(MEASURED / f"{RTX_PRO_6000}.jsonl.gz")
    done = sim_fit(path, "--form", "split", "--max-seqs", "128", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert LinearCost.model_validate(found["step_cost"]).base_s > 0.01
    assert found["fitted"]["requests"] == 300
    assert max(abs(error) for error in found["fitted"]["errors_percent"].values()) < 1
    assert found["predicted"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("missing.jsonl",), "missing.jsonl: no such file"),
        ((str(MEASURED / f"{RTX_4090}.jsonl.gz"), "--model", "llama-3.1-8b"), "--model and --gpu belong together"),
        (
            (str(MEASURED / f"{RTX_4090}.jsonl.gz"), "--model", "llama-3.1-8b", "--gpu", "rtx-409"),
            "did you mean 'rtx-4090'?",
        ),
        ((str(MEASURED / f"{RTX_4090}.jsonl.gz"), "--kv-blocks", "50"), "raise server.kv_blocks"),
    ],
)
def test_the_command_refuses_in_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    done = sim_fit(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_requests_of_one_token_have_no_tpot(tmp_path: Path) -> None:
    path = tmp_path / "single.jsonl"
    rows = [
        {
            "arrival_s": 0.5 * i,
            "prompt_tokens": 100 + 50 * (i % 7),
            "output_tokens": 1,
            "first_token_s": 0.5 * i + 0.02 + 1e-4 * (100 + 50 * (i % 7)),
            "last_token_s": 0.5 * i + 0.02 + 1e-4 * (100 + 50 * (i % 7)),
        }
        for i in range(30)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    done = sim_fit(str(path), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not [name for name in found["fitted"]["measured"] if name.startswith("tpot")]
    assert found["step_cost"]["base_s"] == pytest.approx(0.02, rel=1e-3)
    assert found["step_cost"]["per_prefill_token_s"] == pytest.approx(1e-4, rel=1e-3)


def test_the_command_fits_steps_and_chooses_a_form(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    rows = ["seconds,prefill_tokens,decode_seqs,context_tokens"]
    rows += [f"{0.001 + max(0.005, 2e-5 * n)},{n},0,0" for n in (10, 50, 100, 200, 400, 800, 1600)]
    rows += [f"{0.001 + max(0.005, 2e-5 * n) + 4e-8 * 500 * n},0,{n},{500 * n}" for n in (1, 10, 100, 200, 400)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = sim_fit(str(path), "--form", "auto", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["form"] == "mixed_max"
    assert found["error"]["max_percent"] < 1
    text = sim_fit(str(path), "--form", "auto").stdout
    assert "kind: mixed_max" in text
    assert "error of a step" in text
