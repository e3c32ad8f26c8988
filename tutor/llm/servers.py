"""Finding model servers: the one the settings name, then the usual ports of this machine, nothing beyond."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, SecretStr

from tutor.llm.types import Capabilities, Endpoint, ModelInfo, ModelSettings, Provider
from tutor.llm.wire import is_loopback

if TYPE_CHECKING:
    import httpx

LOCAL_PORTS: Mapping[int, str] = {8000: "vLLM", 8080: "llama.cpp", 11434: "Ollama", 1234: "LM Studio"}
SMALLEST_GRADER_PARAMETERS = 1_000_000_000
"""Models below this were measured to grade no better than chance."""
_LOCAL_TIMEOUT_S = 0.3
_PORT_TOTAL_S = 1.2
_BODY_LIMIT_BYTES = 4 * 1024 * 1024
_OLLAMA_DEFAULT_CONTEXT = 4096
_NAMES: Mapping[Provider, str] = {
    "vllm": "vLLM",
    "llama.cpp": "llama.cpp",
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
    "openai": "The model server",
    "embedded": "The model inside the program",
}


class Survey(BaseModel):
    """What was found, best first, and in plain words what was looked for in vain."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[ModelInfo, ...]
    notes: tuple[str, ...]


class _Found(NamedTuple):
    name: str
    context_tokens: int | None = None
    parameters: float | None = None
    loaded: bool = True


async def discover(settings: ModelSettings, ports: Sequence[int] = tuple(LOCAL_PORTS)) -> list[ModelInfo]:
    """The models that can be asked now, in the order in which they should be tried; never raises."""
    return list((await survey(settings, ports)).models)


async def survey(settings: ModelSettings, ports: Sequence[int] = tuple(LOCAL_PORTS)) -> Survey:
    """`discover`, with a note on every server that the settings name but that gives no model."""
    urls: list[tuple[str, str, float]] = []
    named = normalise_base_url(settings.base_url) if settings.base_url else None
    if named is not None:
        urls.append((named, "named in the settings", min(settings.deadlines.connect_s, 5.0)))
    if settings.discover:
        local = {f"http://127.0.0.1:{port}/v1": port for port in ports}
        urls += [(url, f"found on port {port}", _LOCAL_TIMEOUT_S) for url, port in local.items() if url != named]
    answers = await asyncio.gather(
        *(_look(url, source, wait_s, settings, url == named) for url, source, wait_s in urls)
    )
    models: list[ModelInfo] = []
    notes: list[str] = []
    for found, note in answers:
        models += found
        notes += [note] if note else []
    return Survey(models=tuple(models), notes=tuple(notes))


def normalise_base_url(url: str) -> str:
    """What people write for a server, made into the base URL of its OpenAI-compatible API.

    >>> normalise_base_url("gpu-box:8000")
    'http://gpu-box:8000/v1'
    """
    text = url.strip()
    if not re.match(r"^[a-z][a-z0-9+.-]*://", text, re.IGNORECASE):
        text = f"http://{text}"
    parts = urlsplit(text)
    path = re.sub(r"/(chat/completions|completions|models)/?$", "", parts.path).rstrip("/")
    return urlunsplit((parts.scheme.lower(), parts.netloc, path or "/v1", "", ""))


async def _look(
    base_url: str, source: str, wait_s: float, settings: ModelSettings, named: bool
) -> tuple[list[ModelInfo], str]:
    """The models of one server, and for a named one why there are none."""
    import httpx

    key = settings.api_key if named else None
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    total_s = max(_PORT_TOTAL_S, 2 * wait_s)
    try:
        async with (
            asyncio.timeout(total_s),
            httpx.AsyncClient(
                timeout=wait_s,
                headers=headers,
                trust_env=not is_loopback(base_url),
                verify=base_url.startswith("https:"),
            ) as client,
        ):
            status, data = await _get(client, f"{base_url}/models")
            entries = data.get("data") if isinstance(data, dict) else None
            if status == 200 and isinstance(entries, list):
                provider, found = await _identify(client, base_url, [e for e in entries if isinstance(e, dict)])
                return _infos(base_url, source, provider, found, settings, key, named)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError, ValueError):
        status = 0
    if not named:
        return [], ""
    if status in (401, 403):
        return [], f"{base_url} refused the API key."
    if status == 404 and settings.name:  # some gateways complete but do not list
        return _infos(base_url, source, "openai", [_Found(settings.name)], settings, key, named)
    return [], f"{base_url}, named in the settings, does not answer." if not status else (
        f"{base_url}, named in the settings, is not a model server (HTTP {status})."
    )


