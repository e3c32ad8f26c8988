"""Every form of a report: nothing that was typed becomes markup, nothing is fetched, and all of it is there."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.reports.conftest import Held
from tutor.reports import ReportError, as_html, as_markdown
from tutor.reports.markdown import plain, quoted
from tutor.reports.page import esc, prose
from tutor.reports.save import file_name, format_of, free_path, rendered, write

HOSTILE = (
    "<script>alert(1)</script> </pre></style><img src=x onerror=alert(1)> [/] [b]bold[/b] \x1b[31mred\x1b[0m "
    "nul\x00 \u202eright to left\u202c ``` ~~~ | # *x* _y_ [a](javascript:alert(1)) ![p](http://x.test/p.png) & \" ' "
    "\u05e9\u05dc\u05d5\u05dd \u2028next"
)
VOID = {"meta", "br", "hr", "rect", "path", "circle"}


class Page(HTMLParser):
    """Tags with their attributes, and whether every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def safe(text: str) -> Page:
    """Parse a page, and hold it to what a report may contain."""
    page = Page(text)
    names = {name for name, _ in page.tags}
    assert names.isdisjoint({"script", "img", "link", "iframe", "object", "embed", "base", "form", "a:href"})
    for _, attributes in page.tags:
        assert not any(name.startswith("on") or name in ("src", "srcset", "background") for name in attributes)
        href = attributes.get("href") or ""
        assert not href or href.startswith(("#", "https://", "http://"))
    assert "@import" not in text
    assert "url(" not in text
    assert re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u2028]", text) is None
    return page


def test_what_was_typed_is_text_in_every_form(held: Held) -> None:
    session = held.begin()
    held.answered(session, "mxxn", text=HOSTILE)
    session.contest("reasoning", HOSTILE[:300])
    session.ask_follow_up()
    session.answer_follow_up(HOSTILE)
    report = held.report(session)
    page = safe(as_html(report))
    assert any("<script>alert(1)</script>" in words for words in page.words)
    assert any("[/] [b]bold[/b] red" in words for words in page.words)
    text = as_markdown(report)
    assert "\x1b" not in text
    assert "\x00" not in text
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert not any(token.type == "html_block" for token in tokens)
    inline = [child for token in tokens for child in token.children or ()]
    assert not any(child.type in ("html_inline", "image", "link_open") for child in inline)
    assert "\\u001b" not in rendered(report, "json")
    assert "\\u0000" not in rendered(report, "json")


def test_a_page_is_one_file_with_a_policy_that_forbids_fetching(held: Held) -> None:
    page = safe(as_html(held.report(held.whole("mxun"))))
    policies = [one for name, one in page.tags if name == "meta" and one.get("http-equiv") == "Content-Security-Policy"]
    assert [one["content"] for one in policies] == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert ("html", {"lang": "en"}) in page.tags
    assert sum(name == "h1" for name, _ in page.tags) == 1


def test_pictures_say_in_words_what_they_show(held: Held) -> None:
    text = as_html(held.report(held.whole("mxun", seconds=130)))
    labels = [one["aria-label"] or "" for name, one in Page(text).tags if name == "svg"]
    assert len(labels) == 2
    assert "result met, reasoning not met, failure unsure, verification not graded" in labels[0]
    assert "2 min 10 s of 5 min planned" in labels[1]


def test_quotes_are_marked_where_they_stand(held: Held) -> None:
    session = held.begin()
    quotes = {"result": "First token at 300 ms. 31 tokens", "reasoning": "31 tokens leave 30 gaps"}
    held.answered(session, "mmxx", quotes=quotes)
    text = as_html(held.report(session))
    assert "<mark>First token at 300 ms. </mark><mark>31 tokens</mark><sup>result</sup>" in text
    assert "<mark> leave 30 gaps</mark><sup>reasoning</sup>" in text


def test_markdown_and_html_hold_the_same_verdicts_and_reasons(held: Held) -> None:
    session = held.begin()
    held.answered(session, "mxun")
    session.self_mark("verification", "not_met")
    report = held.report(session)
    for form in (as_html(report), as_markdown(report)):
        for one in report.items[0].criteria:
            assert one.reason in form
        assert "Marked not met by you; the grader had left it not graded." in form
        assert "1 of 4 criteria met" in form


@given(st.text(max_size=60))
def test_plain_text_in_markdown_means_itself(text: str) -> None:
    found = Page(MarkdownIt("commonmark").render("x" + plain(text)))
    assert [name for name, _ in found.tags] == ["p"]
    assert "".join(found.words).strip() == "x" + " ".join(text.split()).replace("\x00", "\ufffd")


@given(st.text(alphabet="`~ab\n", max_size=40))
def test_quoted_text_cannot_leave_its_block(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse("\n".join(quoted(text)))
    assert [token.type for token in tokens] == ["fence"]


@given(st.text(max_size=80))
def test_escaped_text_holds_no_markup(text: str) -> None:
    assert not set("<>\"'") & set(esc(text))


def test_prose_of_a_pack_shows_its_html_and_fetches_no_picture() -> None:
    made = prose("# Big\n\n<b onclick=x>bold</b> ![p](http://x.test/p.png) [go](javascript:x) [ok](https://x.test/)")
    page = safe(made)
    assert [name for name, _ in page.tags] == ["h3", "p", "a", "a"] or [name for name, _ in page.tags] == [
        "h3",
        "p",
        "a",
    ]
    assert any("<b onclick=x>" in words for words in page.words)


def test_a_report_is_written_whole_and_only_for_its_owner(tmp_path: Path, held: Held) -> None:
    folder = tmp_path / "new"
    path = folder / "r.html"
    write("one", path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert free_path(path) == folder / "r-2.html"
    write("two", path)
    assert path.read_text(encoding="utf-8") == "two"
    assert [each.name for each in folder.iterdir()] == ["r.html"]
    (folder / "sub.html").mkdir()
    with pytest.raises(ReportError, match=r"sub\.html cannot be written"):
        write("three", folder / "sub.html")
    assert sorted(each.name for each in folder.iterdir()) == ["r.html", "sub.html"]
    assert file_name("25-minute: “screen”/../x", held.clock.now.date(), "md") == "25-minute-screen-x-2026-03-02.md"
    assert [format_of(Path(name)) for name in ("a.HTML", "a.htm", "a.md", "a.json")] == ["html", "html", "md", "json"]
    with pytest.raises(ReportError, match="Change the ending"):
        format_of(Path("a.pdf"))
