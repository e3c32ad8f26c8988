"""One run of a trace by this project's simulator, as a process of its own.

    python -m benchmarks.sim_peers.run_ours OPTIONS.json

Prints one JSON object. The run is `simulate` and the exact percentiles of all its distributions, with KV
blocks, prefix cache and every gap between tokens kept.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.sim_peers.peak import peak_mib

# NumPy's linear algebra starts threads that spin for a while and burn CPU time; nothing here uses it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

STARTED = time.process_time()

METRICS = {
    "ttft_mean_ms": "all.ttft_s.mean",
    "ttft_p99_ms": "all.ttft_s.p99",
    "itl_mean_ms": "all.itl_s.mean",
    "itl_p99_ms": "all.itl_s.p99",
    "e2e_mean_ms": "all.e2e_s.mean",
    "e2e_p99_ms": "all.e2e_s.p99",
}


def scenario_data(options: dict[str, Any]) -> dict[str, Any]:
    """The trace as a scenario."""
    cost: dict[str, Any] = (
        {"kind": "fixed", "prefill_s": options["chunk_ms"] / 1000, "decode_s": options["decode_ms"] / 1000}
        if options["cost"] == "fixed"
        else {
            "kind": "linear",
            "base_s": options["base_ms"] / 1000,
            "per_prefill_token_s": options["per_prefill_token_ms"] / 1000,
            # A decoding sequence also reads the token that it computes.
            "per_decode_seq_s": options["per_context_token_ms"] / 1000,
            "per_context_token_s": options["per_context_token_ms"] / 1000,
        }
    )
    return {
        "name": "speed",
        "classes": [{"name": "a", "arrivals": {"kind": "trace", "file": options["trace"], "format": "mooncake"}}],
        "server": {
            "policy": "vllm",
            "max_seqs": options["max_seqs"],
            "token_budget": options["token_budget"],
            "kv_blocks": options["kv_tokens"] // options["block_tokens"],
            "block_tokens": options["block_tokens"],
            "prefix_cache": options["prefix_cache"],
        },
        "step_cost": cost,
    }


def main(options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Simulate `options["repeat"]` times and report CPU seconds and the metrics of the last."""
    from sim import load_scenario, simulate

    imported = time.process_time() - STARTED
    (folder / "speed.yaml").write_text(json.dumps(scenario_data(options)), encoding="utf-8")
    started = time.process_time()
    scenario = load_scenario(folder / "speed.yaml")
    reading = time.process_time() - started
    runs: list[float] = []
    for _ in range(options["repeat"]):
        started = time.process_time()
        result = simulate(scenario)
        metrics = {name: result.metric(path) for name, path in METRICS.items()}
        runs.append(time.process_time() - started)
    report: dict[str, Any] = {
        "peak_mib": peak_mib(),
        "import_cpu_s": imported,
        "read_cpu_s": reading,
        "run_cpu_s": runs,
        "again_cpu_s": sum(runs[1:]),
        "completed": result.counts.completed,
        "output_tokens": result.work.output_tokens,
        **{name: None if value is None else value * 1000 for name, value in metrics.items()},
    }
    if options["details"]:
        report["first_token_ms"] = [(record.first_token_ticks or 0) / 1e9 for record in result.requests]
        report["last_token_ms"] = [(record.last_token_ticks or 0) / 1e9 for record in result.requests]
    return report


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as options_file:
        sys.stdout.write(json.dumps(main(json.load(options_file), Path(sys.argv[1]).parent)) + "\n")
