"""Which grader is evaluated: none, the embedded model, a file, or a model of a server by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tutor.errors import TutorError
from tutor.llm.catalogue import CATALOGUE
from tutor.llm.choose import OpenModel, choose_model
from tutor.settings import Settings

AUTO, NONE, EMBEDDED = "auto", "none", "embedded"


class NoSuchModel(TutorError):
    """The grader that was asked for cannot be had."""

    exit_code = 3


async def open_named(
    settings: Settings, wanted: str, say: Callable[[str], None] | None = None
) -> tuple[OpenModel | None, str]:
    """The model and, in words, which and why; close it when done.

    `wanted` is "auto" (what the settings find, or none), "none", "embedded", an id of the catalogue, the path of a
    GGUF file, or a model's name on the server of the settings or on one found here.

    Raises:
        NoSuchModel: something was named that is not there.
    """
    if wanted == NONE:
        return None, "code and evidence alone"
    alone = {"base_url": None, "discover": False, "use_embedded": True}
    model = settings.model
    if wanted == EMBEDDED:
        model = model.model_copy(update=alone)
    elif wanted in CATALOGUE or wanted.lower().endswith(".gguf"):
        file = settings.model_dir / CATALOGUE[wanted].file_name if wanted in CATALOGUE else Path(wanted).expanduser()
        if not file.is_file():
            fetch = f"'tutor model get {wanted}' fetches it." if wanted in CATALOGUE else "Name a GGUF file."
            raise NoSuchModel(f"There is no model file {file}.", hint=fetch)
        model = model.model_copy(update={**alone, "model_file": file})
    elif wanted != AUTO:
        return await _on_a_server(settings, wanted, say)
    choice = await choose_model(model, model_dir=settings.model_dir, on_status=say)
    if choice.model is None and wanted != AUTO:
        raise NoSuchModel(choice.reason, hint="'tutor model' shows what was found; --model none needs no model.")
    return choice.model, choice.reason


async def _on_a_server(settings: Settings, name: str, say: Callable[[str], None] | None) -> tuple[OpenModel, str]:
    from tutor.llm.servers import survey

    if say is not None:
        say("Looking for a model server.")
    seen = await survey(settings.model.model_copy(update={"name": name}))
    for info in seen.models:
        if info.endpoint.model == name:
            return OpenModel(info), f"{name}, {info.source}."
    there = ", ".join(sorted({info.endpoint.model for info in seen.models})) or "none was found"
    raise NoSuchModel(
        " ".join((f"No server here has a model {name!r} (models: {there}).", *seen.notes)),
        hint="Name the server with 'tutor --model-url URL eval …'; 'tutor model' shows what was found.",
    )
