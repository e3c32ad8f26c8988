"""The two pages: the terminal, and the place to come in. Nothing is loaded from anywhere else."""

from __future__ import annotations

from html import escape
from typing import Final

POLICY: Final = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self' {socket}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# A referrer to ourselves stays: without one, browsers send "Origin: null" with the form.
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOOK: Final = """
  body { background: #101418; color: #e6e6e6; margin: 0; font: 16px/1.5 ui-monospace, Menlo, Consolas, monospace; }
  main { max-width: 30rem; margin: 15vh auto; padding: 0 1rem; }
  h1 { font-size: 1.1rem; } input, button { font: inherit; padding: .5rem .7rem; width: 100%; box-sizing: border-box; }
  input { background: #1a2027; color: inherit; border: 1px solid #5b6b7a; } button { margin-top: .8rem; }
  .problem { color: #ff9b8a; } .over { position: fixed; inset: 0; display: grid; place-items: center; }
  .closed { display: none; background: #101418; } body.-closed .closed { display: grid; }
  body.-first-byte .waiting { display: none; } .textual-terminal { width: 100vw; height: 100vh; }
"""


def _page(title: str, head: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_LOOK}</style>{head}</head>{body}</html>\n"
    )


def terminal_page(socket_url: str, font_size: int) -> str:
    """The program; the script of textual-serve finds the place by its class."""
    head = '<link rel="stylesheet" href="/static/css/xterm.css"><script src="/static/js/textual.js"></script>'
    body = (
        '<body><div class="over waiting"><p>Tutor is starting…</p></div>'
        '<div class="over closed"><p>The session has ended; what you wrote is kept. <a href="/">Open it again</a></p>'
        "</div>"
        f'<div id="terminal" class="textual-terminal" data-session-websocket-url="{escape(socket_url)}"'
        f' data-font-size="{font_size}"></div></body>'
    )
    return _page("Tutor", head, body)


def enter_page(problem: str = "") -> str:
    """Where a token is given."""
    said = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    body = (
        f'<body><main><h1>Tutor</h1>{said}<form method="post" action="/enter"><label for="token">Your token</label>'
        '<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>'
        "<button>Come in</button></form></main></body>"
    )
    return _page("Tutor", "", body)
