"""Reading packs: errors name the file, the line and the remedy, and a hostile file costs little."""

from __future__ import annotations

from pathlib import Path

import pytest

from question_bank import Bank, BankError, load_bank
from question_bank.load import MAX_BYTES
from tests.question_bank.bank_kit import Data, checkpoint, exercise, lesson, to_yaml, write_pack


def refused(folder: Path, text: str) -> str:
    write_pack(folder, text)
    with pytest.raises(BankError) as caught:
        load_bank([folder])
    message = str(caught.value)
    assert "\n" not in message
    assert "one.yaml" in message
    return message


def dumped(*items: Data, **changes: object) -> str:
    return to_yaml(lesson(*items, **changes))


def line_of(text: str, start: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if line.strip().startswith(start))


def test_a_users_pack_joins_the_built_in_ones(tmp_path: Path) -> None:
    write_pack(tmp_path / "mine", lesson(exercise(), checkpoint()))
    for folder in (tmp_path, tmp_path / "mine"):
        bank = load_bank([folder])
        assert [each.id for each in bank.lessons][-1] == "tiny/lesson"
        assert "serving/prefill-decode" in {each.id for each in bank.lessons}
        assert bank.item("tiny/lesson/sum").title == "A sum"
        assert bank.lesson_of("tiny/lesson/choice").id == "tiny/lesson"
        assert bank.items[-1].id == "tiny/lesson/choice"


def test_an_unknown_id_suggests_the_nearest() -> None:
    bank: Bank = load_bank()
    with pytest.raises(BankError, match="did you mean 'serving/prefill-decode/completion-time'"):
        bank.item("serving/prefill-decode/completion-tme")
    with pytest.raises(BankError, match="did you mean 'serving/prefill-decode'"):
        bank.lesson("serving/prefil-decode")
    with pytest.raises(BankError, match="tutor bank list"):
        bank.item("zzz")


def test_an_unknown_field_is_named_with_its_line_and_the_nearest_name(tmp_path: Path) -> None:
    text = dumped().replace("objective:", "objectiv:")
    message = refused(tmp_path, text)
    assert f"one.yaml:{line_of(text, 'objectiv:')}: objectiv: unknown field; did you mean 'objective'" in message


def test_a_field_deep_in_an_item_is_located(tmp_path: Path) -> None:
    text = dumped().replace("nearly_example: It takes long.", "nearly: It takes long.", 1)
    message = refused(tmp_path, text)
    assert "items.0.criteria.result.nearly" in message
    assert f"one.yaml:{line_of(text, 'nearly:')}" in message


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    text = "\n".join(line for line in dumped().splitlines() if not line.startswith("wrap_up"))
    assert "wrap_up: is missing" in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("just words", "must hold fields"),
        ("a: [1, 2", "not valid YAML"),
        ("a: 1\na: 2\n", "one.yaml:2: 'a' stands twice"),
        ("a: &x [1]\nb: *x\n", "one.yaml:2: aliases"),
        ("a: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
        ("[" * 100 + "]" * 100, "nested more than"),
        ("? [1, 2]\n: 3\n", "a key must be a word"),
        ("a: \x07\n", "not valid YAML"),
    ],
)
def test_broken_and_hostile_yaml(tmp_path: Path, text: str, says: str) -> None:
    assert says in refused(tmp_path, text)


def test_a_large_file_and_a_wrong_encoding_are_refused(tmp_path: Path) -> None:
    assert "the limit is" in refused(tmp_path / "a", "#" * (MAX_BYTES + 1))
    path = write_pack(tmp_path / "b", "")
    path.write_bytes(b"title: \xff\xfe\n")
    with pytest.raises(BankError, match="not UTF-8 at byte 7"):
        load_bank([tmp_path / "b"])


def test_a_missing_lesson_file_and_folder(tmp_path: Path) -> None:
    write_pack(tmp_path / "a", lesson(), lessons=["one", "two"])
    with pytest.raises(BankError, match=r"two\.yaml: cannot be read"):
        load_bank([tmp_path / "a"])
    with pytest.raises(BankError, match="no such folder"):
        load_bank([tmp_path / "nowhere"])
    (tmp_path / "bare").mkdir()
    with pytest.raises(BankError, match=r"holds no pack\.yaml"):
        load_bank([tmp_path / "bare"])


def test_ids_are_unique_and_belong_to_their_pack(tmp_path: Path) -> None:
    assert "already used" in refused(tmp_path / "a", dumped(exercise(), exercise()))
    assert "must begin with the lesson's id" in refused(tmp_path / "b", dumped(exercise(id="other/x/sum")))
    write_pack(tmp_path / "c", lesson(), id="other")
    with pytest.raises(BankError, match="must begin with the pack's id"):
        load_bank([tmp_path / "c"])
    write_pack(tmp_path / "d", lesson(), id="serving")
    with pytest.raises(BankError, match="pack id 'serving' is already used"):
        load_bank([tmp_path / "d"])


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (exercise(kind="essay"), "essay"),
        ({k: v for k, v in exercise().items() if k != "kind"}, "kind is missing"),
        (exercise(hints=["one"]), "hints"),
        (exercise(criteria={}), "criteria lacks result, reasoning, failure, verification"),
        (exercise(slips=[{"id": "x", "values": {"nope": "1"}, "diagnosis": "d"}]), "not an expected result"),
        (exercise(derived={"total": {"label": "t", "formula": "1"}}), "each name stands once"),
        (checkpoint(answer="four"), "none of the options one, two, three"),
        (
            exercise(parameters={"wait_ms": {"label": "w", "default": 1, "range": [1, 2]}}),
            "a range needs a step",
        ),
        (
            exercise(parameters={"wait_ms": {"label": "w", "default": 1, "range": [2, 1], "step": 1}}),
            "is empty",
        ),
        (exercise(minutes=True), "valid number"),
        (exercise(minutes="5"), "valid number"),
        (exercise(minutes=float("inf")), "finite number"),
        (exercise(parameters={"wait_ms": {"label": "w", "default": 1}}), "either choices or a range"),
        (
            exercise(parameters={"w": {"label": "w", "default": 1, "choices": [1], "step": 1}}),
            "a step belongs to a range",
        ),
    ],
)
def test_what_an_item_must_not_be(tmp_path: Path, item: dict[str, object], says: str) -> None:
    assert says in refused(tmp_path, dumped(item))


def test_importing_the_package_imports_neither_yaml_nor_pydantic() -> None:
    import subprocess
    import sys

    code = "import sys, question_bank; sys.exit(bool({'yaml', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
