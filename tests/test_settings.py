"""Settings: which source wins, and the sentence for each mistake."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tutor.errors import TutorError
from tutor.paths import ensure_private_dir
from tutor.settings import Settings, SettingsError, load_settings


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("TUTOR_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def config(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")
    return file


def source_of(settings: Settings, key: str) -> tuple[str, str]:
    return next((row.value, row.source) for row in settings.explain() if row.key == key)


def test_defaults_need_no_file(tmp_path: Path) -> None:
    settings = load_settings({}, {})
    assert settings.data_dir.is_relative_to(tmp_path / "home")
    assert settings.store_file == settings.data_dir / "tutor.db"
    assert settings.model_dir == settings.data_dir / "models"
    assert settings.mode == "study"
    assert settings.draft_save_s <= 2
    assert {row.source for row in settings.explain()} == {"default"}


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = config(tmp_path, 'theme = "from-file"\nmode = "interview"\n[model]\nname = "file"\ndiscover = false\n')
    environ = {"TUTOR_THEME": "from-env", "TUTOR_MODEL__NAME": "env", "TUTOR_CONFIG": str(file)}
    settings = load_settings({"model.name": "flag"}, environ)
    assert (settings.mode, settings.theme, settings.model.name) == ("interview", "from-env", "flag")
    assert settings.model.discover is False
    assert source_of(settings, "mode") == ("interview", str(file))
    assert source_of(settings, "theme") == ("from-env", "environment variable TUTOR_THEME")
    assert source_of(settings, "model.name") == ("flag", "command line")
    assert source_of(settings, "model.threads") == ("none", "default")


def test_a_flag_can_take_a_value_away(tmp_path: Path) -> None:
    file = config(tmp_path, '[model]\nbase_url = "http://127.0.0.1:8000/v1"\n')
    assert load_settings({"config": file, "model.base_url": None}, {}).model.base_url is None


def test_the_environment_is_read_as_the_settings_type(tmp_path: Path) -> None:
    environ = {
        "TUTOR_MODEL__USE_EMBEDDED": "no",
        "TUTOR_MODEL__CONTEXT_TOKENS": "4096",
        "TUTOR_MODEL__DEADLINES__TOTAL_S": "2.5",
        "TUTOR_BANK_DIRS": f"{tmp_path}/a{os.pathsep}{tmp_path}/b",
        "TUTOR_DATA_DIR": "~/answers",
        "TUTOR_MODE": "",
        "TUTOR_TEST_ANYTHING": "belongs to the tests",
    }
    settings = load_settings({}, environ)
    assert settings.model.use_embedded is False
    assert settings.model.context_tokens == 4096
    assert settings.model.deadlines.total_s == 2.5
    assert settings.model.deadlines.connect_s == 5.0
    assert settings.bank_dirs == (tmp_path / "a", tmp_path / "b")
    assert settings.data_dir == tmp_path / "home" / "answers"
    assert settings.mode == "study"


def test_paths_in_the_file_are_relative_to_the_file(tmp_path: Path) -> None:
    file = config(tmp_path, 'bank_dirs = ["mine", "../theirs"]\n')
    assert load_settings({"config": file}, {}).bank_dirs == (tmp_path / "mine", tmp_path.parent / "theirs")


def test_a_key_is_never_shown(tmp_path: Path) -> None:
    settings = load_settings({}, {"TUTOR_MODEL__API_KEY": "sk-very-secret"})
    assert settings.model.api_key is not None
    assert settings.model.api_key.get_secret_value() == "sk-very-secret"
    assert source_of(settings, "model.api_key")[0] == "set (not shown)"
    assert "very-secret" not in f"{settings!r} {settings} {settings.explain()}"


WRONG_FILES = {
    "unknown key": ('theem = "x"\n', ["line 1", "theem is no setting", "Did you mean theme?"]),
    "unknown nested key": (
        '# note\n[model]\nbase_ulr = "x"\n',
        ["line 3", "model.base_ulr is no setting", "Did you mean model.base_url?"],
    ),
    "key in the wrong section": ('base_url = "x"\n', ["base_url is no setting", "Did you mean model.base_url?"]),
    "unknown section": ('[modle]\nname = "x"\n', ["line 1", "modle is no setting"]),
    "a section given a value": ("model = 3\n", ["line 1", "model is a section", "[model]"]),
    "number for yes or no": ("[model]\ndiscover = 1\n", ["line 2", "model.discover", "boolean", "to use yes"]),
    "text for a number": ('[model.deadlines]\ntotal_s = "9"\n', ["line 2", "model.deadlines.total_s", "number"]),
    "out of bounds": ("draft_save_s = 5.0\n", ["line 1", "draft_save_s", "less than or equal to 2"]),
    "no such choice": ('mode = "exam"\n', ["line 1", "mode", "'study' or 'interview'"]),
    "a date for text": ("theme = 2020-01-01\n[model]\nname = 3\n", ["model.name", "string"]),
    "not TOML": ("theme = \n", ["line 1", "Write it as TOML"]),
}


@pytest.mark.parametrize(("text", "parts"), WRONG_FILES.values(), ids=WRONG_FILES.keys())
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, parts: list[str]) -> None:
    file = config(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_settings({"config": file}, {})
    sentence = str(caught.value)
    assert sentence.startswith(str(file))
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence
    assert caught.value.exit_code == 2


def test_a_mistake_in_the_environment_or_a_flag_is_named() -> None:
    with pytest.raises(SettingsError, match=r"TUTOR_MODEL__BASE_URI is no setting.*TUTOR_MODEL__BASE_URL"):
        load_settings({}, {"TUTOR_MODEL__BASE_URI": "x"})
    with pytest.raises(SettingsError, match=r"environment variable TUTOR_MODEL__CONTEXT_TOKENS.*to use 8192"):
        load_settings({}, {"TUTOR_MODEL__CONTEXT_TOKENS": "many"})
    with pytest.raises(SettingsError, match=r"command line: model\.context_tokens"):
        load_settings({"model.context_tokens": 1}, {})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        load_settings({"config": tmp_path / "none.toml"}, {})
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings({"config": tmp_path}, {})
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"theme = '\xff'")
    with pytest.raises(SettingsError, match="byte 9 is not UTF-8"):
        load_settings({"config": binary}, {})
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(SettingsError, match="larger than 1 MiB"):
        load_settings({"config": big}, {})


def test_without_a_home_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    with pytest.raises(TutorError, match="TUTOR_DATA_DIR"):
        load_settings({}, {})
    assert load_settings({"data_dir": tmp_path / "data"}, {}).data_dir == tmp_path / "data"


def test_settings_do_not_change() -> None:
    settings = load_settings({"data_dir": Path("/nowhere")}, {})
    with pytest.raises(ValueError, match="frozen"):
        setattr(settings, "theme", "other")  # noqa: B010 (the type checker refuses the plain form)


def test_folders_are_private(tmp_path: Path) -> None:
    made = ensure_private_dir(tmp_path / "a" / "b")
    assert made.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(TutorError, match="is a file"):
        ensure_private_dir(tmp_path / "file")
