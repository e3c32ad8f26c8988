"""Scenarios that name files: recorded traces as arrivals and as lengths, and tables of lengths."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from sim import Scenario, ScenarioError, load_scenario, parse_scenario, simulate
from sim.arrivals import generate
from sim.ticks import TICKS_PER_S
from sim.traces import load_trace
from sim.traffic import request_count

S = TICKS_PER_S
DATA = Path(__file__).parent / "data" / "traces"
AZURE = "azure_2023_conversation.csv"
MOONCAKE = "mooncake_synthetic.jsonl"


def scenario_file(folder: Path, **fields: Any) -> Path:
    """A scenario with one class in a folder that also holds the samples."""
    for sample in (AZURE, MOONCAKE):
        shutil.copy(DATA / sample, folder / sample)
    data = {
        "name": "replay",
        "classes": [{"name": "chat", **fields}],
        "server": {"policy": "mixed", "max_seqs": 16},
        "step_cost": {"kind": "linear", "base_s": 0.01, "per_prefill_token_s": 0.0001},
    }
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return path


def loaded(folder: Path, **fields: Any) -> Scenario:
    return load_scenario(scenario_file(folder, **fields))


def test_a_trace_is_replayed_with_its_times_lengths_and_prefixes(tmp_path: Path) -> None:
    made = generate(loaded(tmp_path, arrivals={"kind": "trace", "file": MOONCAKE, "start_s": 5}))
    trace = load_trace(DATA / MOONCAKE, name=MOONCAKE)
    assert [time - 5 * S for time in made.times] == list(trace.times)
    assert list(made.prompt_tokens) == list(trace.prompt_tokens)
    assert list(made.output_tokens) == list(trace.output_tokens)
    assert list(made.prefixes) == list(trace.prefixes)
    assert any(made.prefixes)


def test_speed_limit_and_broken_rows(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, arrivals={"kind": "trace", "file": AZURE, "speed": 4, "limit": 10})
    trace = load_trace(DATA / AZURE, limit=10)
    assert list(generate(scenario).times) == [time // 4 for time in trace.times]
    assert request_count(scenario.classes[0]) == 10
    (tmp_path / "broken.csv").write_text("time_s,prompt_tokens,output_tokens\n0,5,5\n1,x,5\n", encoding="utf-8")
    arrivals = {"kind": "trace", "file": "broken.csv"}
    with pytest.raises(
        ScenarioError, match=r"scenario.yaml, line \d+: classes\[0\]\.arrivals: broken.csv, line 3: prompt"
    ):
        loaded(tmp_path, arrivals=arrivals)
    skipping = loaded(tmp_path, arrivals={**arrivals, "on_error": "skip"}).classes[0].arrivals
    assert request_count(loaded(tmp_path, arrivals={**arrivals, "on_error": "skip"}).classes[0]) == 1
    assert skipping.kind == "trace"
    assert skipping.trace.notes[0].startswith("1 of 2 rows left out")


def test_coarse_clocks_and_drawn_traces_can_be_steered(tmp_path: Path) -> None:
    for sample in ("mooncake_conversation.jsonl", "servegen_client-trace.csv", "servegen_client-dataset.json"):
        shutil.copy(DATA / sample, tmp_path / sample)
    coarse = loaded(tmp_path, arrivals={"kind": "trace", "file": "mooncake_conversation.jsonl", "spread": False})
    assert all(time % (S // 1000) == 0 for time in generate(coarse).times)
    drawn = [
        generate(loaded(tmp_path, arrivals={"kind": "trace", "file": "servegen_client-trace.csv", "seed": seed})).times
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_lengths_of_its_own_leave_a_class_only_the_times_of_the_trace(tmp_path: Path) -> None:
    made = generate(loaded(tmp_path, arrivals={"kind": "trace", "file": MOONCAKE}, prompt_tokens=7, output_tokens=3))
    assert set(zip(made.prompt_tokens, made.output_tokens, made.prefixes, strict=True)) == {(7, 3, ())}
    with pytest.raises(ScenarioError, match="output_tokens is missing"):
        loaded(tmp_path, arrivals={"kind": "trace", "file": MOONCAKE}, prompt_tokens=7)


def test_a_system_prompt_goes_before_what_the_trace_shares(tmp_path: Path) -> None:
    made = generate(loaded(tmp_path, arrivals={"kind": "trace", "file": MOONCAKE}, prefix={"tokens": 64}))
    trace = load_trace(DATA / MOONCAKE, name=MOONCAKE)
    assert list(made.prompt_tokens) == [64 + tokens for tokens in trace.prompt_tokens]
    assert list(made.prefixes) == [(("chat/1", 64), *prefix) for prefix in trace.prefixes]


def test_columns_of_ones_own_table(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("when,in,out\n100,5,6\n350,7,8\n", encoding="utf-8")
    columns = {"time": "when", "unit": "ms", "prompt_tokens": "in", "output_tokens": "out"}
    made = generate(loaded(tmp_path, arrivals={"kind": "trace", "file": "own.csv", "columns": columns}))
    assert [(one.time, one.prompt_tokens, one.output_tokens) for one in made] == [(0, 5, 6), (S // 4, 7, 8)]


def test_lengths_drawn_from_a_trace_stay_in_pairs(tmp_path: Path) -> None:
    arrivals = {"kind": "poisson", "rate_per_s": 5, "count": 400}
    made = generate(loaded(tmp_path, arrivals=arrivals, lengths={"dist": "trace", "file": AZURE}))
    trace = load_trace(DATA / AZURE)
    recorded = set(zip(trace.prompt_tokens, trace.output_tokens, strict=True))
    assert set(zip(made.prompt_tokens, made.output_tokens, strict=True)) == recorded


@pytest.mark.parametrize(
    ("text", "allowed"), [("tokens,weight\n5,1\n9,0\n", {5}), ("5\n9\n\n", {5, 9}), ("\ufeff12", {12})]
)
def test_a_table_of_lengths(tmp_path: Path, text: str, allowed: set[int]) -> None:
    (tmp_path / "lengths.csv").write_text(text, encoding="utf-8")
    length = {"dist": "empirical", "file": "lengths.csv"}
    arrivals = {"kind": "burst", "count": 60}
    made = generate(loaded(tmp_path, arrivals=arrivals, prompt_tokens=length, output_tokens=2))
    assert set(made.prompt_tokens) == allowed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lengths.csv: holds 0 lengths"),
        ("5\nx\n", "lengths.csv, line 2: tokens must be a number, not 'x'"),
        ("0\n", "line 1: tokens must be from 1"),
        ("5,-1\n", "the weight must be from 0"),
        ("5,1\n6\n", "only 1 of 2 lengths have a weight"),
        ("5,0\n6,0\n", "all weights are zero"),
    ],
)
def test_a_broken_table_of_lengths_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "lengths.csv").write_text(text, encoding="utf-8")
    length = {"dist": "empirical", "file": "lengths.csv"}
    with pytest.raises(ScenarioError) as caught:
        loaded(tmp_path, arrivals={"kind": "burst", "count": 6}, prompt_tokens=length, output_tokens=2)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["none.csv", ".", "a\nb", "x" * 600])
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path, file: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        loaded(tmp_path, arrivals={"kind": "trace", "file": file})
    assert "classes[0].arrivals" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_scenario_from_plain_data_may_not_name_files(tmp_path: Path) -> None:
    data = json.loads(scenario_file(tmp_path, arrivals={"kind": "trace", "file": AZURE}).read_text(encoding="utf-8"))
    with pytest.raises(ScenarioError, match="a file can only be named in a scenario that is itself read from a file"):
        parse_scenario(data, "x")
    assert parse_scenario(data, "x", tmp_path) == load_scenario(tmp_path / "scenario.yaml")


def test_a_scenario_with_a_trace_is_a_value_like_any_other(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, arrivals={"kind": "trace", "file": MOONCAKE})
    assert scenario == loaded(tmp_path, arrivals={"kind": "trace", "file": MOONCAKE})
    assert generate(pickle.loads(pickle.dumps(scenario))) == generate(scenario)
    assert generate(copy.deepcopy(scenario)) == generate(scenario)
    assert generate(scenario.model_copy(update={"seed": 9})) == generate(scenario)
    assert scenario.model_dump()["classes"][0]["arrivals"]["file"] == MOONCAKE


def test_a_replayed_trace_runs_through_the_simulator(tmp_path: Path) -> None:
    result = simulate(loaded(tmp_path, arrivals={"kind": "trace", "file": AZURE}))
    assert result.counts.completed == 30


def test_an_ample_cache_serves_exactly_the_blocks_that_earlier_prompts_of_the_trace_had(tmp_path: Path) -> None:
    path = scenario_file(tmp_path, arrivals={"kind": "trace", "file": MOONCAKE, "speed": 0.01})
    data = json.loads(path.read_text(encoding="utf-8"))
    data["server"] = {"policy": "vllm", "max_seqs": 64, "kv_blocks": 5_000, "block_tokens": 512, "token_budget": 8192}
    result = simulate(parse_scenario(data, "x", tmp_path))
    seen: set[int] = set()
    cached = 0
    for line in (DATA / MOONCAKE).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        full = row["hash_ids"][: row["input_length"] // 512]
        known = next((i for i, block in enumerate(full) if block not in seen), len(full))
        # vLLM computes at least the last token of a prompt, so a hit never covers all of it.
        cached += 512 * min(known, (row["input_length"] - 1) // 512)
        seen.update(full)
    assert cached > 0
    assert result.work.cached_tokens == cached


def test_priority_and_tenant_belong_to_a_class(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, arrivals={"kind": "trace", "file": AZURE}, priority=-3, tenant="acme")
    assert scenario.classes[0].tenant == "acme"
    assert set(generate(scenario).priorities) == {-3}
