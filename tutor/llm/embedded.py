"""The llama.cpp server that the program starts for itself when there is no other.

It runs in a child process because loading a model holds Python's lock from start to end (7 s for a 1.1 GB
file), which would freeze the screen, and because a crash in native code must not take an answer with it. The
child's end is tied to ours: when the pipe to it closes, even by `kill -9`, it exits.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import secrets
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

from pydantic import SecretStr

from tutor.llm.errors import LlmError
from tutor.llm.machine import memory_bytes, usable_cores
from tutor.llm.types import Capabilities, Endpoint

_STOP_S = 3.0
_GRACE_BYTES = 300 * 1024 * 1024


def available() -> bool:
    """Whether llama.cpp is installed with the program; importing nothing of it."""
    return find_spec("xllamacpp") is not None


class EmbeddedServer:
    """One model file served on loopback, with a key that only this process knows.

    `context_tokens` is the window of each of the `slots`; `threads` defaults to the usable cores.
    """

    def __init__(
        self,
        model_path: Path,
        context_tokens: int = 8192,
        slots: int = 1,
        threads: int | None = None,
        port: int = 0,
        measured: bool = False,
    ) -> None:
        """`measured`: counters are served at /metrics, and no prompt is taken from an earlier one."""
        self.measured = measured
        self.model_path = model_path
        self.context_tokens = context_tokens
        self.slots = slots
        self.threads = threads or usable_cores()
        self.port = port
        self.load_s: float | None = None
        """Seconds from the start of the child process until it listened."""
        self._child: subprocess.Popen[str] | None = None
        self._endpoint: Endpoint | None = None
        self._lock = threading.Lock()

    @property
    def running(self) -> bool:
        """Whether the child process is alive."""
        return self._child is not None and self._child.poll() is None

    @property
    def endpoint(self) -> Endpoint:
        """Where the server listens; only while it runs.

        Raises:
            LlmError: of kind `unreachable` when it was not started or has ended.
        """
        if self._endpoint is None:
            raise LlmError("unreachable", "The model inside the program was not started.")
        if not self.running:
            raise LlmError("unreachable", f"The model inside the program ended{self._how_it_ended()}.")
        return self._endpoint

    @property
    def capabilities(self) -> Capabilities:
        """Known without asking: llama.cpp constrains replies to a schema and tells log-probabilities."""
        return Capabilities(json_schema=True, logprobs=True, context_tokens=self.context_tokens)

    async def start(self) -> Endpoint:
        """Load the model; cancelling stops the load at once.

        Raises:
            LlmError: llama.cpp or the file is missing, memory is short, or the file cannot be loaded.
        """
        loading = asyncio.ensure_future(asyncio.to_thread(self.start_blocking))
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            await asyncio.to_thread(self.stop_blocking)
            with contextlib.suppress(LlmError):
                await loading
            raise

    async def stop(self) -> None:
        """End the child process; safe to call twice."""
        await asyncio.to_thread(self.stop_blocking)

    def start_blocking(self) -> Endpoint:
        """`start` for callers without an event loop."""
        if self.running:
            return self.endpoint
        self._check()
        key = secrets.token_urlsafe(24)
        began = time.perf_counter()
        order = {
            "model": str(self.model_path.resolve()),
            "alias": self.model_path.stem,
            "context_tokens": self.context_tokens * self.slots,
            "slots": self.slots,
            "threads": self.threads,
            "port": self.port,
            "api_key": key,
            "measured": self.measured,
        }
        with self._lock:
            child = self._child = subprocess.Popen(
                [sys.executable, "-m", "tutor.llm.embedded_child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl+C in the terminal is for us; the pipe tells the child
            )
        atexit.register(self.stop_blocking)
        assert child.stdin is not None
        assert child.stdout is not None
        # The key goes through the pipe: arguments can be read by every user of the machine.
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(json.dumps(order) + "\n")
            child.stdin.flush()
        line = child.stdout.readline()
        try:
            reply = json.loads(line) if line else {"error": ""}
        except ValueError:
            reply = {"error": ""}
        if "address" not in reply:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_STOP_S)
            how = reply["error"] or f"The loader ended{self._how_it_ended()}."
            self.stop_blocking()
            raise LlmError(
                "server",
                f"The model file {self.model_path} could not be loaded. {how}".strip(),
                hint="`tutor model get` checks the file and fetches it again where it is damaged.",
            )
        self.load_s = time.perf_counter() - began
        self._endpoint = Endpoint(
            name="The model inside the program",
            provider="embedded",
            base_url=f"{reply['address']}/v1",
            model=self.model_path.stem,
            api_key=SecretStr(key),
        )
        return self._endpoint

    def stop_blocking(self) -> None:
        """`stop` for callers without an event loop."""
        with self._lock:
            child, self._child = self._child, None
        self._endpoint = None
        atexit.unregister(self.stop_blocking)
        if child is None:
            return
        loading = self.load_s is None and child.poll() is None
        for stream in (child.stdin,):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        try:
            if loading:
                child.terminate()  # a load cannot be asked to end
            child.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            child.terminate()
            try:
                child.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        if child.stdout is not None and not loading:
            child.stdout.close()

    def _check(self) -> None:
        if not available():
            raise LlmError(
                "not_found",
                "llama.cpp is not installed with this program.",
                hint="Install the extra `embedded`, or run a model server.",
            )
        if not self.model_path.is_file():
            raise LlmError(
                "not_found",
                f"There is no model file {self.model_path}.",
                hint="`tutor model get` fetches one.",
            )
        size, memory = self.model_path.stat().st_size, memory_bytes()
        if memory is not None and size + _GRACE_BYTES > memory:
            raise LlmError(
                "server",
                f"{self.model_path.name} needs {(size + _GRACE_BYTES) / 1e9:.1f} GB of memory; "
                f"this machine has {memory / 1e9:.1f} GB.",
                hint="Choose a smaller model.",
            )

    def _how_it_ended(self) -> str:
        code = self._child.poll() if self._child is not None else None
        if code is None:
            return ""
        return f" (signal {-code})" if code < 0 else f" (exit code {code})"
