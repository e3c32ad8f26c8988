"""Choosing the model that grades: the named server, one found on this machine, the embedded one, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tutor.llm import embedded
from tutor.llm.embedded import EmbeddedServer
from tutor.llm.errors import LlmError
from tutor.llm.files import InstalledFile, installed
from tutor.llm.servers import LOCAL_PORTS, SMALLEST_GRADER_PARAMETERS, survey
from tutor.llm.types import Capabilities, Endpoint, ModelInfo, ModelSettings

_SMALLEST_GRADER_BYTES = SMALLEST_GRADER_PARAMETERS // 2  # four bits a parameter


class OpenModel:
    """A model that can be asked now; close it when the program ends."""

    def __init__(self, info: ModelInfo, server: EmbeddedServer | None = None) -> None:
        self.info = info
        self.server = server

    @property
    def endpoint(self) -> Endpoint:
        """Where to ask.

        Raises:
            LlmError: of kind `unreachable` when the embedded server has ended.
        """
        return self.server.endpoint if self.server is not None else self.info.endpoint

    @property
    def capabilities(self) -> Capabilities:
        """What is known so far; `probe_capabilities` learns the rest."""
        return self.info.capabilities

    async def close(self) -> None:
        """Stop what was started for it; safe to call twice."""
        if self.server is not None:
            await self.server.stop()


class ModelChoice:
    """The outcome of choosing: a model, or in plain words why there is none."""

    def __init__(self, model: OpenModel | None, reason: str, notes: Sequence[str] = ()) -> None:
        self.model = model
        self.reason = reason
        """Why this model, or why none; one or two sentences for a person."""
        self.notes = tuple(notes)
        """What else was seen on the way, such as a named server that does not answer."""


async def open_model(
    settings: ModelSettings,
    *,
    model_dir: Path | None = None,
    on_status: Callable[[str], None] | None = None,
    ports: Sequence[int] = tuple(LOCAL_PORTS),
) -> OpenModel | None:
    """`choose_model` without the reason; `on_status` is told it in words."""
    choice = await choose_model(settings, model_dir=model_dir, on_status=on_status, ports=ports)
    if choice.model is None and on_status is not None:
        on_status(choice.reason)
    return choice.model


async def choose_model(
    settings: ModelSettings,
    *,
    model_dir: Path | None = None,
    on_status: Callable[[str], None] | None = None,
    ports: Sequence[int] = tuple(LOCAL_PORTS),
) -> ModelChoice:
    """Pick a model and start the embedded server where it is the one; never raises for a model's trouble.

    `model_dir` is where files are kept when the settings do not say. A server that the settings name is
    preferred even to a bigger one found here; a model too small to grade is taken only when it was named.
    """
    say = on_status or (lambda _: None)
    say("Looking for a model server.")
    seen = await survey(settings, ports)
    for info in seen.models:
        if info.grades or info.source == "named in the settings":
            return ModelChoice(OpenModel(info), f"{info.endpoint.model}, {info.source}.", seen.notes)
    notes = [*seen.notes]
    if settings.base_url is None and not settings.discover and not settings.use_embedded:
        return ModelChoice(None, "Grading goes without a model, as the settings or --no-model ask.", notes)
    if not settings.use_embedded:
        return ModelChoice(
            None, _none(settings, notes, "The model inside the program is switched off in the settings."), notes
        )
    file = _best_file(settings, settings.model_dir or model_dir)
    if file is None:
        return ModelChoice(
            None, _none(settings, notes, "No model file is here yet; `tutor model get` fetches one."), notes
        )
    if not embedded.available():
        return ModelChoice(None, _none(settings, notes, "llama.cpp is not installed with this program."), notes)
    say(f"Loading {file.path.name}.")
    server = EmbeddedServer(file.path, settings.context_tokens, threads=settings.threads)
    try:
        endpoint = await server.start()
    except LlmError as error:
        return ModelChoice(None, _none(settings, notes, str(error)), notes)
    info = ModelInfo(
        endpoint=endpoint,
        capabilities=server.capabilities,
        source="started inside the program",
        grades=_grades(file),
    )
    return ModelChoice(OpenModel(info, server), f"{endpoint.model}, started inside the program.", notes)


def _best_file(settings: ModelSettings, directory: Path | None) -> InstalledFile | None:
    if settings.model_file is not None:
        path = settings.model_file.expanduser()
        size = path.stat().st_size if path.is_file() else 0
        return InstalledFile(path=path, size_bytes=size, entry=None)
    files = installed(directory) if directory is not None else []
    return next((file for file in files if _grades(file)), None)


def _grades(file: InstalledFile) -> bool:
    return file.entry.grades if file.entry is not None else file.size_bytes >= _SMALLEST_GRADER_BYTES


def _none(settings: ModelSettings, notes: Sequence[str], reason: str) -> str:
    looked = ["No model server was found on this machine."] if settings.discover else []
    return " ".join([*(notes or looked), reason])
