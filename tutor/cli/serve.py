"""`tutor serve`: the screens in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from tutor.cli.common import run_async, settings_for
from tutor.errors import TutorError

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8010, show_default=True)
@click.option("--origin", metavar="URL", help="The address in people's browsers, such as https://tutor.example.org.")
@click.option("--users", type=_FILE, help="Who may come in: names and hashes of their tokens.")
@click.option("--add", metavar="NAME", help="With --users: add a person, print the token once, and end.")
@click.option("--most", type=click.IntRange(1, 1000), default=20, show_default=True, help="Programs at the same time.")
@click.pass_obj
def serve_command(
    flags: dict[str, object], host: str, port: int, origin: str | None, users: Path | None, add: str | None, most: int
) -> int:
    """Open the program in a browser, on this machine or for a class.

    Without --users it is for the person at this machine. Beyond this machine it needs --users and --origin; each
    person then has a token and answers of their own.
    """
    if add is not None:
        from tutor.serve.users import add_user

        if users is None:
            raise TutorError("--add needs the file to add to.", hint="Give --users FILE too.")
        click.echo(add_user(users, add))
        click.echo(f"This is the token of {add}; it is shown once and kept nowhere.", err=True)
        return 0
    from tutor.serve.run import is_loopback, origins_for, serve

    if not is_loopback(host) and users is None:
        raise TutorError(
            f"{host} can be reached from other machines, so each person needs a token.",
            hint="Add people: tutor serve --users FILE --add NAME, then start with --users FILE --origin URL.",
        )
    origins = origins_for(host, port, origin, users is not None)
    config = cast("Path | None", flags.get("config"))
    run_async(
        serve(settings_for(flags), host, port, origins, users, config, most, lambda text: click.echo(text, err=True))
    )
    return 0
