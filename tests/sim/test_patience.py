"""Patience is for the first token: whoever has it in time stays to the end."""

from __future__ import annotations

import pytest

from sim import parse_scenario, simulate


@pytest.mark.parametrize("policy", ["vllm", "mixed"])
@pytest.mark.parametrize(("patience_s", "completed"), [(0.02, 1), (0.005, 0)])
def test_a_client_with_its_first_token_waits_for_the_rest(policy: str, patience_s: float, completed: int) -> None:
    result = simulate(
        parse_scenario(
            {
                "name": "one long answer",
                "classes": [
                    {
                        "name": "a",
                        "prompt_tokens": 10,
                        "output_tokens": 500,
                        "patience_s": patience_s,
                        "arrivals": {"kind": "times", "times_s": [0.0]},
                    }
                ],
                "server": {"policy": policy},
                "step_cost": {"kind": "linear", "base_s": 0.01},
            },
            "test",
        )
    )
    assert result.counts.completed == completed
    assert result.counts.cancelled == 1 - completed
