"""What travels between the tutor and a model server; the settings embed `ModelSettings`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, SecretStr
from typing_extensions import TypedDict

Provider = Literal["openai", "vllm", "llama.cpp", "ollama", "lmstudio", "embedded"]
Role = Literal["system", "user", "assistant"]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


class Message(TypedDict):
    """One turn of a chat."""

    role: Role
    content: str
    name: NotRequired[str]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Deadlines(_Frozen):
    """How long one call may take, in seconds, at each of its stages."""

    connect_s: Seconds = 5.0
    """Until the server has accepted the connection."""
    first_token_s: Seconds = 120.0
    """From then until the first token: covers a cold model load and a long prompt on a slow machine."""
    idle_s: Seconds = 30.0
    """Between two tokens."""
    total_s: Seconds = 180.0
    """For the whole call, retries and their waits included."""


class ModelSettings(_Frozen):
    """What a person can set about the model; every field has a default that works without a server."""

    base_url: str | None = None
    """An OpenAI-compatible server, such as `http://gpu-box:8000/v1`; asked before any other."""
    name: str | None = None
    """The model's name on that server; the server's first model when not given."""
    api_key: SecretStr | None = None
    """Sent as a bearer token; local servers usually need none."""
    discover: bool = True
    """Whether to look on this machine's usual ports (vLLM, llama.cpp, Ollama, LM Studio)."""
    use_embedded: bool = True
    """Whether the llama.cpp inside the program may be started when no server is found."""
    model_dir: Path | None = None
    """Where model files are kept; `models` in the data directory when not given."""
    model_file: Path | None = None
    """A GGUF file of one's own for the embedded server; the best installed file when not given."""
    context_tokens: Annotated[int, Field(ge=512, le=1_048_576)] = 8192
    """The embedded server's window, in tokens."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """CPU threads of the embedded server; the number of usable cores when not given."""
    deadlines: Deadlines = Deadlines()


class Endpoint(_Frozen):
    """A model on a server: where it is and how to name it."""

    name: str
    """What a person reads, such as `Ollama on this machine`."""
    provider: Provider
    base_url: str
    """Ends in `/v1`."""
    model: str
    api_key: SecretStr | None = None


class Capabilities(_Frozen):
    """What an endpoint was seen to do."""

    json_schema: bool = False
    logprobs: bool = False
    context_tokens: int | None = None
    """The window in tokens, prompt and reply together; None where the server does not tell."""


class ModelInfo(_Frozen):
    """An endpoint that was found, what it can do, and how it was found."""

    endpoint: Endpoint
    capabilities: Capabilities = Capabilities()
    source: str
    """In plain words: `named in the settings`, `found on port 11434`, `started inside the program`."""
    grades: bool = True
    """False for a model known to be too small for its verdicts to count."""


class Request(_Frozen):
    """One question to the model."""

    messages: tuple[Message, ...]
    max_tokens: Annotated[int, Field(ge=1)]
    temperature: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    seed: int | None = 0
    json_schema: dict[str, Any] | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] = 0


class TokenLogprob(_Frozen):
    """One generated token with its natural-log probability, and the likeliest tokens in its place."""

    token: str
    logprob: FiniteFloat
    top: dict[str, FiniteFloat]


class Completion(_Frozen):
    """A reply; `text` is never empty."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None
    """Prompt tokens the server had already computed; None where it does not tell."""
    seconds: float
    """Wall time of the whole call, retries included."""
    model: str
    logprobs: tuple[TokenLogprob, ...] | None = None
