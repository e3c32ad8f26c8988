"""The settings: defaults, then the file `config.toml`, then the environment, then the command line's flags.

Every value is checked where it comes from, so that an error names the file and line, the variable or the flag.
In the file types are strict (`discover = 1` is refused); the environment has only text, which is read as the
setting's type: `TUTOR_MODEL__BASE_URL`, `TUTOR_THEME`, `TUTOR_BANK_DIRS` (folders parted as in PATH).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from tutor.errors import TutorError
from tutor.llm.types import ModelSettings
from tutor.paths import STORE_NAME, default_config_file, default_data_dir

PREFIX: Final = "TUTOR_"
TEST_PREFIX: Final = "TUTOR_TEST_"
"""Variables of the test suite; no settings."""
CONFIG_VARIABLE: Final = "TUTOR_CONFIG"
MAX_CONFIG_BYTES: Final = 1 << 20


class SettingsError(TutorError):
    """A setting is unknown or has a value that cannot be used."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One setting's value as text and where it comes from; a key that is secret is never spelled out."""

    key: str
    value: str
    source: str


class Settings(BaseModel):
    """All that a person can set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_dir: Path
    """Where answers, models and packs of one's own are kept."""
    bank_dirs: tuple[Path, ...] = ()
    """Folders with packs of questions, beside the packs of the program."""
    mode: Literal["study", "interview"] = "study"
    """`study` coaches after each answer; `interview` is silent until the end."""
    theme: Annotated[str, Field(min_length=1, max_length=100)] = "textual-dark"
    """tutor-dark (or textual-dark), tutor-light, tutor-contrast; ansi-dark, ansi-light: the terminal's own colours."""
    draft_save_s: Annotated[float, Field(gt=0, le=2, allow_inf_nan=False)] = 0.5
    """Seconds of quiet after which the text being typed is written to the disk."""
    model: ModelSettings = ModelSettings()

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def store_file(self) -> Path:
        """The SQLite file with all answers."""
        return self.data_dir / STORE_NAME

    @property
    def model_dir(self) -> Path:
        """Where model files are kept."""
        return self.model.model_dir or self.data_dir / "models"

    @property
    def calibration_dir(self) -> Path:
        """Where `tutor eval calibrate` keeps what it found for each model."""
        return self.data_dir / "calibrations"

    def explain(self) -> tuple[Explained, ...]:
        """Every setting with its value and source, for `tutor doctor`."""
        return tuple(
            Explained(key, _shown(_get(self, key)), self._sources.get(key, "default")) for key, _ in _leaves(Settings)
        )


