"""`tutor measure`: a scenario's load on a real server, and what the simulator would have said."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tutor.cli.common import run_async
from tutor.errors import TutorError

if TYPE_CHECKING:
    import httpx

    from sim import Scenario
    from tutor.measure.run import Measured
    from tutor.measure.send import Target

_HELP = {"help_option_names": ["-h", "--help"]}
_FILE = click.Path(path_type=Path, dir_okay=False)
INTERRUPTED = 130


@click.group(name="measure", context_settings=_HELP)
def measure_command() -> None:
    """Measure a server of your own with a scenario's load, and compare with a forecast.

    Exit codes: 0 done, 1 not all was measured, 2 bad input, 3 the server is missing.
    """


@measure_command.command("run", context_settings=_HELP)
@click.argument("scenario", metavar="SCENARIO")
@click.option("--output", "-o", type=_FILE, required=True, help="Where the result goes (.json).")
@click.option("--url", help="The server, such as http://127.0.0.1:8000/v1.")
@click.option("--model", help="The model's name there (the first that it lists when absent).")
@click.option("--gguf", type=_FILE, help="Instead of --url: start llama.cpp on this file.")
@click.option("--slots", type=click.IntRange(1, 64), default=2, show_default=True, help="With --gguf: its slots.")
@click.option("--threads", type=click.IntRange(1, 256), help="With --gguf: its threads (all cores but one).")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a field of the scenario.")
@click.option("--api-key-env", metavar="NAME", help="The environment variable that holds the server's key.")
@click.option("--my-host", multiple=True, metavar="HOST", help="A host beyond this machine that is yours to load.")
@click.option(
    "--max-rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Allow so many requests in a second (10 when absent).",
)
@click.option(
    "--stall-s",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Give up a stream that brings nothing for so long.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def run(
    scenario: str, output: Path, url: str | None, model: str | None, gguf: Path | None, slots: int,
    threads: int | None, changes: tuple[str, ...], api_key_env: str | None, my_host: tuple[str, ...],
    max_rate: float | None, stall_s: float, as_json: bool,
) -> None:  # fmt: skip
    """Send a scenario's requests to a server and keep when each token came.

    SCENARIO is a YAML file, or a name that `tutor sim list` shows. Its traffic is sent as it is, open or closed; of
    its server only `tutor measure predict` takes notice. The result has the shape of `vllm bench serve`; beside it
    stands NAME.requests.jsonl for `tutor sim fit`. Ctrl+C keeps what was measured.
    """
    from tutor.measure.allowed import check_host, check_rate
    from tutor.measure.plan import plan_load

    if (url is None) == (gguf is None):
        raise TutorError("Say which server: give either --url or --gguf.", hint="--gguf FILE starts llama.cpp itself.")
    if not output.parent.is_dir():
        raise TutorError(f"{output.parent}: no such folder for the result.", hint="Make it, or choose another place.")
    loaded = load_changed(scenario, changes)
    plan = plan_load(loaded)
    check_rate(plan, max_rate)
    if url is not None:
        check_host(url, my_host)
    key = None
    if api_key_env is not None:
        key = os.environ.get(api_key_env)
        if not key:
            raise TutorError(f"The environment variable {api_key_env} is empty.", hint="Put the server's key into it.")
    measured, name = run_async(_measure(loaded, url, model, gguf, slots, threads, key, stall_s))
    _keep(measured, loaded.name, name, output, as_json)
    if measured.stopped.startswith("stopped"):
        sys.exit(INTERRUPTED)
    if measured.partial or not any(each.status == "completed" for each in measured.requests):
        sys.exit(1)


def load_changed(source: str, changes: Sequence[str]) -> Scenario:
    """A scenario by file or name, with changes.

    Raises:
        TutorError: it cannot be read.
    """
    from sim.commands.files import load_changed as load
    from sim.commands.overrides import parse_change
    from sim.errors import ScenarioError

    try:
        return load(source, [parse_change(text) for text in changes], None)
    except ScenarioError as error:
        raise TutorError(str(error)) from None


async def _measure(
    scenario: Scenario, url: str | None, model: str | None, gguf: Path | None, slots: int, threads: int | None,
    key: str | None, stall_s: float,
) -> tuple[Measured, str]:  # fmt: skip
    from tutor.measure.plan import plan_load
    from tutor.measure.prompts import prompts_for
    from tutor.measure.run import run_load

    plan = plan_load(scenario)
    stop = asyncio.Event()
    with suppress(NotImplementedError):  # on Windows Ctrl+C ends the run without a result
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)

    def said(ended: int, of: int, seconds: float) -> None:
        if sys.stderr.isatty():
            end = "\n" if ended == of else ""
            print(f"\r{ended:,} of {of:,} answered, {seconds:,.0f} s ", end=end, file=sys.stderr)  # noqa: T201

    async with _server(url, model, gguf, slots, threads, key, stall_s, plan.longest_tokens) as (client, target):
        prompts = await prompts_for(client, target.base_url, target.model, scenario.seed)
        measured = await run_load(plan, target, prompts, client, stop=stop, progress=said)
    return measured, target.model


@asynccontextmanager
async def _server(
    url: str | None, model: str | None, gguf: Path | None, slots: int, threads: int | None, key: str | None,
    stall_s: float, longest_tokens: int,
) -> AsyncIterator[tuple[httpx.AsyncClient, Target]]:  # fmt: skip
    """A client and whom it speaks to; a server that was started is stopped."""
    import httpx

    from tutor.llm.embedded import EmbeddedServer
    from tutor.llm.errors import LlmError
    from tutor.llm.machine import usable_cores
    from tutor.measure.send import Target

    server = None
    try:
        if gguf is not None:
            # One core is left to whoever counts the tokens.
            count = threads or max(1, usable_cores() - 1)
            server = EmbeddedServer(gguf, max(512, longest_tokens + 16), slots, count, measured=True)
            try:
                endpoint = await server.start()
            except LlmError as error:
                raise TutorError(str(error), exit_code=3) from None
            url, model = endpoint.base_url, endpoint.model
            key = endpoint.api_key.get_secret_value() if endpoint.api_key is not None else None
        assert url is not None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(headers=headers, limits=limits, trust_env=False) as client:
            yield client, Target(url, model or await _first_model(client, url), stall_s)
    finally:
        if server is not None:
            await server.stop()


async def _first_model(client: httpx.AsyncClient, url: str) -> str:
    import httpx

    try:
        reply = await client.get(f"{url.removesuffix('/')}/models", timeout=10.0)
        models: Any = reply.json()["data"] if reply.status_code == 200 else []
        return str(models[0]["id"])
    except httpx.HTTPError as error:
        raise TutorError(
            f"{url}: no server answers there ({str(error) or type(error).__name__}).",
            hint="Start it, or correct --url.", exit_code=3,
        ) from None  # fmt: skip
    except (ValueError, KeyError, IndexError, TypeError):
        raise TutorError(f"{url}: lists no models.", hint="Name one with --model; the address ends in /v1.") from None


def _keep(measured: Measured, scenario_name: str, model: str, output: Path, as_json: bool) -> None:
    from tutor.measure.saved import bench_shape, fit_rows, write_run

    date = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    data = bench_shape(measured, name=scenario_name, model=model, date=date)
    beside = write_run(output, data, fit_rows(measured))
    if as_json:
        summary = {name: value for name, value in data.items() if not isinstance(value, list | dict)}
        summary |= {"late_s": measured.late_s, "stopped": measured.stopped, "files": [str(output), str(beside)]}
        print(json.dumps(summary))  # noqa: T201
        return
    counts: dict[str, int] = {}
    for each in measured.requests:
        counts[each.status] = counts.get(each.status, 0) + 1
    words = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in counts.items())
    rows = [f"{scenario_name} on {model}: {words}; {measured.duration_s:,.1f} s"]
    if measured.stopped:
        rows.append(f"Partial: {measured.stopped}. What came until then is kept.")
    rows.append(f"{'ms':<6}{'mean':>10}{'median':>10}{'p95':>10}{'p99':>10}")
    for name in ("ttft", "itl", "tpot", "e2el"):
        shown = "".join(f"{data[f'{what}_{name}_ms']:>10,.1f}" for what in ("mean", "median", "p95", "p99"))
        rows.append(f"{name.removesuffix('l').upper() if name == 'e2el' else name.upper():<6}{shown}")
    rows.append(
        f"{data['output_throughput']:,.1f} output tokens/s, {data['request_throughput']:,.2f} requests/s; "
        f"the generator was at most {measured.late_s * 1000:,.1f} ms late"
    )
    if not measured.exact_prompts:
        rows.append("The server does not tell its tokens, so prompts are only about as long as planned.")
    failed = next((each.error for each in measured.requests if each.status in ("failed", "stalled")), "")
    if failed:
        rows.append(f"First failure: {failed}")
    rows.append(f"written: {output} and {beside}")
    print("\n".join(rows))  # noqa: T201


@measure_command.command("predict", context_settings=_HELP)
@click.argument("scenario", metavar="SCENARIO")
@click.argument("measured", type=_FILE)
@click.option("--step-cost", type=_FILE, required=True, help="What `tutor sim fit --json` printed, or YAML.")
@click.option("--slots", type=click.IntRange(1, 4096), required=True, help="Seats of the server.")
@click.option(
    "--batch-tokens",
    type=click.IntRange(1),
    default=512,
    show_default=True,
    help="Most tokens in one step: 512 in the program's own llama.cpp, 2048 in others.",
)
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a field, as when measuring.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def predict(
    scenario: str, measured: Path, step_cost: Path, slots: int, batch_tokens: int, changes: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """Simulate the load that was measured, with a fitted step cost, and set the two side by side."""
    from dataclasses import asdict

    from tutor.measure.forecast import Engine, forecast, lines
    from tutor.measure.saved import read_run

    loaded = load_changed(scenario, changes)
    _, seen = read_run(measured)
    names = {item.name for item in loaded.classes}
    if not names & {each.class_name for each in seen}:
        raise TutorError(
            f"{measured}: has no request of a class of {loaded.name!r}.", hint="Give the scenario that was measured."
        )
    engine = Engine(slots, batch_tokens, read_step_cost(step_cost))
    rows = forecast(loaded, engine, seen)
    if as_json:
        print(json.dumps([{**asdict(row), "error_percent": row.error_percent} for row in rows]))  # noqa: T201
    else:
        print("\n".join(lines(rows)))  # noqa: T201


def read_step_cost(path: Path) -> dict[str, object]:
    """A step cost from the fit's JSON, or from YAML with or without the key.

    Raises:
        TutorError: the file holds none.
    """
    from sim import ScenarioError
    from sim.loading import MAX_FILE_BYTES, read_yaml

    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise TutorError(f"{path}: larger than {MAX_FILE_BYTES:,} bytes.", hint="A step cost is a few lines.")
        data, _ = read_yaml(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise TutorError(f"{path}: cannot be read ({error.strerror or error}).", hint="Check the path.") from None
    except (ScenarioError, UnicodeDecodeError):
        raise TutorError(f"{path}: is neither JSON nor YAML.", hint="Write it with `tutor sim fit … --json`.") from None
    found = data.get("step_cost", data) if isinstance(data, dict) else None
    if not isinstance(found, dict) or "kind" not in found:
        raise TutorError(f"{path}: holds no step cost.", hint="Write it with `tutor sim fit … --json`.")
    return found
