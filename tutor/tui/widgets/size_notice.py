"""One line that says what size the screens are made for; shown only when the terminal is smaller."""

from __future__ import annotations

from tutor.tui.safe import Line

WIDTH, HEIGHT = 60, 20


class SizeNotice(Line):
    """Hidden by the style sheet unless the screen is narrow or short."""

    DEFAULT_CSS = """
    SizeNotice { display: none; height: 1; padding: 0 1; color: $warning; text-wrap: nowrap; }
    """

    def measure(self, width: int, height: int) -> None:
        """Say the terminal's size against the size needed."""
        self.show(f"{width}x{height}, made for {WIDTH}x{HEIGHT}; it all scrolls")