def _infos(
    base_url: str,
    source: str,
    provider: Provider,
    found: list[_Found],
    settings: ModelSettings,
    key: SecretStr | None,
    named: bool,
) -> tuple[list[ModelInfo], str]:
    note = ""
    found = [model for model in found if "embed" not in model.name.lower()]
    if named and settings.name:
        there = [model for model in found if model.name == settings.name]
        if not there:
            names = ", ".join(model.name for model in found[:5]) or "none"
            note = f"{base_url} has no model {settings.name!r}; it has: {names}."
        found = there
    where = "on this machine" if is_loopback(base_url) else f"at {urlsplit(base_url).netloc.rsplit('@', 1)[-1]}"
    infos = [
        ModelInfo(
            endpoint=Endpoint(
                name=f"{_NAMES[provider]} {where}",
                provider=provider,
                base_url=base_url,
                model=model.name,
                api_key=key,
            ),
            capabilities=Capabilities(context_tokens=model.context_tokens),
            source=source,
            grades=model.parameters is None or model.parameters >= SMALLEST_GRADER_PARAMETERS,
        )
        for model in sorted(found, key=lambda model: not model.loaded)
    ]
    if named and not infos and not note:
        note = f"{base_url} serves no model."
    return infos, note


async def _identify(
    client: httpx.AsyncClient, base_url: str, entries: list[dict[str, Any]]
) -> tuple[Provider, list[_Found]]:
    root = re.sub(r"/v1$", "", base_url)
    names = [str(entry["id"]) for entry in entries if isinstance(entry.get("id"), str)]
    owners = {str(entry.get("owned_by", "")).lower() for entry in entries}
    if "vllm" in owners:
        return "vllm", [
            _Found(str(e["id"]), _positive(e.get("max_model_len"))) for e in entries if isinstance(e.get("id"), str)
        ]
    if "llamacpp" in owners:
        _, props = await _get(client, f"{root}/props")
        settings = props.get("default_generation_settings") if isinstance(props, dict) else None
        window = _positive(settings.get("n_ctx")) if isinstance(settings, dict) else None
        return "llama.cpp", [
            _Found(str(e["id"]), window or _positive(_meta(e).get("n_ctx")), _positive(_meta(e).get("n_params")))
            for e in entries
            if isinstance(e.get("id"), str)
        ]
    if owners & {"organization_owner", "lmstudio"} or base_url.endswith(":1234/v1"):
        status, data = await _get(client, f"{root}/api/v0/models")
        listed = data.get("data") if isinstance(data, dict) else None
        if status == 200 and isinstance(listed, list):
            return "lmstudio", [_lmstudio(e) for e in listed if isinstance(e, dict) and _is_chat(e)]
        return "lmstudio", [_Found(name) for name in names]
    status, version = await _get(client, f"{root}/api/version")
    if status == 200 and isinstance(version, dict) and "version" in version:
        return "ollama", await _ollama(client, root, names)
    return "openai", [_Found(name) for name in names]


def _meta(entry: dict[str, Any]) -> dict[str, Any]:
    meta = entry.get("meta")
    return meta if isinstance(meta, dict) else {}


def _is_chat(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("id"), str) and entry.get("type", "llm") in ("llm", "vlm")


def _lmstudio(entry: dict[str, Any]) -> _Found:
    window = _positive(entry.get("loaded_context_length")) or _positive(entry.get("max_context_length"))
    return _Found(str(entry["id"]), window, loaded=entry.get("state") == "loaded")


async def _ollama(client: httpx.AsyncClient, root: str, names: list[str]) -> list[_Found]:
    """Ollama cuts what does not fit without a word, so its window must be known, not guessed high."""
    _, running = await _get(client, f"{root}/api/ps")
    _, tags = await _get(client, f"{root}/api/tags")
    loaded = {str(e.get("name")): e for e in _models(running)}
    sizes = {str(e.get("name")): e for e in _models(tags)}
    found = []
    for name in names:
        details = sizes.get(name, {}).get("details")
        parameters = parameter_count(details.get("parameter_size")) if isinstance(details, dict) else None
        window = _positive(loaded.get(name, {}).get("context_length")) or _OLLAMA_DEFAULT_CONTEXT
        found.append(_Found(name, window, parameters, loaded=name in loaded))
    return found


def _models(data: Any) -> list[dict[str, Any]]:
    listed = data.get("models") if isinstance(data, dict) else None
    return [e for e in listed if isinstance(e, dict)] if isinstance(listed, list) else []


def parameter_count(text: object) -> float | None:
    """Parameters from a size as model servers write it: `1.5B`, `494.03M`; None for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMBT])\s*", text, re.IGNORECASE) if isinstance(text, str) else None
    if match is None:
        return None
    return float(match[1]) * {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}[match[2].lower()]


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


async def _get(client: httpx.AsyncClient, url: str) -> tuple[int, Any]:
    """Status and JSON body; the body is None where it is not JSON or is absurdly long."""
    import json

    async with client.stream("GET", url) as response:
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _BODY_LIMIT_BYTES:
                return response.status_code, None
        try:
            return response.status_code, json.loads(body)
        except (ValueError, RecursionError):
            return response.status_code, None
