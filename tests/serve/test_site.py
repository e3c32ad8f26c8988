"""The web server without a browser: whom it lets in, from where, and that nothing is left running."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar, WSServerHandshakeError, web

from tutor.serve.site import SESSION_S, Site
from tutor.serve.users import User, add_user, read_users


class Running:
    """A site on a port of loopback."""

    def __init__(self, tmp_path: Path, with_users: bool) -> None:
        self.tokens: dict[str, str] = {}
        users: tuple[User, ...] = ()
        if with_users:
            self.tokens = {name: add_user(tmp_path / "people", name) for name in ("anna", "ben")}
            users = read_users(tmp_path / "people")
        variables = {"TUTOR_MODEL__DISCOVER": "false", "TUTOR_MODEL__USE_EMBEDDED": "false"}
        self.site = Site(tmp_path / "data", (), users, variables=variables, most=2)
        (tmp_path / "data").mkdir(mode=0o700)

    async def __aenter__(self) -> Running:
        self.runner = web.AppRunner(self.site.app(), access_log=None)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        port = self.runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"
        self.site.origins = (self.url,)
        self.client = ClientSession(cookie_jar=CookieJar(unsafe=True))
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.client.close()
        await self.runner.cleanup()

    async def enter(self, token: str) -> int:
        """Give a token; the status."""
        async with self.client.post(
            f"{self.url}/enter", data={"token": token}, headers={"Origin": self.url}, allow_redirects=False
        ) as reply:
            return reply.status


async def test_only_the_servers_own_name_and_page_are_answered(tmp_path: Path) -> None:
    async with Running(tmp_path, with_users=False) as running:
        async with running.client.get(running.url) as reply:
            assert reply.status == 200
            assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
            assert reply.headers["X-Frame-Options"] == "DENY"
            assert "http" not in (await reply.text()).replace("ws://127.0.0.1", "")
        async with running.client.get(running.url, headers={"Host": "evil.example"}) as reply:
            assert reply.status == 421
        for origin in (None, "http://evil.example", "null", f"{running.url}.evil.example"):
            headers = {} if origin is None else {"Origin": origin}
            with pytest.raises(WSServerHandshakeError) as refused:
                await running.client.ws_connect(f"{running.url}/ws", headers=headers)
            assert refused.value.status == 403
        assert running.site.children == {}
        async with running.client.get(f"{running.url}/static/../users.py") as reply:
            assert reply.status == 404


async def test_without_a_token_nobody_comes_in(tmp_path: Path) -> None:
    async with Running(tmp_path, with_users=True) as running:
        async with running.client.get(running.url, allow_redirects=False) as reply:
            assert (reply.status, reply.headers["Location"]) == (303, "/enter")
        with pytest.raises(WSServerHandshakeError) as refused:
            await running.client.ws_connect(f"{running.url}/ws", headers={"Origin": running.url})
        assert refused.value.status == 403
        assert await running.enter("wrong") == 403
        assert running.site.sessions == {}
        assert await running.enter(running.tokens["ben"]) == 303
        (session,) = running.site.sessions
        assert running.tokens["ben"] not in session
        async with running.client.get(running.url) as reply:
            assert "data-session-websocket-url" in await reply.text()


async def test_a_connection_is_a_program_and_its_end_is_the_programs(tmp_path: Path) -> None:
    async with Running(tmp_path, with_users=True) as running:
        await running.enter(running.tokens["anna"])
        socket = await running.client.ws_connect(
            f"{running.url}/ws?width=90&height=30", headers={"Origin": running.url}
        )
        shown = b""
        async with asyncio.timeout(40):
            while b"Interview" not in shown:
                message = await socket.receive()
                shown += message.data if isinstance(message.data, bytes) else b""
        # What no page of ours would send is passed over.
        for odd in (
            "[]",
            "{}",
            "nonsense",
            '["stdin", 5]',
            '["resize", {"width": 1e99}]',
            '["resize", "x"]',
            "[" * 5000,
        ):
            await socket.send_str(odd)
        await socket.send_str('["ping", 7]')
        async with asyncio.timeout(10):
            while (message := await socket.receive()).data != '["pong", 7]':
                assert message.data is not None
        (child,) = running.site.children
        pid = child.pid
        assert pid is not None
        assert (tmp_path / "data" / "users" / "anna").is_dir()
        await socket.close()
        async with asyncio.timeout(10):
            while running.site.children:
                await asyncio.sleep(0.05)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_session_ends_here_and_not_only_in_the_browser(tmp_path: Path) -> None:
    async with Running(tmp_path, with_users=True) as running:
        assert await running.enter(running.tokens["anna"]) == 303
        async with running.client.get(running.url, allow_redirects=False) as reply:
            assert reply.status == 200
        ((session, (name, until_s)),) = running.site.sessions.items()
        running.site.sessions[session] = name, until_s - SESSION_S
        async with running.client.get(running.url, allow_redirects=False) as reply:
            assert (reply.status, reply.headers["Location"]) == (303, "/enter")
