"""One run of a trace by sched-sim with its chunked-prefill scheduler; runs in the peers' environment.

    python -m benchmarks.sim_peers.run_sched_sim OPTIONS.json

Prints one JSON object. Its cost is a roofline, the larger of memory and compute time, so the coefficients fit
decode steps exactly and a full chunk, and are near for the steps between.
"""

import importlib
import json
import sys
import time
from typing import Any

from benchmarks.sim_peers.peak import peak_mib

STARTED = time.process_time()


def hardware(options: dict[str, Any]) -> Any:
    """A device whose decode step is base + context x coefficient, and whose full chunk costs what ours does."""
    profile = importlib.import_module("sched_sim.hardware.profile").HardwareProfile
    parameters_billions = 8.03
    weights_bytes = parameters_billions * 1e9 * 2
    bandwidth = weights_bytes / (options["base_ms"] / 1000)
    kv_heads_bytes = options["per_context_token_ms"] / 1000 * bandwidth
    budget = options["token_budget"]
    chunk_s = (options["base_ms"] + options["per_prefill_token_ms"] * budget) / 1000
    return profile(
        name="same coefficients",
        # Room for the KV cache beside the weights.
        vram_gb=weights_bytes / 2**30 + options["kv_tokens"] * kv_heads_bytes / 2**30 + 8,
        memory_bandwidth_gb_s=bandwidth / 1e9,
        fp16_tflops=2 * parameters_billions * 1e9 * budget / chunk_s / 1e12,
        tensor_core_efficiency=1.0,
        kernel_launch_overhead_ms=0.0,
        parameter_count_billions=parameters_billions,
        num_layers=1,
        num_kv_heads=1,
        head_dim=round(kv_heads_bytes / 4),
        dtype_bytes=2,
    )


def main(options: dict[str, Any]) -> dict[str, Any]:
    """Run `options["repeat"]` times and report CPU seconds and the simulated metrics of the last."""
    engine = importlib.import_module("sched_sim.core.event_engine")
    factory = importlib.import_module("sched_sim.schedulers.factory")
    load = importlib.import_module("sched_sim.workloads.trace_loader").load_trace_file
    imported = time.process_time() - STARTED
    started = time.process_time()
    requests = load(options["trace"])
    reading = time.process_time() - started
    device = hardware(options)
    runs: list[float] = []
    again = 0.0
    for _ in range(options["repeat"]):
        if runs:
            # A run leaves its marks on the requests.
            started = time.process_time()
            requests = load(options["trace"])
            again += time.process_time() - started
        started = time.process_time()
        scheduler = factory.create_scheduler(
            "chunked", device, token_budget=options["token_budget"], max_batch_size=options["max_seqs"]
        )
        simulator = engine.Simulator(device, scheduler)
        simulator.submit_workload(requests)
        metrics = simulator.run()
        runs.append(time.process_time() - started)
    done = [request for request in requests if request.completed_at is not None]
    ttft = sorted((request.ttft or 0.0) * 1000 for request in done)
    e2e = sorted((request.e2e_latency or 0.0) * 1000 for request in done)
    return {
        "peak_mib": peak_mib(),
        "import_cpu_s": imported,
        "read_cpu_s": reading,
        "run_cpu_s": runs,
        "again_cpu_s": again + sum(runs[1:]),
        "completed": len(done),
        "output_tokens": sum(request.decoded_tokens for request in done),
        "ttft_mean_ms": sum(ttft) / len(ttft),
        "ttft_p99_ms": ttft[int(0.99 * (len(ttft) - 1))],
        "e2e_mean_ms": sum(e2e) / len(e2e),
        "e2e_p99_ms": e2e[int(0.99 * (len(e2e) - 1))],
        "steps": metrics.total_iterations,
    }


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(json.dumps(main(json.load(file))) + "\n")
