"""Nothing that a terminal would obey leaves the program, whoever supplied it and whichever command shows it."""

from __future__ import annotations

import io
import json
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.__main__ import main as sim_main
from tests.llm.faulty_server import FaultyServer
from tests.question_bank.bank_kit import checkpoint, exercise, lesson, write_pack
from tutor.cli import main
from tutor.cli.guard import guarded_output
from tutor.reports.markdown import prose

NASTY = "\x1b]0;owned\x07\x1b[31mred\x9b2J\x1bc\u202etxt\x08\x08"
SCENARIO = """
name: "{name}"
seed: 1
classes:
  - {{name: chat, prompt_tokens: 100, output_tokens: 3, arrivals: {{kind: poisson, rate_per_s: 5, count: 3}}}}
server: {{policy: vllm, max_seqs: 4, token_budget: 512, kv_blocks: 600}}
step_cost: {{kind: preset, name: h100-llama-3.1-8b}}
"""
Run = Callable[..., str]


def harmless(shown: str) -> None:
    controls = {char for char in shown if unicodedata.category(char) == "Cc"}
    assert controls <= set("\n\t\r")
    assert "\u202e" not in shown


@pytest.fixture
def tutor(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process; all that it printed, checked."""

    def run(*args: str, says: str = "") -> str:
        with pytest.raises(SystemExit):
            main(list(args))
        captured = capsys.readouterr()
        harmless(captured.out)
        harmless(captured.err)
        assert "Traceback" not in captured.err
        assert says in captured.out + captured.err, "the text in question was shown at all"
        return captured.out + captured.err

    return run


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A valid pack with NASTY in every text that people are shown."""
    sum_ = exercise(title=f"A sum {NASTY}")
    sum_["prompt"] += NASTY
    sum_["solution"] += NASTY
    sum_["hints"] = [f"{hint}{NASTY}" for hint in sum_["hints"]]
    write_pack(
        tmp_path / "pack",
        lesson(sum_, checkpoint(title=f"A choice {NASTY}"), title=f"Tiny {NASTY}", objective=f"Add. {NASTY}"),
        title=f"Tiny {NASTY}",
    )
    return tmp_path / "pack"


def test_texts_of_a_pack(tutor: Run, pack: Path) -> None:
    tutor("--bank", str(pack), "bank", "list", says="A sum")
    tutor("--bank", str(pack), "bank", "show", "tiny/lesson/sum", says="Waiting takes")


def test_mistakes_in_a_pack(tutor: Run, tmp_path: Path) -> None:
    write_pack(tmp_path / "pack", lesson(exercise(difficulty=NASTY)))
    tutor("--bank", str(tmp_path / "pack"), "bank", "list", says="difficulty")
    write_pack(tmp_path / "pack", lesson(exercise(**{f"titel{NASTY}": "x"})))
    tutor("--bank", str(tmp_path / "pack"), "bank", "list", says="unknown field")


def test_names_of_files(tutor: Run, tmp_path: Path) -> None:
    there = tmp_path / f"answer{NASTY.replace('/', '')}.txt"
    there.write_bytes(b"\xff\xfe")
    for command in (["sim", "run"], ["sim", "trace"], ["import"]):
        tutor(*command, str(there))
    tutor("sim", "run", str(there.with_name(f"missing-{there.name}")), says="no such file")


def test_scenarios_and_traces(tutor: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO.format(name="\\e]0;owned\\a\\x9b2J"), encoding="utf-8")
    tutor("sim", "run", str(file), says="without control characters")
    trace = tmp_path / "trace.csv"
    trace.write_text(f"time_s,{NASTY}\n1,2\n", encoding="utf-8")
    tutor("sim", "trace", str(trace), says="no known format")
    # The simulator alone has no such door; its own messages hold nothing to be kept back.
    for given in (str(file), str(trace), str(tmp_path / f"{NASTY}.yaml")):
        sim_main(["run", given])
        captured = capsys.readouterr()
        harmless(captured.out + captured.err)


@pytest.mark.slow
def test_names_of_models_and_words_of_servers(tutor: Run) -> None:
    listed = {"data": [{"id": f"model {NASTY}", "owned_by": "vllm", "max_model_len": 8192}]}
    with FaultyServer(routes={"/v1/models": listed}) as server:
        tutor("--model-url", server.base_url, "model", says="model")
        tutor("--model-url", server.base_url, "--model-name", NASTY, "model", says="has no model")
        tutor("--model-url", server.base_url, "doctor", says="model")


@pytest.mark.slow
def test_an_export_from_anybody(tutor: Run, tmp_path: Path) -> None:
    header = json.dumps({"type": "header", "format": "tutor-export", "version": 1})
    event = {"type": "event", "id": "e1", "stream": f"interview:{NASTY}", "at": "2026-01-01T00:00:00+00:00"}
    for kind, payload in ((f"kind{NASTY}", {}), ("session.started", {NASTY: NASTY}), ("review.made", {"x": NASTY})):
        file = tmp_path / "export.jsonl"
        file.write_text(f"{header}\n{json.dumps({**event, 'kind': kind, 'payload': payload})}\n")
        data = ["--data-dir", str(tmp_path / kind[:6])]
        tutor(*data, "import", str(file), says="1 events added")
        for command in (["report"], ["report", "--list"], ["drill"], ["doctor"], ["report", "--progress"]):
            tutor(*data, "--no-model", *command)


def test_the_door_passes_our_own_progress_and_stops_a_return_of_others() -> None:
    before = sys.stdout
    sys.stdout = shown = io.StringIO()
    try:
        with guarded_output():
            print("\r3 of 7", end="")  # noqa: T201
            print("name\rhidden", end="")  # noqa: T201
            sys.stdout.writelines(["\x1b[31m", "a\n"])
    finally:
        sys.stdout = before
    assert shown.getvalue() == "\r3 of 7name\nhiddena\n"


@pytest.mark.parametrize(
    "text",
    [
        "<script>x</script>",
        "\\`<img src=x onerror=y>\\`",
        "``<img src=x onerror=y>`",
        "~~~<img src=x>~~~",
        "\\<img src=x>",
        "a ![p](http://tracker.test/p.png)",
        "<!-- a",
        "[x]: http://a.test\n\n![x]",
    ],
)
def test_markdown_of_a_pack_becomes_no_tag_and_no_picture_in_a_report(text: str) -> None:
    from markdown_it import MarkdownIt

    page = MarkdownIt("commonmark").render("\n".join(prose(text)))
    assert "<img" not in page
    assert "<script" not in page
    assert "<!--" not in page


def test_markdown_without_tags_stays_as_it_is() -> None:
    assert prose("`a<b>` and 3 < 4\n\n**so**") == ["> `a<b>` and 3 < 4", ">", "> **so**"]
