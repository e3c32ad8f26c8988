"""The page that HTML reports share: one file, light or dark as the reader's system is, made to be printed too.

Nothing is fetched: there is no address in the page to fetch from, and its content policy forbids it as well.
"""

from __future__ import annotations

import html
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tutor.text import sanitize

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LIGHT: Final = (
    "--page:#fbfaf8;--ink:#1d2126;--soft:#5b636d;--line:#dcdad5;--card:#fff;--shade:#f1efeb;"
    "--accent:#1f5fa8;--met:#0b6e4f;--met-bg:#ddf0e6;--not_met:#a8321a;--not_met-bg:#fae3dc;"
    "--unsure:#7a5600;--unsure-bg:#faefcf;--not_graded:#5b636d;--not_graded-bg:#eceae6"
)
_DARK: Final = (
    "--page:#15181c;--ink:#e3e5e8;--soft:#a0a8b1;--line:#353b43;--card:#1c2025;--shade:#252a31;"
    "--accent:#86b9f2;--met:#6fd3a8;--met-bg:#16372b;--not_met:#f4a08c;--not_met-bg:#45201a;"
    "--unsure:#ecc768;--unsure-bg:#3c2f10;--not_graded:#a0a8b1;--not_graded-bg:#2a2f36"
)
_STYLE: Final = (
    f":root{{color-scheme:light dark;{_LIGHT}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0;background:var(--page);color:var(--ink);"
    "font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "main{max-width:56rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}"
    "h1{font-size:1.85rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.01em}"
    "h2{font-size:1.25rem;line-height:1.3;margin:0 0 .25rem}h3{font-size:1rem;margin:1.4rem 0 .4rem}"
    "p{margin:.5rem 0}a{color:var(--accent)}ul,ol{margin:.4rem 0;padding-left:1.4rem}"
    ".soft{color:var(--soft)}.small{font-size:.875rem}.lead{font-size:1.15rem;margin:1rem 0 .25rem}"
    "section,article{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:1.25rem 1.4rem;margin:1.25rem 0}"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1.5rem}"
    "figure{margin:0}figure.alone{max-width:34rem;margin:1rem 0}figcaption{font-weight:600;margin-bottom:.5rem}"
    "svg{display:block;width:100%;height:auto}"
    "svg text{fill:var(--ink);font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "svg .soft{fill:var(--soft)}svg .line{stroke:var(--line)}svg .ink{stroke:var(--ink)}svg .bar{fill:var(--accent)}"
    "svg .accent{stroke:var(--accent);fill:none}svg .dot{fill:var(--accent)}"
    + "".join(
        f"svg .{name}{{fill:var(--{name}-bg)}}svg text.{name}{{fill:var(--{name});font-weight:700}}"
        f".chip.{name}{{color:var(--{name});background:var(--{name}-bg)}}"
        for name in ("met", "not_met", "unsure", "not_graded")
    )
    + ".chip{display:inline-block;border-radius:6px;padding:.05rem .5rem;font-weight:600;font-size:.875rem;"
    "white-space:nowrap}"
    "table{border-collapse:collapse;width:100%;font-size:.9375rem;margin:.5rem 0}"
    "th,td{padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}"
    "th{font-weight:600;color:var(--soft);font-size:.875rem}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    "tr:last-child td{border-bottom:0}.wide{overflow-x:auto}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:0}"
    "code,pre code{font:.9em ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace;overflow-wrap:anywhere}"
    ".answer{background:var(--shade);border-radius:8px;padding:.8rem 1rem;margin:.4rem 0}"
    "mark{background:none;color:inherit;border-bottom:2px solid var(--accent);padding-bottom:1px}"
    "sup{color:var(--accent);font-size:.7rem;font-weight:600;line-height:0;padding-left:.15rem}"
    "dl.criteria{margin:.6rem 0 0}dl.criteria>div{border-top:1px solid var(--line);padding:.6rem 0;break-inside:avoid}"
    "dl.criteria dt{font-weight:600}dl.criteria dd{margin:.2rem 0 0}"
    "blockquote{margin:.25rem 0;padding-left:.8rem;border-left:3px solid var(--accent);color:var(--ink)}"
    "details{margin:.8rem 0 0}summary{cursor:pointer;color:var(--accent);font-weight:600}"
    ".note{border-left:3px solid var(--unsure);padding:.1rem 0 .1rem .8rem;margin:.8rem 0}"
    "footer{color:var(--soft);font-size:.875rem;margin-top:2rem}"
    "@media (max-width:34rem){main{padding:1.25rem .8rem 3rem}section,article{padding:1rem;border-radius:8px}"
    "h1{font-size:1.5rem}}"
    f"@media print{{:root{{color-scheme:light;{_LIGHT};--page:#fff}}@page{{margin:16mm 15mm}}"
    "body{font-size:10.5pt;line-height:1.45}main{max-width:none;padding:0}a{color:inherit}"
    "section,article{border:0;border-top:1px solid var(--line);border-radius:0;padding:.8rem 0;margin:.6rem 0}"
    "h1,h2,h3,summary{break-after:avoid}figure,table,.answer,.note,tr{break-inside:avoid}"
    ".chip,.answer,svg *{-webkit-print-color-adjust:exact;print-color-adjust:exact}"
    "details::details-content{content-visibility:visible;display:block;height:auto}summary{color:inherit;list-style:none}"
    "p,li{orphans:3;widows:3}}"
)


def esc(text: object) -> str:
    """Text for HTML, in content or in quotes: nothing in it is markup, and nothing reorders what is shown."""
    return html.escape(sanitize(str(text)), quote=True)


def page(title: str, body: str) -> str:
    """A whole page around a body that is HTML already."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{esc(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Without HTML and without pictures: nothing of a pack's text becomes markup of ours or is fetched.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def prose(markdown: str) -> str:
    """Markdown of the question bank as HTML; HTML in it is shown as text, headings are kept small."""
    made = str(_markdown().render(sanitize(markdown)))
    for level in "12":
        made = made.replace(f"<h{level}>", "<h3>").replace(f"</h{level}>", "</h3>")
    return made


def told(text: str, css: str = "") -> str:
    """A paragraph, or nothing for no text."""
    of = f' class="{css}"' if css else ""
    return f"<p{of}>{esc(text)}</p>" if text else ""
