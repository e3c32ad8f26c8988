"""The web server: who may come in, one program a connection, and an end that leaves nothing running.

Every request must name the server as its host (a page elsewhere that points its own name here is refused), a
connection must come from the server's own page, and beyond loopback from somebody with a token.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web
from textual_serve.download_manager import DownloadManager

from tutor.serve import pages
from tutor.serve.children import Child, clamped
from tutor.serve.users import LOCAL, User, data_dir_of, user_of

COOKIE: Final = "tutor_session"
SESSION_S: Final = 12 * 3600
MOST_BYTES: Final = 1 << 20
"""Of one message from a browser: a paste."""
WRONG_TOKEN_S: Final = 0.5
"""How long a wrong token waits for its answer."""
EACH_MOST: Final = 3
"""Programs of one person at the same time."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Site:
    """One server; `app()` is the aiohttp application."""

    data_dir: Path
    """People's folders are below `users` here; the local person's answers are here itself."""
    origins: tuple[str, ...]
    """Where the page may come from, such as `http://127.0.0.1:8000`; the hosts of requests follow from them."""
    users: tuple[User, ...] = ()
    """Empty: anybody who reaches it is the local person."""
    config: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    """Settings that all programs get."""
    most: int = 20
    """Programs at the same time."""
    sessions: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Whose, and until when on the monotonic clock; a cookie that a browser keeps longer opens nothing."""
    children: dict[Child, str] = field(default_factory=dict)

    def app(self) -> web.Application:
        """The application, with its children ended at shutdown."""
        app = web.Application(middlewares=[self.guard], client_max_size=64 * 1024)
        static = Path(str(files("textual_serve"))) / "static"
        app.add_routes(
            [
                web.get("/", self.index),
                web.get("/enter", self.enter_form),
                web.post("/enter", self.enter),
                web.get("/ws", self.socket),
                web.static("/static", static),
            ]
        )
        app.on_shutdown.append(self.end_all)
        return app

    # --- who and from where -------------------------------------------------------------------------------------

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The host must be ours, what changes something must come from our page, and every reply carries the policy."""
        hosts = {urlsplit(origin).netloc for origin in self.origins}
        if request.host not in hosts:
            return web.Response(status=421, text="This server does not answer to that name.\n")
        origin = request.headers.get("Origin")
        if (request.path == "/ws" or request.method != "GET") and origin not in self.origins:
            return web.Response(status=403, text="Only this server's own page may do that.\n")
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = error
        if not response.prepared:
            response.headers.update(pages.HEADERS)
            if not request.path.startswith("/static/"):
                socket = " ".join(origin.replace("http", "ws", 1) for origin in self.origins)
                response.headers["Content-Security-Policy"] = pages.POLICY.format(socket=socket)
        if isinstance(response, web.HTTPException):
            raise response
        return response

    def person(self, request: web.Request) -> str | None:
        """Who asks; None where a token is wanted first."""
        if not self.users:
            return LOCAL
        name, until_s = self.sessions.get(request.cookies.get(COOKIE, ""), (None, 0.0))
        return name if monotonic() < until_s else None

    async def enter_form(self, request: web.Request) -> web.Response:
        """The place for a token."""
        return web.Response(text=pages.enter_page(), content_type="text/html")

    async def enter(self, request: web.Request) -> web.Response:
        """Take a token; the cookie is a number of this session and nothing else."""
        form = await request.post()
        token = form.get("token", "")
        user = user_of(self.users, token) if isinstance(token, str) else None
        if user is None:
            await asyncio.sleep(WRONG_TOKEN_S)
            page = pages.enter_page("That token is not known here.")
            return web.Response(status=403, text=page, content_type="text/html")
        session = secrets.token_urlsafe(32)
        self.sessions[session] = user.name, monotonic() + SESSION_S
        while len(self.sessions) > 100_000:
            del self.sessions[next(iter(self.sessions))]
        response = web.Response(status=303, headers={"Location": "/"})
        secure = all(origin.startswith("https://") for origin in self.origins)
        response.set_cookie(COOKIE, session, max_age=SESSION_S, httponly=True, samesite="Strict", secure=secure)
        return response

    async def index(self, request: web.Request) -> web.Response:
        """The terminal, or the way in."""
        if self.person(request) is None:
            return web.Response(status=303, headers={"Location": "/enter"})
        origin = next((one for one in self.origins if urlsplit(one).netloc == request.host), self.origins[0])
        size = request.query.get("fontsize", "")
        font = min(40, max(8, int(size))) if size.isascii() and size.isdigit() and len(size) < 4 else 16
        page = pages.terminal_page(f"{origin.replace('http', 'ws', 1)}/ws", font)
        return web.Response(text=page, content_type="text/html")

    # --- the programs -------------------------------------------------------------------------------------------

    def folder(self, name: str) -> Path:
        """Where a person's answers are."""
        return self.data_dir if not self.users else data_dir_of(self.data_dir, name)

    async def socket(self, request: web.Request) -> web.StreamResponse:
        """One program for as long as the connection lasts."""
        name = self.person(request)
        if name is None:
            return web.Response(status=403, text="Come in first.\n")
        if len(self.children) >= self.most or list(self.children.values()).count(name) >= EACH_MOST:
            return web.Response(status=503, text="All places are taken; close another window or come back later.\n")
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=MOST_BYTES)
        child = Child(
            self.folder(name),
            self.config,
            self.variables,
            one_of_many=bool(self.users),
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=socket.close,
            download_manager=DownloadManager(),
        )
        self.children[child] = name
        try:
            await socket.prepare(request)
            await child.start(_size(request, "width", 80), _size(request, "height", 24))
            await _listen(socket, child)
        except (ConnectionError, RuntimeError):
            pass  # the browser went away
        finally:
            await asyncio.shield(self.end(child))
            with suppress(Exception):
                await socket.close()
        return socket

    async def end(self, child: Child) -> None:
        """End one program; its place is free once it is gone."""
        try:
            await child.stop()
        finally:
            self.children.pop(child, None)

    async def end_all(self, app: web.Application) -> None:
        """End every program, all at once."""
        await asyncio.gather(*(self.end(child) for child in list(self.children)), return_exceptions=True)


def _size(request: web.Request, name: str, usual: int) -> int:
    text = request.query.get(name, "")
    return clamped(int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else usual


async def _listen(socket: web.WebSocketResponse, child: Child) -> None:
    """Hand on keys and sizes; what is not in the page's own form is passed over."""
    async for message in socket:
        if message.type != WSMsgType.TEXT:
            continue
        try:
            envelope: Any = message.json()
            kind, data = envelope[0], envelope[1] if len(envelope) > 1 else None
        except (ValueError, RecursionError, TypeError, LookupError):
            continue
        match kind:
            case "stdin" if isinstance(data, str):
                await child.send_bytes(data.encode("utf-8", "replace"))
            case "resize" if isinstance(data, dict):
                await child.set_terminal_size(clamped(data.get("width")), clamped(data.get("height")))
            case "ping":
                await socket.send_json(["pong", data])
            case "blur":
                await child.blur()
            case "focus":
                await child.focus()
