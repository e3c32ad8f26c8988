"""Measured runs on disk: the shape of `vllm bench serve --save-detailed`, and rows that `sim fit` reads."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tutor.errors import TutorError
from tutor.measure.records import Seen
from tutor.measure.run import Measured

OURS: Final = "tutor"
"""The one key that the tool does not know: classes, statuses, what the generator itself was late, server counters."""
MAX_FILE_BYTES: Final = 500_000_000


def bench_shape(measured: Measured, *, name: str, model: str, date: str) -> dict[str, Any]:
    """As the tool writes it, with lists of one entry a request; times in seconds, statistics in milliseconds.

    `date` is the tool's `YYYYMMDD-HHMMSS`. Requests that did not complete count as failed, with zeros in the lists.
    """
    seen = measured.requests
    done = [each for each in seen if each.status == "completed"]
    duration = measured.duration_s
    prompt = sum(each.prompt_tokens or each.asked_prompt_tokens for each in done)
    output = sum(each.tokens for each in done)
    per_s = 1 / duration if duration > 0 else 0.0
    sent = sorted(each.sent_s for each in seen if each.sent_s is not None)
    span = sent[-1] - sent[0] if len(sent) > 1 else 0.0
    data: dict[str, Any] = {
        "date": date,
        "endpoint_type": "openai",
        "backend": "openai",
        "label": name,
        "model_id": model,
        "tokenizer_id": model,
        "num_prompts": len(seen),
        "request_rate": (len(sent) - 1) / span if span else "inf",
        "burstiness": None,
        "max_concurrency": None,
        "duration": duration,
        "completed": len(done),
        "failed": len(seen) - len(done),
        "total_input_tokens": prompt,
        "total_output_tokens": output,
        "request_throughput": len(done) * per_s,
        "request_goodput": None,
        "output_throughput": output * per_s,
        "total_token_throughput": (prompt + output) * per_s,
    }
    data |= statistics("ttft", [each.ttft_s for each in done if each.ttft_s is not None])
    data |= statistics("tpot", [each.tpot_s for each in done if each.tpot_s is not None])
    data |= statistics("itl", [gap for each in done for gap in each.gaps_s])
    data |= statistics("e2el", [each.e2e_s for each in done if each.e2e_s is not None])
    data |= {
        "input_lens": [each.prompt_tokens or each.asked_prompt_tokens for each in seen],
        "output_lens": [each.tokens if each.status == "completed" else 0 for each in seen],
        "start_times": [each.sent_s if each.sent_s is not None else each.due_s for each in seen],
        "ttfts": [(each.ttft_s or 0.0) if each.status == "completed" else 0.0 for each in seen],
        "itls": [each.gaps_s if each.status == "completed" else [] for each in seen],
        "errors": [each.error for each in seen],
        OURS: {
            "classes": [each.class_name for each in seen],
            "numbers": [each.number for each in seen],
            "statuses": [each.status for each in seen],
            "asked": [[each.asked_prompt_tokens, each.asked_output_tokens] for each in seen],
            "late_s": [round(each.late_s, 6) for each in seen],
            "exact_prompts": measured.exact_prompts,
            "stopped": measured.stopped,
            "server_counters": measured.counters,
        },
    }
    return data


def statistics(name: str, values_s: Sequence[float]) -> dict[str, float]:
    """Mean, median, deviation, p95 and p99 in ms; 0 where there is no sample, as the tool has it."""
    if not values_s:
        return {f"{what}_{name}_ms": 0.0 for what in ("mean", "median", "std", "p95", "p99")}
    values = np.array(values_s) * 1000
    return {
        f"mean_{name}_ms": float(values.mean()),
        f"median_{name}_ms": float(np.median(values)),
        f"std_{name}_ms": float(values.std()),
        f"p95_{name}_ms": float(np.percentile(values, 95)),
        f"p99_{name}_ms": float(np.percentile(values, 99)),
    }


def fit_rows(measured: Measured) -> list[dict[str, object]]:
    """The completed requests as `sim fit` reads them."""
    return [
        {
            "class": each.class_name,
            "arrival_s": each.sent_s,
            "prompt_tokens": each.prompt_tokens or each.asked_prompt_tokens,
            "output_tokens": each.tokens,
            "first_token_s": each.first_s,
            "last_token_s": each.last_s,
        }
        for each in measured.requests
        if each.status == "completed"
    ]


def write_run(path: Path, data: dict[str, Any], rows: Sequence[dict[str, object]]) -> Path:
    """Write both files, each whole or not at all; returns the one for `sim fit`, `NAME.requests.jsonl`.

    Raises:
        TutorError: a file cannot be written.
    """
    beside = path.with_name(f"{path.name.removesuffix('.json')}.requests.jsonl")
    try:
        _replace(beside, "".join(json.dumps(row) + "\n" for row in rows))
        _replace(path, json.dumps(data, allow_nan=False) + "\n")
    except OSError as error:
        raise TutorError(
            f"{path}: cannot be written ({error.strerror or error}).", hint="Choose another --output."
        ) from None
    return beside


def _replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    os.replace(file.name, path)


def read_run(path: Path) -> tuple[dict[str, Any], list[Seen]]:
    """A saved run: the file's content, and its requests (of any tool's detailed file; classes are then "all").

    Raises:
        TutorError: the file cannot be read, or has no entries a request.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise TutorError(f"{path}: larger than {MAX_FILE_BYTES:,} bytes.", hint="Give a shorter run.")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TutorError(f"{path}: cannot be read ({error.strerror or error}).", hint="Check the path.") from None
    except (ValueError, RecursionError):
        raise TutorError(f"{path}: is not JSON.", hint="Give a file written by tutor measure or vllm bench.") from None
    lists = ("input_lens", "output_lens", "ttfts", "itls", "start_times")
    if not isinstance(data, dict) or any(not isinstance(data.get(name), list) for name in lists):
        missing = next(name for name in lists if not isinstance(data, dict) or not isinstance(data.get(name), list))
        raise TutorError(
            f"{path}: has no list {missing!r}.", hint="Save it with one entry a request (--save-detailed)."
        )
    count = len(data["input_lens"])
    if any(len(data[name]) != count for name in lists):
        raise TutorError(f"{path}: its lists differ in length.", hint="It may be cut; measure again.")
    found = data.get(OURS)
    ours = found if isinstance(found, dict) else {}
    try:
        return data, [_seen(data, ours, row) for row in range(count)]
    except (TypeError, ValueError, IndexError, KeyError):
        raise TutorError(f"{path}: a request's entries cannot be read.", hint="It may be damaged.") from None


def _seen(data: dict[str, Any], ours: dict[str, Any], row: int) -> Seen:
    sent, ttft = float(data["start_times"][row]), float(data["ttfts"][row])
    gaps = [float(gap) for gap in data["itls"][row]]
    output = int(data["output_lens"][row])
    seen = Seen(
        class_name=str(ours["classes"][row]) if ours else "all",
        number=int(ours["numbers"][row]) if ours else row + 1,
        due_s=sent,
        asked_prompt_tokens=int(data["input_lens"][row]),
        asked_output_tokens=output,
        sent_s=sent,
        prompt_tokens=int(data["input_lens"][row]),
        output_tokens=output,
        status=ours["statuses"][row] if ours else ("completed" if output else "failed"),
    )
    if ttft > 0:
        seen.events_s = [float(time) for time in np.cumsum([sent + ttft, *gaps])]
    return seen
