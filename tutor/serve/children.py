"""The processes behind the browsers: one program each, started without a shell, ended with its connection."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from textual_serve.app_service import AppService

from tutor.serve.child import ONE_OF_MANY

KEEP_S: Final = 5.0
"""For a program to keep what is typed and end by itself."""
SMALLEST, LARGEST = 10, 1000
"""Columns and rows that a browser may ask for."""


class Child(AppService):
    """One program; `stop` leaves no process behind."""

    def __init__(
        self, data_dir: Path, config: Path | None, variables: Mapping[str, str], one_of_many: bool, **service: Any
    ) -> None:
        super().__init__("tutor", **service)
        closed_off = [ONE_OF_MANY] if one_of_many else []
        self._arguments = [*closed_off, str(data_dir), *([str(config)] if config is not None else [])]
        self._variables = variables

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = self._build_environment(width=clamped(width), height=clamped(height)) | dict(self._variables)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tutor.serve.child", *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl+C is for the server, which ends its children itself
        )  # fmt: skip
        assert process.stdin is not None
        self._process, self._stdin = process, process.stdin
        return process

    @property
    def pid(self) -> int | None:
        """Of the program, once it was started."""
        return self._process.pid if self._process is not None else None

    async def stop(self) -> None:
        """Ask the program to keep what is typed and end; end it where it does not."""
        process, task = self._process, self._task
        if process is None:
            return
        self._process = self._task = None
        with suppress(Exception):
            await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        with suppress(Exception):
            await asyncio.wait_for(self.send_meta({"type": "quit"}), 1)
        try:
            await asyncio.wait_for(process.wait(), KEEP_S)
        except TimeoutError:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), 2)
                    break
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


def clamped(cells: object) -> int:
    """A size that a browser asked for, within reason."""
    if not isinstance(cells, int | float) or not math.isfinite(cells):
        return 80
    return int(min(LARGEST, max(SMALLEST, cells)))
