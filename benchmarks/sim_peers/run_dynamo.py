"""One replay of a Mooncake-style trace by Dynamo's offline simulator; runs in the peers' environment.

    python -m benchmarks.sim_peers.run_dynamo OPTIONS.json

Prints one JSON object. CPU seconds count all threads of the process. The replay function reads the trace by
itself, so reading is timed by a replay that stops at simulated time zero, and taken off.
"""

import importlib
import json
import os
import sys
import time
from typing import Any

from benchmarks.sim_peers.peak import peak_mib

STARTED = time.process_time()
os.environ["DYN_LOG"] = "error"


def main(options: dict[str, Any]) -> dict[str, Any]:
    """Replay `options["repeat"]` times and report CPU seconds and the simulated metrics of the last."""
    core = importlib.import_module("dynamo._core")
    imported = time.process_time() - STARTED
    timing = (
        {"type": "fixed", "prefill_ms": options["chunk_ms"], "decode_ms": options["decode_ms"]}
        if options["cost"] == "fixed"
        else {"type": "external", "provider": "dynamo_profile", "config": {"path": options["profile"]}}
    )
    block = options["block_tokens"]
    engine = {
        "backend": "vllm",
        "num_gpu_blocks": options["kv_tokens"] // block,
        "block_size": block,
        "max_num_seqs": options["max_seqs"],
        "max_num_batched_tokens": options["token_budget"],
        "enable_prefix_caching": options["prefix_cache"],
        "timing_model": timing,
    }
    config = core._normalize_mocker_config({"engine": engine, "num_gpu_blocks_is_explicit": True})

    def replay(**more: Any) -> tuple[Any, float]:
        started = time.process_time()
        result = core.run_mocker_trace_replay(
            [options["trace"]],
            extra_engine_args=config,
            trace_block_size=options["trace_block_tokens"],
            capture_planner_details=False,
            **more,
        )
        summary = result.summary
        return (result, summary), time.process_time() - started

    _, reading = replay(max_sim_time_ms=0.0)
    runs, calls = [], []
    for _ in range(options["repeat"]):
        (result, summary), seconds = replay(capture_per_request=options["details"])
        calls.append(seconds)
        runs.append(max(seconds - reading, 1e-9))
    report = {
        "peak_mib": peak_mib(),
        "import_cpu_s": imported,
        "read_cpu_s": reading,
        "run_cpu_s": runs,
        "again_cpu_s": reading + sum(calls[1:]),
        "completed": summary["completed_requests"],
        "output_tokens": summary["total_output_tokens"],
        "ttft_mean_ms": summary["mean_ttft_ms"],
        "ttft_p99_ms": summary["p99_ttft_ms"],
        "itl_mean_ms": summary["mean_itl_ms"],
        "e2e_mean_ms": summary["mean_e2e_latency_ms"],
        "e2e_p99_ms": summary["p99_e2e_latency_ms"],
    }
    if options["details"]:
        # Requests of the same instant are told apart by their first token.
        rows = sorted(result.per_request, key=lambda row: (row["arrival_time_ms"], row["first_token_ms"]))
        report["first_token_ms"] = [row["first_token_ms"] for row in rows]
        report["last_token_ms"] = [row["last_token_ms"] for row in rows]
    return report


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(json.dumps(main(json.load(file))) + "\n")
