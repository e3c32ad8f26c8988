"""The smallest Textual program with a header and a footer: what start-up is compared with."""

from textual.app import App, ComposeResult
from textual.widgets import Footer, Header, Static


class BareApp(App[None]):
    """One line of text between a header and a footer."""

    def compose(self) -> ComposeResult:
        yield Header()
        yield Static("bare-first-frame")
        yield Footer()


if __name__ == "__main__":
    BareApp().run()
