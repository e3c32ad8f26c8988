"""Where it may listen, the one model for all, and the server's life from start to the last child's end."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from tutor.errors import TutorError
from tutor.llm.choose import ModelChoice, choose_model
from tutor.settings import Settings

Say = Callable[[str], None]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def origins_for(host: str, port: int, origin: str | None, with_users: bool) -> tuple[str, ...]:
    """Where the page may come from.

    Raises:
        TutorError: it would be reachable from elsewhere without a token or a stated origin, or the origin is none.
    """
    local = is_loopback(host)
    if origin is None:
        if not local:
            raise TutorError(
                f"{host} can be reached from other machines, so the address in the browser must be stated.",
                hint="Add --origin https://tutor.example.org and --users FILE.",
            )
        names = dict.fromkeys((host, "localhost", "127.0.0.1"))
        return tuple(f"http://{f'[{name}]' if ':' in name else name}:{port}" for name in names)
    try:
        parts = urlsplit(origin)
        port_given = parts.port  # raises for one that is no number, or above 65535
    except ValueError:
        raise TutorError(f"{origin!r} is no origin.", hint="Write it as https://tutor.example.org.") from None
    plain = parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/") and not parts.query
    if not plain or parts.username is not None or parts.fragment:
        raise TutorError(f"{origin!r} is no origin.", hint="Write it as https://tutor.example.org, without a path.")
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise TutorError(
            f"{origin} would send tokens and answers over the network in the clear.",
            hint="Put a proxy with TLS in front and give its https:// address.",
        )
    if not with_users:
        raise TutorError(
            "With --origin everybody who knows the address reaches it, so each person needs a token.",
            hint="Add people: tutor serve --users FILE --add NAME, then start with --users FILE.",
        )
    # As browsers write it: small letters, and no port where it is the usual one.
    name = (parts.hostname or "").lower()
    usual = port_given in (None, {"https": 443, "http": 80}[parts.scheme])
    return (f"{parts.scheme}://{f'[{name}]' if ':' in name else name}{'' if usual else f':{port_given}'}",)


def variables_for(settings: Settings, choice: ModelChoice) -> dict[str, str]:
    """The settings of all programs: one model for everybody, and no search of their own."""
    found = {
        "TUTOR_MODEL__DISCOVER": "false",
        "TUTOR_MODEL__USE_EMBEDDED": "false",
        "TUTOR_MODEL__MODEL_DIR": str(settings.model_dir),
    }
    if choice.model is None:
        return found
    endpoint = choice.model.endpoint
    found |= {"TUTOR_MODEL__BASE_URL": endpoint.base_url, "TUTOR_MODEL__NAME": endpoint.model}
    if endpoint.api_key is not None:
        found["TUTOR_MODEL__API_KEY"] = endpoint.api_key.get_secret_value()
    return found


async def serve(
    settings: Settings,
    host: str,
    port: int,
    origins: tuple[str, ...],
    users_file: Path | None,
    config: Path | None,
    most: int,
    say: Say,
) -> None:
    """Serve until SIGINT or SIGTERM; every program and the model are ended then.

    Raises:
        TutorError: the extra is missing, the file of people cannot be used, or the port is taken.
    """
    try:
        from aiohttp import web

        from tutor.serve.site import Site
    except ImportError:
        raise TutorError(
            "The browser needs the extra `serve`.", hint="Install it: pip install 'tutor[serve]'."
        ) from None
    from tutor.serve.users import read_users

    users = read_users(users_file) if users_file is not None else ()
    choice = await choose_model(settings.model, model_dir=settings.model_dir, on_status=say)
    say(choice.reason)
    site = Site(settings.data_dir, origins, users, config, variables_for(settings, choice), most)
    runner = web.AppRunner(site.app(), access_log=None, handle_signals=False, shutdown_timeout=10)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    try:
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise TutorError(
                f"{host}:{port} cannot be listened on ({error.strerror or error}).", hint="Choose another --port."
            ) from None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with suppress(NotImplementedError, ValueError):
                loop.add_signal_handler(number, ended.set)
        who = f"{len(users)} people with tokens" if users else "whoever uses this machine"
        say(f"Open {origins[0]} in a browser; for {who}. Ctrl+C ends it.")
        await ended.wait()
    finally:
        await runner.cleanup()
        if choice.model is not None:
            await choice.model.close()
