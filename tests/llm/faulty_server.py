"""A local HTTP server that answers as it is told, also wrongly: the real other end of every fault test."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

Behaviour = Callable[["Exchange"], None]


class Exchange:
    """One request and the socket on which a behaviour answers it."""

    def __init__(self, connection: socket.socket, path: str, headers: dict[str, str], body: bytes) -> None:
        self.connection = connection
        self.path = path
        self.headers = headers
        self.body: Any = json.loads(body) if body else None
        self.hung_up = threading.Event()

    def send(self, data: str | bytes) -> None:
        self.connection.sendall(data.encode() if isinstance(data, str) else data)

    def respond(self, status: int, body: str, headers: Iterable[str] = (), kind: str = "application/json") -> None:
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body.encode())}"]
        self.send("\r\n".join([*lines, "Connection: close", *headers, "", body]))

    def begin_stream(self) -> None:
        self.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")

    def chunk(self, text: str | None = None, finish: str | None = None, **more: Any) -> None:
        delta = {} if text is None else {"content": text}
        choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
        self.send(f"data: {json.dumps(_envelope(choices=[choice]))}\n\n")

    def end_stream(self, finish: str | None = "stop") -> None:
        self.chunk(finish=finish)
        usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
        self.send(f"data: {json.dumps(_envelope(choices=[], usage=usage))}\n\n")
        self.send("data: [DONE]\n\n")

    def wait_for_hang_up(self, limit_s: float = 10.0) -> None:
        """Return when the client has closed its side."""
        self.connection.settimeout(limit_s)
        try:
            if self.connection.recv(1) == b"":
                self.hung_up.set()
        except ConnectionResetError:
            self.hung_up.set()
        except TimeoutError:
            pass


def _envelope(**more: Any) -> dict[str, Any]:
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "served", **more}


def says(*pieces: str, finish: str | None = "stop", **more: Any) -> Behaviour:
    """A well-behaved stream of `pieces`."""

    def behave(exchange: Exchange) -> None:
        exchange.begin_stream()
        for piece in pieces:
            exchange.chunk(piece, **more)
        exchange.end_stream(finish)

    return behave


def status(code: int, message: str = "no", headers: Iterable[str] = ()) -> Behaviour:
    """An OpenAI-style error."""
    return lambda exchange: exchange.respond(code, json.dumps({"error": {"message": message}}), headers)


class FaultyServer:
    """Answers the n-th request with the n-th behaviour, and with the last one from then on."""

    def __init__(self, *behaviours: Behaviour, routes: dict[str, Any] | None = None) -> None:
        self.behaviours = list(behaviours)
        self.routes = routes or {}
        """Paths answered with JSON, for discovery; an int is a status."""
        self.exchanges: list[Exchange] = []
        self.arrivals_s: list[float] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            try:
                first = reader.readline().decode().split()
                if len(first) < 2:
                    return
                headers: dict[str, str] = {}
                while line := reader.readline().decode().strip():
                    name, _, value = line.partition(":")
                    headers[name.lower()] = value.strip()
                body = reader.read(int(headers.get("content-length", 0)))
                exchange = Exchange(connection, first[1], headers, body)
                self.exchanges.append(exchange)
                self.arrivals_s.append(time.monotonic())
                self._behave(exchange)
            except OSError:  # the client left, which is what some tests are about
                return

    def _behave(self, exchange: Exchange) -> None:
        if self.routes:
            answer = self.routes.get(exchange.path, 404)
            if isinstance(answer, int):
                exchange.respond(answer, "{}")
            else:
                exchange.respond(200, answer if isinstance(answer, str) else json.dumps(answer))
            return
        self.behaviours[min(len(self.exchanges), len(self.behaviours)) - 1](exchange)


@contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens while the block runs."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
