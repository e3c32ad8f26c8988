"""One person's program behind the browser: `python -m tutor.serve.child`, started by `tutor.serve.children` only.

Its output is the protocol of textual-serve, so nothing else may print. Keys come from the environment, since arguments
can be read by every user of the machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tutor.errors import TutorError
from tutor.paths import ensure_private_dir
from tutor.settings import Settings, load_settings

ONE_OF_MANY = "--one-of-many"


def main() -> int:
    """`child [--one-of-many] DATA_DIR [CONFIG]`; the settings' other values come as variables."""
    from tutor.tui.app import run

    arguments = sys.argv[1:]
    many = arguments[0] == ONE_OF_MANY
    data_dir, *config = (Path(one).absolute() for one in arguments[int(many) :])
    sys.argv[1 + int(many)] = str(data_dir)  # the simulator's processes are told it, and start elsewhere
    flags: dict[str, object] = {"data_dir": data_dir}
    if config:
        flags["config"] = config[0]
    try:
        settings = load_settings(flags)
        return run(alone(settings, config) if many else settings)
    except TutorError as error:
        print(f"tutor: {error}", file=sys.stderr)  # noqa: T201 - the server shows it to whoever runs it
        return error.exit_code


def alone(settings: Settings, config: list[Path]) -> Settings:
    """Close this process off from other people's files; names that one types begin in one's own folder."""
    from tutor.serve.confine import confine

    own = settings.data_dir
    scratch = ensure_private_dir(own / "scratch")
    settings = settings.model_copy(update={"bank_dirs": tuple(one.absolute() for one in settings.bank_dirs)})
    tempfile.tempdir = str(scratch)
    os.environ |= {"HOME": str(own), "TMPDIR": str(scratch), "MPLCONFIGDIR": str(scratch)}
    os.chdir(own)
    confine(own, own.parent.parent, [*settings.bank_dirs, settings.model_dir.absolute(), *config])
    return settings


if __name__ == "__main__":
    sys.exit(main())
if __name__ == "__mp_main__" and sys.argv[1:2] == [ONE_OF_MANY]:
    # A process of the simulator, started by the program above: a scenario may name files to it.
    from tutor.serve.confine import confine

    confine(Path(sys.argv[2]), Path(sys.argv[2]).parent.parent)
