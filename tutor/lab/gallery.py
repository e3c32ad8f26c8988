"""What can be opened in the lab: the built-in scenarios, and texts that were begun."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tutor.store import Store

STREAM_PREFIX: Final = "lab:"
"""Begins the streams under which texts being written are kept."""
NEW: Final = "new"
"""The one scenario that begins from the starter."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One scenario of the list."""

    key: str
    """`builtin/<name>`, `file/<path>`, or `new`: what its draft is kept under."""
    title: str
    teaches: str
    """The first line of its opening comment."""
    about: str
    """The whole opening comment."""
    text: str
    """As it came, before any change of the person's."""
    folder: Path | None = None
    """Where paths of recorded traces in it start."""

    @property
    def text_after_comment(self) -> str:
        """The scenario without its opening comment."""
        lines = self.text.splitlines()
        first = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
        return "\n".join(lines[first:])


def builtin_entries() -> list[Entry]:
    """The built-in scenarios, by name."""
    from sim.loading import builtin_names, scenarios_dir

    return [
        _entry(f"builtin/{name}", name, (scenarios_dir() / f"{name}.yaml").read_text(encoding="utf-8"), scenarios_dir())
        for name in builtin_names()
    ]


def new_entry() -> Entry:
    """A scenario of one's own, begun from a small one that runs."""
    from tutor.lab.scenario_text import STARTER

    return _entry(NEW, "new", STARTER, None)


def entry_named(name: str) -> Entry:
    """A built-in scenario by its name, else a file by its path. Raises ScenarioError."""
    found = next((entry for entry in builtin_entries() if entry.title == name), None)
    return found if found is not None and not Path(name).exists() else file_entry(Path(name))


def file_entry(path: Path) -> Entry:
    """A scenario file of one's own.

    Raises:
        ScenarioError: it cannot be read; one sentence. What it says is checked when it is shown.
    """
    from sim import ScenarioError
    from tutor.lab.scenario_text import MAX_CHARS

    path = path.expanduser()
    try:
        if path.stat().st_size > 4 * MAX_CHARS:
            raise ScenarioError(f"{path}: too large to edit here; run it with `tutor sim run`")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file; give the path of a scenario in YAML") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror or error}); check the path") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    return _entry(f"file/{path.absolute()}", path.name, text, path.absolute().parent)


def item_entry(
    item_id: str, title: str, scenario: Mapping[str, object], baseline: Mapping[str, object] | None
) -> tuple[Entry, str]:
    """An item's scenario of the question bank and the text to go on with; the baseline is what it is compared with."""
    import yaml

    def text_of(data: Mapping[str, object]) -> str:
        return yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)

    before = text_of(scenario if baseline is None else baseline)
    return _entry(f"item/{item_id}", title, f"# The scenario of a question: {title}\n{before}", None), (
        f"# The scenario of a question: {title}\n{text_of(scenario)}"
    )


def _entry(key: str, title: str, text: str, folder: Path | None) -> Entry:
    comment = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# ").rstrip())
    teaches = comment[0] if comment else ""
    return Entry(key, title, teaches, "\n".join(comment).strip(), text, folder)


def draft_of(store: Store, entry: Entry) -> str | None:
    """The text that was left unfinished, when it differs from the entry's own."""
    draft = store.draft(STREAM_PREFIX + entry.key, 0)
    return None if draft is None or draft.text == entry.text else draft.text


def keep_draft(store: Store, entry: Entry, text: str, at: datetime) -> None:
    """Put the text on the disk; one that is again as it came is forgotten. Raises StoreError."""
    stream = STREAM_PREFIX + entry.key
    if text == entry.text:
        store.clear_draft(stream, 0)
    else:
        store.save_draft(stream, 0, text, at, slot="scenario")


def begun(store: Store) -> dict[str, str]:
    """Keys of scenarios with a kept text, each with that text."""
    return {
        draft.stream.removeprefix(STREAM_PREFIX): draft.text
        for draft in store.drafts()
        if draft.stream.startswith(STREAM_PREFIX) and draft.position == 0
    }
