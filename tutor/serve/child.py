"""One person's program behind the browser: `python -m tutor.serve.child`, started by `tutor.serve.children` only.

Its output is the protocol of textual-serve, so nothing else may print. Keys come from the environment, since arguments
can be read by every user of the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tutor.errors import TutorError
from tutor.settings import load_settings


def main() -> int:
    """`child DATA_DIR [CONFIG]`; the settings' other values come as variables."""
    from tutor.tui.app import run

    flags: dict[str, object] = {"data_dir": Path(sys.argv[1])}
    if len(sys.argv) > 2:
        flags["config"] = Path(sys.argv[2])
    try:
        return run(load_settings(flags))
    except TutorError as error:
        print(f"tutor: {error}", file=sys.stderr)  # noqa: T201 - the server shows it to whoever runs it
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
