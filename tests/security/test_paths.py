"""Nothing that was supplied by others chooses a place outside the folder it belongs to."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank import load_bank
from question_bank.errors import BankError
from sim.errors import ScenarioError
from sim.loading import load_scenario, read_scenario
from tests.question_bank.bank_kit import exercise, lesson, to_yaml, write_pack
from tutor.reports.save import file_name

RECORDED = """
name: recorded
classes:
  - {{name: chat, prompt_tokens: 1, output_tokens: 1, arrivals: {{kind: trace, file: "{file}"}}}}
server: {{policy: vllm, max_seqs: 4, token_budget: 512, kv_blocks: 600}}
step_cost: {{kind: preset, name: h100-llama-3.1-8b}}
"""


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "one/../../secret", "..", "a/../../secret"])
def test_a_lesson_outside_its_pack_is_refused(tmp_path: Path, name: str) -> None:
    write_pack(tmp_path / "pack", lesson(exercise()), lessons=[name])
    (tmp_path / "secret.yaml").write_text(to_yaml(lesson(exercise())), encoding="utf-8")
    with pytest.raises(BankError):
        load_bank([tmp_path / "pack"], built_in=False)


@pytest.mark.parametrize("link", ["one.yaml", "items/more.yaml", "topics.yaml", "sources.yaml"])
def test_a_link_out_of_its_pack_is_refused(tmp_path: Path, link: str) -> None:
    path = write_pack(tmp_path / "pack", lesson(exercise()))
    outside = tmp_path / "outside.yaml"
    outside.write_bytes(path.read_bytes())
    (tmp_path / "pack" / "items").mkdir()
    (tmp_path / "pack" / link).unlink(missing_ok=True)
    (tmp_path / "pack" / link).symlink_to(outside)
    with pytest.raises(BankError, match="leads out of its pack"):
        load_bank([tmp_path / "pack"], built_in=False)


@pytest.mark.parametrize(
    "bad", ["../../etc", "tiny/../x", "tiny/a\x1b[31m", "/etc/passwd", "tiny/lesson/a b", "tiny//a"]
)
def test_ids_that_could_be_paths_are_refused(tmp_path: Path, bad: str) -> None:
    write_pack(tmp_path / "pack", lesson(exercise(id=bad)))
    with pytest.raises(BankError):
        load_bank([tmp_path / "pack"], built_in=False)


def test_a_scenario_that_comes_from_no_file_names_none(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="only be named in a scenario that is itself read from a file"):
        read_scenario(RECORDED.format(file="/etc/passwd"), "given")


def test_what_a_scenario_names_is_not_repeated_when_it_is_no_trace(tmp_path: Path) -> None:
    """A scenario may name any file its reader may read; the words of a refusal do not hold the file."""
    (tmp_path / "secret").write_text("first line\nroot-password-123456789012345678901234567890\n" * 3)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(RECORDED.format(file="secret"))
    with pytest.raises(ScenarioError) as said:
        load_scenario(scenario)
    assert "root-password" not in str(said.value)


@given(st.text(max_size=200))
def test_a_report_is_named_by_letters_digits_and_hyphens(title: str) -> None:
    name = file_name(title, date(2026, 3, 2), "html")
    assert Path(name).name == name
    assert name.isascii()
    assert name.endswith("-2026-03-02.html")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert not name.startswith((".", "-"))
