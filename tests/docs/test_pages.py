"""What the pages say can be done can be done: every command, option, link, picture and figure is looked up."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from sim.__main__ import COMMANDS as SIM_COMMANDS
from sim.__main__ import _parser as sim_parser
from tutor.cli import cli

TOP = Path(__file__).parents[2]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")])
FENCED = re.compile(r"^(```+)(\w*)[^\n]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
SHELL = {"sh", "console", "bash", "", "text"}
BEGINS = re.compile(
    r"(?:\$ )?(?:\.venv/bin/)?((?:tutor|make|python -m (?:sim|tutor|mkdocs|benchmarks[.\w]*))(?: .*|$))"
)


def name(page: Path) -> str:
    return str(page.relative_to(TOP))


def lines_of_code(text: str) -> Iterator[str]:
    """Lines of shell blocks, fenced or indented, with those that go on joined, and commands named in a sentence."""
    blocks = [body for _, language, body in FENCED.findall(text) if language in SHELL]
    rest = FENCED.sub("", text)
    blocks += ["\n".join(line[4:] for line in rest.splitlines() if line.startswith("    "))]
    for block in blocks:
        yield from re.sub(r" *\\\n\s*", " ", block).splitlines()
    yield from re.findall(r"(?<!`)`([^`\n]+)`(?!`)", rest)


def commands(page: Path) -> Iterator[str]:
    for line in lines_of_code(page.read_text(encoding="utf-8")):
        for part in re.split(r" / (?=tutor )| +\| +| ; | && ", line.split("  #")[0].split(" # ")[0]):
            if (found := BEGINS.match(part.strip())) and "…" not in part.split("  ")[0]:
                yield re.split(r"\s{2,}(?=[a-z])|\s+> ", found[1].strip())[0]


def words_of(command: str) -> list[str]:
    return shlex.split(re.sub(r"[\[\]]", " ", command) if " [" in command else command)


def check_sim(words: list[str]) -> None:
    for sub in words[0].split("|") if words and not words[0].startswith("-") else []:
        assert sub in SIM_COMMANDS, f"there is no sim {sub}"
        parser = sim_parser([sub], "sim")
        (subparsers,) = (each for each in parser._actions if hasattr(each, "choices") and each.choices)
        known = subparsers.choices[sub]._option_string_actions  # type: ignore[index]
        for word in words[1:]:
            if word.startswith("--"):
                assert word.split("=")[0] in known, f"sim {sub} has no {word}"


def check_tutor(words: list[str]) -> None:
    command: click.Command = cli
    path = "tutor"
    while True:
        if path == "tutor eval" and not (words and words[0] in command.commands):  # type: ignore[attr-defined]
            words = ["run", *words]  # it takes a file in the place of a command
        context = click.Context(command, info_name=path)
        if command.name == "sim" or getattr(command, "callback", None) is None:
            return check_sim(words)
        try:
            _, left, _ = command.make_parser(context).parse_args(list(words))
        except click.UsageError as error:
            if "requires an argument" not in error.message:  # an option that is only named
                pytest.fail(f"{path}: {error.message}")
            return None
        if not isinstance(command, click.Group) or not left:
            return None
        names = [each for each in re.split(r"\|", left[0]) if each]
        found = [command.get_command(context, each) for each in names]
        assert all(found), f"{path} has no {left[0]}"
        if len(found) > 1:
            return None
        command, words, path = found[0], left[1:], f"{path} {names[0]}"  # type: ignore[assignment]
        if names[0] == "sim":
            return check_sim(words)


def check_benchmark(words: list[str]) -> None:
    module = words[0]
    if module == "benchmarks":
        return
    spec = find_spec(module)
    assert spec is not None, f"there is no module {module}"
    assert spec.origin is not None
    sources = [Path(spec.origin), *Path(spec.origin).parent.glob("*.py")]
    text = "".join(each.read_text(encoding="utf-8") for each in sources)
    for word in words[1:]:
        if word.startswith("--"):
            assert f'"{word.split("=")[0]}"' in text, f"{module} has no {word}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_that_is_shown_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for command in commands(page):
        words = words_of(command)
        match words:
            case ["tutor", *rest]:
                check_tutor(rest)
            case ["make", *rest]:
                for target in (each for each in rest if re.fullmatch(r"[a-z-]+", each)):
                    assert target in targets, f"make has no {target}"
            case ["python", "-m", "sim", *rest]:
                check_sim(rest)
            case ["python", "-m", "tutor", *rest]:
                check_tutor(rest)
            case ["python", "-m", "mkdocs", sub, *_]:
                assert sub in {"serve", "build"}
            case ["python", "-m", *rest]:
                check_benchmark(rest)


def test_the_search_for_commands_finds_them() -> None:
    found = [command for page in PAGES for command in commands(page)]
    assert len(found) > 150
    for expected in ("tutor doctor", "make run", "python -m benchmarks.attacks --model"):
        assert expected in found
    with pytest.raises(pytest.fail.Exception):
        check_tutor(["report", "--colour"])
    for wrong in (["repport"], ["sim", "rum"], ["sim", "run", "--perfeto", "x"], ["bank", "shw"]):
        with pytest.raises(AssertionError):
            check_tutor(wrong)
    with pytest.raises(AssertionError):
        check_benchmark(["benchmarks.attacks", "--modell"])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_that_is_linked_or_named_is_there(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:|#", target):
            assert (page.parent / target.split("#")[0]).exists(), target
    for path in re.findall(r"`((?:docs|tests|benchmarks|sim|tutor|question_bank|rubrics)/[\w./-]+)`", text):
        assert (TOP / path.rstrip("/")).exists(), path


def test_every_picture_is_shown_on_a_page_and_can_be_made_again() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    makers = "".join(each.read_text(encoding="utf-8") for each in (TOP / "benchmarks").rglob("*.py"))
    for picture in (TOP / "docs" / "pictures").iterdir():
        assert f"pictures/{picture.name}" in shown, f"{picture.name} is on no page"
        stem = re.sub(r"-\d+x\d+$", "", picture.stem)
        assert stem in makers, f"no command makes {picture.name}"


MEASURED = re.compile(r"\d\.\d|\d %|\.\d\d\b")
COMMAND = re.compile(r"`?(?:tutor|python -m|pytest|make) |benchmarks\.|`tests/|tests/[a-z_/]+\.py|begin ")
NOT_MEASURED = {"docs/simulator/library.md", "docs/versions.md", "docs/writing-a-bank.md"}
"""Checked otherwise: studies that are run, versions, and examples."""


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) not in NOT_MEASURED], ids=name)
def test_a_table_of_figures_stands_below_the_command_that_gave_them(page: Path) -> None:
    """A command is named in the same chapter or in the page's opening words."""
    text = FENCED.sub(lambda block: block[0] if block[2] in SHELL else "", page.read_text(encoding="utf-8"))
    opening, *chapters = re.split(r"^## ", text, flags=re.MULTILINE)
    for chapter in chapters:
        rows = [line for line in chapter.splitlines() if line.startswith("|") and len(MEASURED.findall(line)) > 1]
        if len(rows) > 1:
            assert COMMAND.search(chapter) or COMMAND.search(opening), chapter.splitlines()[0]


