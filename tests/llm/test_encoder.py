"""The sentence encoder: its arithmetic on a small network, and the real one where its file is here."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tutor.errors import TutorError
from tutor.llm.encoder import DIMENSIONS, Encoder, _gelu, find_encoder
from tutor.settings import load_settings


def test_gelu_is_x_times_the_normal_distribution() -> None:
    x = np.linspace(-6, 6, 49, dtype=np.float32)
    exact = [float(v) * (1 + math.erf(float(v) / math.sqrt(2))) / 2 for v in x]
    assert np.abs(_gelu(x) - np.array(exact)).max() < 2e-6


def _write(path: Path, layers: int = 6, wide: int = DIMENSIONS) -> None:
    """A network of zeros that passes its embeddings through, with a tokenizer of four words."""
    rng = np.random.default_rng(3)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (7, wide),
        "embeddings.position_embeddings.weight": (16, wide),
        "embeddings.token_type_embeddings.weight": (2, wide),
    }
    norms = ["embeddings.LayerNorm"]
    for n in range(layers):
        at = f"encoder.layer.{n}"
        for name, shape in (
            *((f"attention.self.{k}", (wide, wide)) for k in ("query", "key", "value")),
            ("attention.output.dense", (wide, wide)), ("intermediate.dense", (8, wide)), ("output.dense", (wide, 8)),
        ):  # fmt: skip
            shapes |= {f"{at}.{name}.weight": shape, f"{at}.{name}.bias": shape[:1]}
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
    shapes |= {f"{norm}.{part}": (wide,) for norm in norms for part in ("weight", "bias")}
    header: dict[str, Any] = {}
    body = b""
    for name, size in shapes.items():
        values = np.zeros(size, "<f4")
        if name == "embeddings.word_embeddings.weight":
            values = rng.normal(size=size).astype("<f4")
        elif name.endswith("LayerNorm.weight"):
            values += 1
        raw = values.tobytes()
        header[name] = {"dtype": "F32", "shape": list(size), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    vocabulary = {word: n for n, word in enumerate(["[UNK]", "[CLS]", "[SEP]", "queue", "gap", "grows", "falls"])}
    tokenizer: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }  # fmt: skip
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + body + json.dumps(tokenizer).encode())


def test_vectors_have_length_one_and_ignore_the_company(tmp_path: Path) -> None:
    _write(tmp_path / "small")
    encoder = Encoder(tmp_path / "small")
    together = encoder.encode(["queue grows", "gap falls", "queue"])
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert np.array_equal(Encoder(tmp_path / "small").encode(["gap falls"])[0], together[1])
    assert together[0] @ together[2] > together[1] @ together[2]
    assert encoder.encode([]).shape == (0, DIMENSIONS)


def test_a_network_of_zeros_gives_the_normalised_mean_of_its_words(tmp_path: Path) -> None:
    _write(tmp_path / "small")
    encoder = Encoder(tmp_path / "small")
    words = encoder._weights["embeddings.word_embeddings.weight"][[3, 5]].astype(float)
    centred = words - words.mean(axis=1, keepdims=True)
    mean = (centred / centred.std(axis=1, keepdims=True)).mean(axis=0)
    assert np.allclose(encoder.encode(["queue grows"])[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"\x05\x00")
    with pytest.raises(TutorError, match="cannot be read"):
        Encoder(tmp_path / "bad")
    assert find_encoder(tmp_path) is None


def test_the_real_file_gives_the_published_similarity() -> None:
    """Where the encoder was fetched: 0.7035, as its authors' own example of a search prints it."""
    encoder = find_encoder(load_settings().model_dir)
    if encoder is not None:
        food, pasta = encoder.encode(["A man is eating food.", "A man is eating pasta."])
        assert float(food @ pasta) == pytest.approx(0.7035, abs=5e-4)