def load_settings(flags: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this start.

    Args:
        flags: dotted key -> value, such as `model.base_url`; None is a value too. `config` names another file.
        environ: the environment; the process's own when not given.

    Raises:
        SettingsError: a setting is unknown or wrong, or a named file cannot be read.
        TutorError: there is no home directory and no data directory is named.
    """
    given = dict(flags or {})
    environment = os.environ if environ is None else environ
    values: dict[str, object] = {}
    sources: dict[str, str] = {}
    for key, value, source in (
        *_from_file(given.pop("config", None), environment),
        *_from_environment(environment),
        *_from_flags(given),
    ):
        values[key], sources[key] = value, source
    if "data_dir" not in values:
        values["data_dir"] = default_data_dir()
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *parents, last = key.split(".")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    try:
        settings = Settings.model_validate(nested)
    except ValidationError as error:
        key = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise SettingsError(f"{sources.get(key, 'settings')}: {key}: {_plain(error)}.") from None
    if "@" in (settings.model.base_url or ""):
        # An address is shown and stored in many places; a password in it would be too.
        raise SettingsError(
            f"{sources['model.base_url']}: model.base_url: holds a user's name or password.",
            hint="Leave out what stands before @, and put a key into model.api_key.",
        )
    settings._sources.update(sources)
    return settings


# -- the three sources ------------------------------------------------------------------------------------------------

_Found = Iterator[tuple[str, object, str]]


def _from_file(named: object, environ: Mapping[str, str]) -> _Found:
    explicit = named if named is not None else environ.get(CONFIG_VARIABLE) or None
    file = Path(str(explicit)).expanduser() if explicit is not None else default_config_file()
    if file is None:
        return
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        if explicit is None:
            return
        raise SettingsError(
            f"The settings file {file} does not exist.", hint="Make it, or leave --config and TUTOR_CONFIG out."
        ) from None
    except OSError as error:
        raise SettingsError(
            f"The settings file {file} cannot be read: {error.strerror or error}.", hint="Give yourself the right to."
        ) from None
    if len(raw) > MAX_CONFIG_BYTES:
        raise SettingsError(f"{file} is larger than 1 MiB.", hint="It should hold a few lines of settings.")
    import tomllib  # 20 ms, and most people have no file

    try:
        text = raw.decode("utf-8")
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: byte {error.start} is not UTF-8 text.", hint="Save it as UTF-8.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{file}: {_lower_first(str(error))}.", hint="Write it as TOML: key = value.") from None
    known = dict(_leaves(Settings))
    for key, value in _flatten(table, known):
        where = f"{file}, line {line}" if (line := _line_of(text, key)) else str(file)
        field = _known(key, known, where)
        try:
            parsed = _adapter(field).validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            raise _wrong(where, key, field, error) from None
        yield key, _anchored(parsed, file.parent), str(file)


def _from_environment(environ: Mapping[str, str]) -> _Found:
    known = dict(_leaves(Settings))
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name.startswith(TEST_PREFIX) or name == CONFIG_VARIABLE or not environ[name]:
            continue
        key = name.removeprefix(PREFIX).lower().replace("__", ".")
        if key not in known:
            near = _nearest(key, known)
            hint = f"Did you mean {_variable(near)}?" if near else "'tutor doctor' lists the settings."
            raise SettingsError(f"The environment variable {name} is no setting of this program.", hint=hint)
        field = known[key]
        text = environ[name]
        value: object
        try:
            if key == "bank_dirs":
                value = tuple(Path(part) for part in text.split(os.pathsep) if part)
            else:
                value = _adapter(field).validate_strings(text)
        except ValidationError as error:
            raise _wrong(f"environment variable {name}", key, field, error) from None
        yield key, _anchored(value, None), f"environment variable {name}"


def _from_flags(flags: Mapping[str, object]) -> _Found:
    known = dict(_leaves(Settings))
    for key, value in flags.items():
        field = _known(key, known, "command line")
        try:
            parsed = _adapter(field).validate_python(value)
        except ValidationError as error:
            raise _wrong("command line", key, field, error) from None
        yield key, _anchored(parsed, None), "command line"


# -- helpers ----------------------------------------------------------------------------------------------------------


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _flatten(
    table: Mapping[str, object], known: Mapping[str, FieldInfo], prefix: str = ""
) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        key = f"{prefix}{name}"
        is_section = any(other.startswith(f"{key}.") for other in known)
        if isinstance(value, dict) and (is_section or key not in known):
            if is_section:
                yield from _flatten(value, known, f"{key}.")
            else:
                yield key, value
        else:
            yield key, value


def _adapter(field: FieldInfo) -> TypeAdapter[Any]:
    kind: Any = field.annotation
    return TypeAdapter(Annotated[(kind, *field.metadata)] if field.metadata else kind)


def _known(key: str, known: Mapping[str, FieldInfo], where: str) -> FieldInfo:
    if key in known:
        return known[key]
    if any(other.startswith(f"{key}.") for other in known):
        raise SettingsError(f"{where}: {key} is a section.", hint=f"Write its keys below a line [{key}].")
    near = _nearest(key, known)
    hint = f"Did you mean {near}?" if near else "'tutor doctor' lists the settings."
    raise SettingsError(f"{where}: {key} is no setting of this program.", hint=hint)


def _nearest(key: str, known: Mapping[str, FieldInfo]) -> str | None:
    import difflib  # 20 ms, needed for an error only

    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return near[0]
    by_name = {other.rsplit(".", 1)[-1]: other for other in known}
    near = difflib.get_close_matches(key.rsplit(".", 1)[-1], by_name, n=1, cutoff=0.6)
    return by_name[near[0]] if near else None


def _variable(key: str | None) -> str:
    return PREFIX + (key or "").upper().replace(".", "__")


def _wrong(where: str, key: str, field: FieldInfo, error: ValidationError) -> SettingsError:
    default = _shown(field.get_default(call_default_factory=True, validated_data={}))
    hint = "Correct it, or remove it" + (f" to use {default}." if not field.is_required() else ".")
    return SettingsError(f"{where}: {key}: {_plain(error)}.", hint=hint)


def _plain(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return _lower_first(first["msg"])


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _line_of(text: str, key: str) -> int | None:
    """The line a key stands on, found by its last part below its section's heading; None if written otherwise."""
    *section, last = key.split(".")
    heading = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            heading = match.group(1)
            if heading == key:
                return number
        written = re.match(r"\s*([\w.\-\"' ]+?)\s*=", line)
        if written and ".".join(filter(None, (heading, written.group(1).strip("\"'")))) == ".".join((*section, last)):
            return number
    return None


def _anchored(value: object, base: Path | None) -> object:
    """Paths with `~` spelled out and made absolute from where they were written."""

    def absolute(path: Path) -> Path:
        try:
            path = path.expanduser()
        except RuntimeError:
            raise SettingsError(
                f"The path {path} cannot be spelled out: there is no home directory.", hint="Write it in full."
            ) from None
        if path.is_absolute():
            return path
        root = base or Path.cwd()
        return Path(os.path.normpath(root / path))

    if isinstance(value, Path):
        return absolute(value)
    if isinstance(value, tuple):
        return tuple(absolute(part) if isinstance(part, Path) else part for part in value)
    return value


def _get(settings: BaseModel, key: str) -> object:
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


def _shown(value: object) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, SecretStr):
        return "set (not shown)"
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
