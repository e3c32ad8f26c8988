"""Who may come in: the file of people, tokens, folders, and where a server may listen."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.cli import main
from tutor.errors import TutorError
from tutor.serve.run import is_loopback, origins_for
from tutor.serve.users import add_user, data_dir_of, digest, read_users, user_of


def test_a_token_opens_its_own_name_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "people"
    anna, ben = add_user(file, "anna"), add_user(file, "ben")
    users = read_users(file)
    assert [user.name for user in users] == ["anna", "ben"]
    assert file.stat().st_mode & 0o077 == 0
    assert anna not in file.read_text("utf-8")
    found = user_of(users, anna), user_of(users, f" {ben}\n")
    assert [each.name for each in found if each is not None] == ["anna", "ben"]
    for wrong in ("", "anna", digest(anna), anna[:-1], anna + "x"):
        assert user_of(users, wrong) is None


@pytest.mark.parametrize("name", ["", "..", "a/b", "Anna", "-a", "a" * 33, "a\nb 0", "é", "a b", "."])
def test_a_name_that_means_something_in_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TutorError, match="cannot be a name"):
        add_user(tmp_path / "people", name)
    with pytest.raises(ValueError, match="no name"):
        data_dir_of(tmp_path, name)


@given(st.text(max_size=40))
def test_no_folder_is_outside(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    root = tmp_path_factory.getbasetemp() / "serve-root"
    root.mkdir(exist_ok=True)
    try:
        folder = data_dir_of(root, name)
    except ValueError:
        return
    assert folder.parent == root / "users"
    assert folder.stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "people"
    with pytest.raises(TutorError, match="cannot be read"):
        read_users(file)
    add_user(file, "anna")
    with pytest.raises(TutorError, match=r"in .* already"):
        add_user(file, "anna")
    file.chmod(0o644)
    with pytest.raises(TutorError, match="read by others"):
        read_users(file)
    file.chmod(0o600)
    file.write_text("# only a note\n", "utf-8")
    with pytest.raises(TutorError, match="0 people"):
        read_users(file)
    file.write_text("anna secret\n", "utf-8")
    with pytest.raises(TutorError, match="line 1"):
        read_users(file)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.8.8.8", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.7", False), ("tutor.example.org", False), ("127.0.0.1.example.org", False)],
)  # fmt: skip
def test_what_is_loopback(host: str, local: bool) -> None:
    assert is_loopback(host) == local


def test_beyond_this_machine_it_takes_an_origin_with_tls_and_tokens() -> None:
    assert "http://127.0.0.1:8010" in origins_for("127.0.0.1", 8010, None, False)
    assert origins_for("0.0.0.0", 8010, "https://tutor.example.org", True) == ("https://tutor.example.org",)
    for host, origin, users, said in (
        ("0.0.0.0", None, True, "must be stated"),
        ("0.0.0.0", "http://tutor.example.org", True, "in the clear"),
        ("127.0.0.1", "https://tutor.example.org", False, "needs a token"),
        ("127.0.0.1", "https://tutor.example.org/path", True, "no origin"),
        ("127.0.0.1", "https://a:b@tutor.example.org", True, "no origin"),
        ("127.0.0.1", "tutor.example.org", True, "no origin"),
        ("127.0.0.1", "https://tutor.example.org:99999", True, "no origin"),
    ):
        with pytest.raises(TutorError, match=said):
            origins_for(host, 8010, origin, users)


@pytest.mark.parametrize(
    "arguments",
    [["--host", "0.0.0.0"], ["--add", "anna"], ["--origin", "https://a.example"], ["--users", "/nowhere/x"]],
)
def test_the_command_says_what_is_missing(arguments: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--no-model", "--data-dir", str(tmp_path), "serve", *arguments])
    assert ended.value.code == 2


def test_the_command_adds_a_person_and_shows_the_token_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "people"
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--users", str(file), "--add", "anna"])
    assert not ended.value.code
    token = capsys.readouterr().out.strip()
    assert user_of(read_users(file), token) is not None
