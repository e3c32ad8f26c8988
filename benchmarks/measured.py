"""A real llama.cpp server measured, and two other loads on it predicted from a fit to the first.

    python -m benchmarks.measured [--runs 5] [--slots 2,4] [--out FOLDER]

Each run starts the embedded server on SmolLM2-135M with one thread, sends the three loads of `benchmarks/loads`, fits
a step cost to the first by `sim fit`'s own functions, predicts the other two, and prints the error of each figure:
median over the runs, smallest and largest. About four minutes a run with one number of slots.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

import httpx

from sim import Scenario, load_scenario
from sim.fit.loop import best_form, fit_run
from sim.fit.runs import load_run
from sim.lane import NO_LIMIT_BLOCKS
from sim.vllm import EngineConfig
from tutor.llm.catalogue import CATALOGUE
from tutor.llm.embedded import EmbeddedServer
from tutor.llm.files import fetch
from tutor.measure.forecast import Engine, Row, forecast
from tutor.measure.plan import plan_load
from tutor.measure.prompts import prompts_for
from tutor.measure.run import Measured, run_load
from tutor.measure.saved import bench_shape, fit_rows, write_run
from tutor.measure.send import Target
from tutor.settings import load_settings

LOADS = Path(__file__).parent / "loads"
FITTED, *PREDICTED = ("fit_mix", "closed_users", "clumped_documents")
BATCH_TOKENS = 512
CONTEXT_TOKENS = 1024
MEDIANS_WITHIN = 10.0
TAILS_WITHIN = 20.0


async def measure(server: EmbeddedServer, scenario: Scenario) -> Measured:
    """One load on the running server."""
    endpoint = server.endpoint
    assert endpoint.api_key is not None
    headers = {"Authorization": f"Bearer {endpoint.api_key.get_secret_value()}"}
    async with httpx.AsyncClient(headers=headers, limits=httpx.Limits(max_connections=None), trust_env=False) as client:
        prompts = await prompts_for(client, endpoint.base_url, endpoint.model, scenario.seed)
        return await run_load(plan_load(scenario), Target(endpoint.base_url, endpoint.model), prompts, client)


def fitted(requests: Path, slots: int) -> Engine:
    """The step cost of the measured requests, in the form that predicts their second half best."""
    config = EngineConfig(
        max_num_batched_tokens=BATCH_TOKENS,
        max_num_seqs=slots,
        block_size=16,
        usable_kv_blocks=NO_LIMIT_BLOCKS,
        enable_prefix_caching=False,
        max_model_len=CONTEXT_TOKENS,
    )
    run = load_run(requests)
    fit = fit_run(run, config, best_form(run, config, ("linear", "quadratic"), {}))
    return Engine(slots, BATCH_TOKENS, {name: value for name, value in fit.cost if name == "kind" or value})


def one_run(model: Path, slots: int, folder: Path) -> dict[str, list[Row]]:
    """Measure all three loads; rows of each, the fitted one first."""
    scenarios = {name: load_scenario(LOADS / f"{name}.yaml") for name in (FITTED, *PREDICTED)}
    server = EmbeddedServer(model, CONTEXT_TOKENS, slots, threads=1, measured=True)
    server.start_blocking()
    try:
        runs = {name: asyncio.run(measure(server, scenario)) for name, scenario in scenarios.items()}
    finally:
        server.stop_blocking()
    rows = {}
    engine = None
    for name, measured in runs.items():
        data = bench_shape(measured, name=scenarios[name].name, model="SmolLM2-135M", date="")
        requests = write_run(folder / f"{name}.json", data, fit_rows(measured))
        if engine is None:
            engine = fitted(requests, slots)
            (folder / "engine.json").write_text(json.dumps(engine.plain()))
        rows[name] = forecast(scenarios[name], engine, measured.requests)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measured", description="predicted against measured")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--slots", default="2,4", help="numbers of slots, divided by commas")
    parser.add_argument("--out", type=Path, help="keep the measured files here")
    options = parser.parse_args()
    settings = load_settings({}, None)
    print("fetching SmolLM2-135M where it is not there yet", flush=True)
    model = fetch(CATALOGUE["smollm2-135m"], settings.model_dir)
    out = options.out or Path(tempfile.mkdtemp(prefix="measured-"))
    for slots in map(int, options.slots.split(",")):
        found: dict[tuple[str, str, str, int], list[Row]] = defaultdict(list)
        for number in range(1, options.runs + 1):
            folder = out / f"slots-{slots}" / f"run-{number}"
            folder.mkdir(parents=True, exist_ok=True)
            for load, rows in one_run(model, slots, folder).items():
                for row in rows:
                    found[load, row.class_name, row.quantity, row.percent].append(row)
            print(f"{slots} slots, run {number} of {options.runs} done", flush=True)
        print(table(slots, found), flush=True)
    return 0


def table(slots: int, found: dict[tuple[str, str, str, int], list[Row]]) -> str:
    """Errors per figure over the runs."""
    lines = [f"\n{slots} slots: error of the prediction, %  (fitted: {FITTED})"]
    lines.append(f"{'load':<18} {'class':<9} {'figure':<9} {'n':>6} {'measured ms':>12} {'median':>8} {'range':>16}")
    within = {50: [0, 0], 95: [0, 0]}
    for (load, class_name, quantity, percent), rows in found.items():
        errors = [row.error_percent for row in rows]
        middle = median(errors)
        spread = f"{min(errors):+.1f} … {max(errors):+.1f}"
        measured = median(row.measured_s for row in rows) * 1000
        lines.append(
            f"{load:<18} {class_name:<9} {f'{quantity.upper()} p{percent}':<9} {rows[0].n:>6,} {measured:>12,.1f} "
            f"{middle:>+8.1f} {spread:>16}"
        )
        if load != FITTED:
            bound = MEDIANS_WITHIN if percent == 50 else TAILS_WITHIN
            within[percent][0] += sum(abs(error) <= bound for error in errors)
            within[percent][1] += len(errors)
    for percent, bound in ((50, MEDIANS_WITHIN), (95, TAILS_WITHIN)):
        good, of = within[percent]
        lines.append(f"predicted p{percent} within {bound:g} %: {good} of {of}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
