"""The traces of the speed comparison: everybody gets the same requests, always."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.pages import replace_part
from benchmarks.sim_peers.traces import SHARED_TOKENS, Case, draw, write_list, write_mooncake
from sim.traces.reading import load_trace


@pytest.mark.parametrize("case", [Case("mixed", 300, 3.0, 0.1), Case("shared", 300, 8.0, groups=4)])
def test_both_formats_hold_the_requests_that_were_drawn(case: Case, tmp_path: Path) -> None:
    requests = draw(case)
    assert requests == draw(case)
    write_mooncake(requests, tmp_path / "a.jsonl")
    write_list(requests, tmp_path / "a.json")
    trace = load_trace(tmp_path / "a.jsonl", "mooncake")
    tenth_ms = 10**8
    assert [time // tenth_ms for time in trace.times] == [item.arrival - requests[0].arrival for item in requests]
    assert list(trace.prompt_tokens) == [item.prompt_tokens for item in requests]
    assert list(trace.output_tokens) == [item.output_tokens for item in requests]
    rows = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [(row["prompt_tokens"], row["output_tokens"]) for row in rows] == [
        (item.prompt_tokens, item.output_tokens) for item in requests
    ]
    shared = {sum(tokens for _, tokens in prefix) for prefix in trace.prefixes}
    assert shared == ({SHARED_TOKENS} if case.groups else {0})


def test_a_measured_part_replaces_only_itself(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin x -->\nold\n<!-- end x -->\nafter\n", encoding="utf-8")
    replace_part(page, "x", "new")
    replace_part(page, "x", "newer")
    assert page.read_text(encoding="utf-8") == "before\n<!-- begin x -->\n\nnewer\n\n<!-- end x -->\nafter\n"
    with pytest.raises(SystemExit, match="begin y"):
        replace_part(page, "y", "new")
