"""What-ifs around a measured run: vLLM 0.19 with Llama-3.1-8B on an RTX 4090, 300 requests in 29 seconds."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

from benchmarks.papers.common import Claim, Experiment, value
from sim import Result, load_scenario, simulate
from sim.traces.prefixes import shared_prefixes

MEASURED = Path(__file__).parents[2] / "tests/sim/data/measured/vllm-0.19-rtx-4090-llama-3.1-8b.jsonl.gz"
BLOCKS = 2587
BLOCK_TOKENS = 16
COST = {
    "kind": "linear",
    "base_s": 0.0218,
    "per_prefill_token_s": 8.29e-5,
    "per_decode_seq_s": 1.74e-5,
    "per_context_token_s": 7.5e-8,
}
"""Fitted to this run; see the simulator's page for how and how well."""


class MeasuredTraffic:
    """The measured arrivals and lengths, as a scenario with changes to the server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.rows = [json.loads(line) for line in gzip.decompress(MEASURED.read_bytes()).decode().splitlines()]
        blocks = [row.get("prefix_blocks", []) for row in self.rows]
        prefixes = shared_prefixes(blocks, [row["prompt_tokens"] for row in self.rows], BLOCK_TOKENS, "measured")
        lines = [
            json.dumps(
                {
                    "time_s": row["queued_s"],
                    "prompt_tokens": row["prompt_tokens"],
                    "output_tokens": row["output_tokens"],
                    "prefix": prefix,
                }
            )
            for row, prefix in zip(self.rows, prefixes, strict=True)
        ]
        (folder / "trace.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(self, **server: object) -> Result:
        """Simulate with the measured server, changed where `server` says so."""
        scenario = {
            "name": "what if",
            "classes": [{"name": "a", "arrivals": {"kind": "trace", "file": "trace.jsonl"}}],
            "server": {"policy": "vllm", "max_seqs": 256, "token_budget": 2048, "kv_blocks": BLOCKS, **server},
            "step_cost": COST,
        }
        (self._folder / "what_if.yaml").write_text(json.dumps(scenario), encoding="utf-8")
        return simulate(load_scenario(self._folder / "what_if.yaml"))


def experiment() -> Experiment:
    """More or fewer KV blocks, and a watermark of free ones."""
    with tempfile.TemporaryDirectory() as folder:
        traffic = MeasuredTraffic(Path(folder))
        real = sum(row["first_token_s"] - row["queued_s"] for row in traffic.rows) / len(traffic.rows)
        base = value(traffic.run(), "a.ttft_s.mean")
        blocks = {count: value(traffic.run(kv_blocks=count), "a.ttft_s.mean") for count in (1500, 4000, 35_000)}
        marks = {share: traffic.run(watermark=share) for share in (0.0, 0.02, 0.05, 0.10)}
    preemptions = [value(result, "preemptions") for result in marks.values()]
    spans = [result.duration_s for result in marks.values()]
    published = (114, 41, 2.9)
    return Experiment(
        "what-if",
        "vLLM 0.19 on an RTX 4090, measured by LLMServingSim (MIT)",
        f"The measured arrivals, lengths and shared blocks, {BLOCKS:,} usable blocks, 256 seats, 2,048 tokens a step "
        "and the four step costs fitted to this very run. The published what-ifs are another simulation with the same "
        "step costs.",
        (
            Claim(
                "mean time to first token, s",
                f"{real:.1f} (measured)",
                f"{base:.1f}",
                f"{base / real - 1:+.1%}",
            ),
            Claim(
                "the same with 1,500, 4,000 and 35,000 blocks, s",
                "114, 41, 2.9",
                ", ".join(f"{item:.1f}" for item in blocks.values()),
                "same"
                if all(abs(a / b - 1) < 0.05 for a, b in zip(blocks.values(), published, strict=True))
                else "same direction",
            ),
            Claim(
                "preemptions with a watermark of 0, 2, 5 and 10 % of the blocks",
                "186, 86, 46, 32",
                ", ".join(f"{item:.0f}" for item in preemptions),
                "same" if preemptions == [186, 86, 46, 32] else "differs",
            ),
            Claim(
                "time until all are done, s",
                "184.9, 181.5, 181.3, 184.1",
                ", ".join(f"{item:.1f}" for item in spans),
                "same within 1 %"
                if all(abs(a / b - 1) < 0.01 for a, b in zip(spans, (184.9, 181.5, 181.3, 184.1), strict=True))
                else "differs",
            ),
        ),
    )
