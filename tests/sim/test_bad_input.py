"""Bad scenarios: one sentence that names the source, the field and what to do; never a traceback."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import Scenario, ScenarioError, builtin_scenario, load_scenario, parse_scenario, simulate
from sim.__main__ import main
from sim.loading import builtin_names, scenarios_dir

GOOD: dict[str, Any] = {
    "name": "good",
    "classes": [
        {
            "name": "chat",
            "prompt_tokens": 10,
            "output_tokens": 5,
            "arrivals": {"kind": "poisson", "rate_per_s": 1.0, "count": 3},
        }
    ],
    "server": {"policy": "continuous"},
    "step_cost": {"kind": "fixed", "prefill_s": 0.1, "decode_s": 0.01},
}


def with_value(path: str, value: object) -> dict[str, Any]:
    """GOOD with one value set; a path such as `classes.0.name`."""
    data = copy.deepcopy(GOOD)
    target: Any = data
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        target = target[part]
    target[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("classes.0.promt_tokens", 3, ["classes[0].promt_tokens", "did you mean 'prompt_tokens'"]),
        ("server.max_seq", 3, ["server.max_seq", "did you mean 'max_seqs'"]),
        ("classes.0.arrivals.rate", 3, ["classes[0].arrivals.rate", "rate_per_s"]),
        ("step_cost.zzz", 3, ["step_cost.zzz", "unknown field"]),
        ("sed", 3, ["sed", "did you mean 'seed'"]),
        ("classes.0.output_tokens", 0, ["classes[0].output_tokens", "at least 1", "not 0"]),
        ("classes.0.prompt_tokens", -5, ["prompt_tokens", "at least 1"]),
        ("classes.0.prompt_tokens", 2.5, ["prompt_tokens", "whole number"]),
        ("classes.0.prompt_tokens", "many", ["prompt_tokens", "must be a number", "'many'"]),
        ("classes.0.prompt_tokens", True, ["prompt_tokens", "must be a number"]),
        ("classes.0.prompt_tokens", {"dist": "normal"}, ["dist must be one of fixed, uniform, lognormal"]),
        ("classes.0.prompt_tokens", {"dist": "uniform", "low_tokens": 9, "high_tokens": 3}, ["low_tokens"]),
        ("classes.0.preprocess_s", -0.1, ["preprocess_s", "at least 0"]),
        ("classes.0.preprocess_s", float("nan"), ["preprocess_s"]),
        ("classes.0.preprocess_s", float("inf"), ["preprocess_s"]),
        ("classes.0.patience_s", 0, ["patience_s", "above 0"]),
        ("classes.0.name", "two words", ["classes[0].name", "letter"]),
        ("classes.0.name", "all", ["'all'"]),
        ("classes.0.arrivals", {"kind": "poison", "rate_per_s": 1, "count": 2}, ["did you mean 'poisson'"]),
        ("classes.0.arrivals", {"kind": "times", "times_s": []}, ["times_s", "at least one"]),
        ("classes.0.arrivals", {"kind": "times", "times_s": [0.1, -1]}, ["times_s[1]", "at least 0"]),
        ("classes.0.arrivals", {"kind": "times", "times_s": 3}, ["times_s", "must be a list"]),
        ("classes.0.arrivals.rate_per_s", 0, ["rate_per_s", "at least"]),
        ("classes.0.arrivals.rate_per_s", -2, ["rate_per_s"]),
        ("classes.0.arrivals.count", 3_000_000, ["count", "2,000,000"]),
        ("classes.0.slo", {"ttft_s": 0}, ["slo.ttft_s", "above 0"]),
        ("classes", [], ["classes", "at least one"]),
        ("classes", 5, ["classes", "must be a list"]),
        ("server.policy", "mixd", ["server.policy", "did you mean 'mixed'"]),
        ("server.max_seqs", 0, ["server.max_seqs", "at least 1"]),
        ("server", {"policy": "static", "max_seqs": 2, "batch_size": 4}, ["batch_size 4", "max_seqs"]),
        ("server.policy", "alternating", ["step_cost.chunk_s", "add it"]),
        ("step_cost", {"kind": "fixed", "prefill_s": 0, "decode_s": 0}, ["step_cost", "above zero"]),
        ("step_cost", {"kind": "linear"}, ["step_cost", "above zero"]),
        ("step_cost", {"kind": "quadratic"}, ["step_cost", "fixed, linear"]),
        ("step_cost", {"kind": "fixed", "prefill_s": 1}, ["step_cost.decode_s", "missing"]),
        ("horizon_s", 0, ["horizon_s", "above 0"]),
        ("seed", "abc", ["seed", "number"]),
        ("name", "", ["name"]),
    ],
)
def test_a_wrong_value_is_named_with_its_remedy(path: str, value: object, said: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(with_value(path, value), "my scenario")
    sentence = str(caught.value)
    assert sentence.startswith("my scenario: ")
    assert "\n" not in sentence
    assert all(part in sentence for part in said), sentence


def test_classes_together_may_not_send_too_many() -> None:
    data = copy.deepcopy(GOOD)
    data["classes"] = [
        {**data["classes"][0], "name": name, "arrivals": {"kind": "deterministic", "rate_per_s": 1, "count": 1_500_000}}
        for name in ("a", "b")
    ]
    with pytest.raises(ScenarioError, match=r"3,000,000 requests are more than the 2,000,000"):
        parse_scenario(data, "x")


def test_two_classes_of_one_name_are_refused() -> None:
    data = copy.deepcopy(GOOD)
    data["classes"] = data["classes"] * 2
    with pytest.raises(ScenarioError, match="two classes are called 'chat'"):
        parse_scenario(data, "x")


def test_whole_floats_are_taken_as_token_counts() -> None:
    assert parse_scenario(with_value("classes.0.prompt_tokens", 250.0), "x") == parse_scenario(
        with_value("classes.0.prompt_tokens", 250), "x"
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
paths = st.sampled_from(
    [
        *("name", "seed", "classes", "server", "step_cost", "horizon_s", "classes.0"),
        *("classes.0.prompt_tokens", "classes.0.arrivals", "classes.0.slo"),
        *("server.policy", "server.max_seqs", "step_cost.kind"),
    ]
)


@given(paths, json_values)
def test_any_value_anywhere_is_taken_or_refused_in_one_line(path: str, value: object) -> None:
    refusal = ""
    try:
        parse_scenario(with_value(path, value), "x")
    except ScenarioError as error:
        refusal = str(error)
    assert "\n" not in refusal
    assert len(refusal) < 400


# ---- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: [", ["line 1", "not valid YAML"]),
        ("name: x\nname: y\n", ["line 2", "'name' is given twice"]),
        ("a: &x [1]\nb: *x\n", ["aliases"]),
        ("- 1\n", ["must be a mapping"]),
        ("", ["must be a mapping"]),
        ("name: !!python/object/apply:os.system [ls]\n", ["not valid YAML"]),
        ("name: \x00\n", ["not valid YAML"]),
        ("a: " + "[" * 5000, ["not valid YAML"]),
    ],
)
def test_a_broken_file_is_refused_by_name(tmp_path: Path, text: str, said: list[str]) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert "broken.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert all(part in str(caught.value) for part in said), str(caught.value)


def test_a_wrong_field_is_named_with_its_line(tmp_path: Path) -> None:
    text = (scenarios_dir() / "exercise.yaml").read_text(encoding="utf-8")
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace("    output_tokens: 31", "    output_tokens: 0"), encoding="utf-8")
    line = 1 + path.read_text(encoding="utf-8").splitlines().index("    output_tokens: 0")
    with pytest.raises(ScenarioError, match=rf"mine\.yaml, line {line}: classes\[1\]\.output_tokens"):
        load_scenario(path)


def test_missing_large_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file"):
        load_scenario(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path)
    (tmp_path / "large.yaml").write_bytes(b"#" * 4_000_001)
    with pytest.raises(ScenarioError, match="larger than"):
        load_scenario(tmp_path / "large.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ScenarioError, match="UTF-8"):
        load_scenario(tmp_path / "binary.yaml")


def test_small_numbers_in_exponent_form_are_numbers(tmp_path: Path) -> None:
    data = with_value("step_cost", {"kind": "linear", "base_s": "BASE"})
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(data).replace('"BASE"', "1e-3"), encoding="utf-8")
    assert load_scenario(path) == parse_scenario(with_value("step_cost", {"kind": "linear", "base_s": 0.001}), "x")


# ---- command line ----------------------------------------------------------------------------------


def test_every_builtin_scenario_loads_and_says_what_it_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    listing = capsys.readouterr().out.splitlines()
    assert len(listing) == len(builtin_names()) >= 8
    for name, line in zip(builtin_names(), listing, strict=True):
        assert isinstance(builtin_scenario(name), Scenario)
        assert line.startswith(name)
        assert len(line.removeprefix(name).strip()) > 20


def test_run_prints_a_report_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "exercise"]) == 0
    assert "1,050.00" in capsys.readouterr().out
    assert main(["run", str(scenarios_dir() / "exercise.yaml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"]["yours"]["ttft"]["mean_s"] == 0.3


def test_bad_input_ends_with_code_2_and_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(json.dumps(with_value("server.max_seqs", 0)), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "sim", "run", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "server.max_seqs" in done.stderr


@pytest.mark.parametrize("patience_s", [None, 8e6])
def test_a_run_beyond_the_clock_is_refused(patience_s: float | None) -> None:
    item = {
        "name": "a",
        "prompt_tokens": 1,
        "output_tokens": 4,
        "patience_s": patience_s,
        "arrivals": {"kind": "times", "times_s": [0]},
    }
    scenario = parse_scenario(
        {
            "name": "glacier",
            "classes": [item],
            "server": {"policy": "vllm"},
            "step_cost": {"kind": "linear", "base_s": 4e6},
        },
        "test",
    )
    with pytest.raises(ScenarioError, match="glacier: the simulation goes on beyond 9,000,000 s"):
        simulate(scenario)