def test_how_far_to_trust_the_grader_is_the_same_on_every_page() -> None:
    """Agreement by point, as measured in docs/evaluation.md, wherever it is told again."""
    evaluation, coaches, readme = (
        (TOP / page).read_text(encoding="utf-8") for page in ("docs/evaluation.md", "docs/coaches.md", "README.md")
    )
    row = re.search(r"^\| evidence with the encoder \|(.*)$", evaluation, re.MULTILINE)
    assert row is not None
    reasoning, failure, verification = re.findall(r"(\.\d\d) \(", row[1])[:3]
    told = dict(re.findall(r"^\| (reasoning|failure case|verification) \| (\.\d\d) \|", coaches, re.MULTILINE))
    assert told == {"reasoning": reasoning, "failure case": failure, "verification": verification}
    assert re.findall(r"κ (\.\d\d) on the reasoning, (\.\d\d) on the failure case and (\.\d\d) on the", readme) == [
        (reasoning, failure, verification)
    ]


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        html = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe|source)[^>]* src=\"?(https?:[^\s\">]*)", html)
        fetched += re.findall(r"<link[^>]*(?:stylesheet|icon|preconnect|preload)[^>]*href=\"?(https?:[^\s\">]*)", html)
        assert fetched == [], f"{page.name} fetches {fetched}"
