"""The last row: the keys that do something here and now, as many as fit, most useful first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.widget import Widget

from tutor.tui.bindings import Key, key_for

if TYPE_CHECKING:
    from textual.screen import Screen

# What goes first when the row is too narrow; help lists every key at any width.
DROP_ORDER: Final = (
    "palette", "lab-restore", "lab-add", "claim-drop", "settings", "suspend", "kinds", "note", "drill-lesson", "undo",
    "beside", "model", "progress", "bury", "skip", "contest", "drill-undo", "in-full", "drill-skip", "previous-page",
    "plot-previous", "keep-day", "lab-view", "back", "help",
)  # fmt: skip
GAP: Final = "  "


class KeyLine(Widget):
    """Made from the screen's live bindings; a click does what the key does."""

    DEFAULT_CSS = """
    KeyLine { dock: bottom; height: 1; padding: 0 1; background: $panel; }
    """

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen:
            self.refresh()

    def shown(self) -> list[tuple[Key, str]]:
        """Keys with their labels, in the order of the row."""
        found: dict[str, tuple[Key, str]] = {}
        for active in self.screen.active_bindings.values():
            key = key_for(active.binding)
            if key is None or not active.enabled or not active.binding.show or active.binding.id != key.id:
                continue
            if key.id in getattr(self.screen, "idle_keys", ()):
                continue  # it would only say why there is nothing to do
            found[key.id] = (key, self.label(key))
        last = [found.pop(key_id) for key_id in ("back", "help", "palette") if key_id in found]
        keys = [*found.values(), *last]
        for key_id in DROP_ORDER:
            if self._length(keys) <= self.size.width:
                break
            keys = [one for one in keys if one[0].id != key_id]
        return keys

    def label(self, key: Key) -> str:
        """The key's word; a screen may add a count by `key_label`."""
        own = getattr(self.screen, "key_label", None)
        return str(own(key.id) or key.label) if own is not None else key.label

    @staticmethod
    def _length(keys: list[tuple[Key, str]]) -> int:
        return sum(cell_len(key.shown) + 1 + cell_len(label) for key, label in keys) + len(GAP) * (len(keys) - 1)

    def render(self) -> Content:
        return Content(GAP).join(
            Content.assemble((key.shown, "bold $accent"), f" {label}") for key, label in self.shown()
        )

    def on_click(self, event: events.Click) -> None:
        """Press the key whose words are under the pointer."""
        at = event.get_content_offset(self)
        column = 0
        for key, label in self.shown():
            width = cell_len(key.shown) + 1 + cell_len(label)
            if at is not None and column <= at.x < column + width:
                self.app.simulate_key(key.keys.split(",")[0])
                return
            column += width + len(GAP)
