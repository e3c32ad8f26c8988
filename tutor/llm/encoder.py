"""Sentences as vectors: all-MiniLM-L6-v2, a six-layer BERT, in NumPy.

The network is that of J. Devlin and others, "BERT" (2019), with the weights of sentence-transformers'
all-MiniLM-L6-v2 (Apache-2.0): word, position and type embeddings, six layers of self-attention with twelve heads and
a feed-forward part with the exact GELU, the mean over the tokens, length one. So the dot product of two vectors is
their cosine, about 0 for unrelated sentences and above 0.6 for paraphrases. It does not see negation or direction.

The file is the published weights with the published tokenizer behind them, so that one name and one SHA-256 stand
for both. It is optional: what uses it works without.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutor.errors import TutorError
from tutor.llm.catalogue import ENCODER_ENTRY

Floats = NDArray[np.float32]
DIMENSIONS = 384
MAX_TOKENS = 256
"""Longer text is cut, as its authors did in training."""
_HEADS, _LAYERS = 12, 6
_EPSILON = 1e-12
_KEPT = 20_000


class Encoder:
    """Turns sentences into unit vectors; remembers those it has seen."""

    def __init__(self, path: Path) -> None:
        """Reads the file.

        Raises:
            TutorError: the file is not there or damaged.
        """
        try:
            raw = path.read_bytes()
            (size,) = struct.unpack("<Q", raw[:8])
            header: dict[str, Any] = json.loads(raw[8 : 8 + size])
            header.pop("__metadata__", None)
            end = 8 + size + max(entry["data_offsets"][1] for entry in header.values())
            self._weights = {
                name: np.frombuffer(raw, "<f4", (stop - start) // 4, 8 + size + start).reshape(entry["shape"])
                for name, entry in header.items() if entry["dtype"] == "F32"
                for start, stop in [entry["data_offsets"]]
            }  # fmt: skip
            from tokenizers import Tokenizer

            self._tokenizer = Tokenizer.from_str(raw[end:].decode("utf-8"))
        except (OSError, ValueError, KeyError, struct.error) as error:
            raise TutorError(
                f"The sentence encoder {path} cannot be read.",
                hint="'tutor model get encoder' fetches it.",
                exit_code=3,
            ) from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._known: dict[str, Floats] = {}

    def encode(self, texts: Sequence[str]) -> Floats:
        """A row of length one for each text; float32, DIMENSIONS wide."""
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        for text in texts:
            if text not in self._known:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[text] = self._one(self._tokenizer.encode(text).ids)
        return np.stack([self._known[text] if text in self._known else self._again(text) for text in texts])

    def _again(self, text: str) -> Floats:
        return self._one(self._tokenizer.encode(text).ids)

    def _one(self, tokens: list[int]) -> Floats:
        # One sentence at a time: no padding, and the same vector whatever it is encoded with.
        w = self._weights
        x = w["embeddings.word_embeddings.weight"][tokens] + w["embeddings.position_embeddings.weight"][: len(tokens)]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            at = f"encoder.layer.{layer}"
            x = self._norm(x + self._attention(x, at), f"{at}.attention.output.LayerNorm")
            inner = _gelu(self._dense(x, f"{at}.intermediate.dense"))
            x = self._norm(x + self._dense(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = x.mean(axis=0)
        unit: Floats = (mean / max(float(np.linalg.norm(mean)), _EPSILON)).astype(np.float32)
        return unit

    def _attention(self, x: Floats, at: str) -> Floats:
        def heads(name: str) -> Floats:
            wide = self._dense(x, f"{at}.attention.self.{name}")
            return wide.reshape(len(x), _HEADS, -1).transpose(1, 0, 2)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        return self._dense(mixed.transpose(1, 0, 2).reshape(len(x), -1), f"{at}.attention.output.dense")

    def _dense(self, x: Floats, name: str) -> Floats:
        out: Floats = x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return out

    def _norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        out: Floats = centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return out


def _gelu(x: Floats) -> Floats:
    """x Φ(x), with the error function after Abramowitz and Stegun 7.1.26 (error below 2e-7 times x)."""
    z = np.abs(x) / np.float32(2**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * np.float32(1.061405429))))
    )
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    out: Floats = (x * (1 + erf) / 2).astype(np.float32)
    return out


def has_encoder(directory: Path) -> bool:
    """Whether the whole file is in the model directory."""
    try:
        return (directory / ENCODER_ENTRY.file_name).stat().st_size == ENCODER_ENTRY.size_bytes
    except OSError:
        return False


def find_encoder(directory: Path) -> Encoder | None:
    """The encoder in the model directory; None where it was not fetched or is cut short.

    Raises:
        TutorError: the file has the right size and cannot be read.
    """
    return Encoder(directory / ENCODER_ENTRY.file_name) if has_encoder(directory) else None
