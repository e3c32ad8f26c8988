"""The layouts of public trace files: which column holds what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sim.traces.rows import Unit

Format = Literal[
    "auto",
    "azure",
    "burstgpt",
    "vidur",
    "mooncake",
    "measured",
    "vllm_bench",
    "servegen",
    "csv",
    "jsonl",
]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the columns (CSV) or keys (JSON lines) of one row."""

    time: str
    unit: Unit
    prompt_tokens: str
    output_tokens: str
    blocks: str | None = None
    """Ids of the prompt's blocks of `block_tokens` tokens; a row may go without."""
    block_tokens: int = 512
    prefix: str | None = None
    """A list of [label, tokens]; a row may go without."""
    coarse_clock: bool = False
    """Whether times may stand in steps of seconds and are spread then."""

    @property
    def needed(self) -> tuple[str, str, str]:
        """The columns without which a row says nothing."""
        return (self.time, self.prompt_tokens, self.output_tokens)


CSV_LAYOUTS: dict[Format, Layout] = {
    # Azure LLM inference traces 2023 and 2024 (AzurePublicDataset, CC BY 4.0).
    "azure": Layout("TIMESTAMP", "clock", "ContextTokens", "GeneratedTokens"),
    # BurstGPT (HPMLL/BurstGPT, CC BY 4.0): a failed request has 0 response tokens.
    "burstgpt": Layout("Timestamp", "s", "Request tokens", "Response tokens", coarse_clock=True),
    # Vidur's processed traces (microsoft/vidur, MIT).
    "vidur": Layout("arrived_at", "s", "num_prefill_tokens", "num_decode_tokens"),
}
JSON_LAYOUTS: dict[Format, tuple[Layout, ...]] = {
    # Mooncake FAST'25 traces (kvcache-ai/Mooncake, Apache-2.0).
    "mooncake": (Layout("timestamp", "ms", "input_length", "output_length", "hash_ids", coarse_clock=True),),
    # Requests of a measured run: what was sent, and what was logged.
    "measured": (
        Layout("arrival_time_ns", "ns", "input_toks", "output_toks", "prefix_block_ids_16", 16),
        Layout("arrival_time", "s", "input_toks", "output_toks", "prefix_block_ids_16", 16),
    ),
}
GENERIC = Layout("time_s", "s", "prompt_tokens", "output_tokens", prefix="prefix")
"""Our own: what `--to` writes."""
