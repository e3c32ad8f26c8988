"""Reading scenarios: YAML or plain data to a `Scenario`, and every complaint as one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from sim.complaints import Location, complaint
from sim.errors import ScenarioError, nearest
from sim.scenario import Scenario
from sim.traces.spec import FOLDER

MAX_FILE_BYTES = 4_000_000
_LONGEST_NUMBER = 100
"""Characters. YAML reads `1:1:1…` as one number in base 60, and a long one takes minutes."""
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _Loader(yaml.SafeLoader):
    """Safe YAML that also refuses a key given twice and reads `1e-3` as a number."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._composed: set[int] = set()

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} is given twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        node = super().compose_node(parent, index)
        # Aliases let a short file stand for an enormous one, and a scenario needs none.
        if id(node) in self._composed:
            raise yaml.composer.ComposerError(
                None,
                None,
                "aliases (*name) are not supported; write the value out",
                node.start_mark if node else None,
            )
        self._composed.add(id(node))
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            raise yaml.composer.ComposerError(
                None, None, f"a number of {len(node.value):,} characters; put text in quotes", node.start_mark
            )
        return node


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def load_scenario(path: Path, change: Callable[[dict[str, Any]], None] | None = None) -> Scenario:
    """Read a scenario file (YAML; JSON is YAML too). `change` may edit its data before it is checked.

    Raises ScenarioError, naming file, line and field, for anything that cannot be used.
    """
    source = str(path)
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScenarioError(f"{source}: larger than {MAX_FILE_BYTES:,} bytes; a scenario describes traffic by rate")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError(f"{source}: no such file; `python -m sim list` shows the built-in ones") from None
    except OSError as error:
        raise ScenarioError(f"{source}: cannot be read ({error.strerror or error}); check the path") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{source}: is not UTF-8 text; save it as UTF-8") from None
    return read_scenario(text, source, path.parent, change)


def read_scenario(
    text: str, source: str, folder: Path | None = None, change: Callable[[dict[str, Any]], None] | None = None
) -> Scenario:
    """The scenario of a YAML text; `source` says in errors where it came from, and `change` may edit its data.

    `folder` is where paths of recorded traces and other files start; without it the text may not name files.
    Raises ScenarioError with one sentence; its `line` and `location` say where the mistake stands.
    """
    data, node = read_yaml(text, source)
    if not isinstance(data, dict):
        raise ScenarioError(f"{source}: must be a mapping with the keys name, classes, server and step_cost")
    if change is not None:
        change(data)
    return _validated(data, source, node, folder)


def read_yaml(text: str, source: str) -> tuple[object, yaml.Node | None]:
    """Plain data of a YAML text that may come from anybody, and its tree with the lines.

    Aliases, keys given twice and endless numbers are refused. Raises ScenarioError with one sentence.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return (None if node is None else loader.construct_document(node)), node
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line + 1 if error.problem_mark else None
        line = f", line {at}" if at else ""
        raise _located(ScenarioError(f"{source}{line}: not valid YAML: {error.problem}"), at) from None
    except (yaml.YAMLError, ValueError, LookupError, RecursionError):  # PyYAML looks up what `!!bool x` means
        raise ScenarioError(f"{source}: not valid YAML; compare it with a built-in scenario") from None


def compose_yaml(text: str) -> yaml.Node | None:
    """The tree of a YAML text that may come from anybody; None when it is empty or `read_yaml` would refuse it."""
    try:
        return _Loader(text).get_single_node()
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def parse_scenario(data: Mapping[str, object], source: str, folder: Path | None = None) -> Scenario:
    """Make a scenario of plain data; `source` says in errors where it came from.

    `folder` is where paths of recorded traces and other files start; without it the data may not name files.
    Raises ScenarioError with one sentence.
    """
    return _validated(dict(data), source, None, folder)


def scenarios_dir() -> Path:
    """The folder of the built-in scenarios; each file's opening comment says what it teaches."""
    return Path(__file__).parent / "scenarios"


def builtin_names() -> list[str]:
    """Names of the built-in scenarios, as `builtin_scenario` takes them."""
    return sorted(path.stem for path in scenarios_dir().glob("*.yaml"))


def builtin_scenario(name: str) -> Scenario:
    """A built-in scenario by its file name without `.yaml`. Raises ScenarioError if there is none."""
    names = builtin_names()
    if name not in names:
        raise ScenarioError(
            f"there is no built-in scenario {name!r}{nearest(name, names)}; choose one of {', '.join(names)}"
        )
    return load_scenario(scenarios_dir() / f"{name}.yaml")


def _validated(data: Mapping[str, object], source: str, node: yaml.Node | None, folder: Path | None) -> Scenario:
    try:
        return Scenario.model_validate(data, context={FOLDER: folder})
    except ValidationError as error:
        location, sentence = complaint(error)
        line = _line(node, location)
        place = f"{source}, line {line}" if line else source
        raise _located(ScenarioError(f"{place}: {sentence}"), line, location) from None


def _located(error: ScenarioError, line: int | None, location: Location = ()) -> ScenarioError:
    error.line, error.location = line, location
    return error


def _line(node: yaml.Node | None, location: Location) -> int | None:
    """The line of the field, or of the nearest thing above it that stands in the file."""
    line = None
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == part), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line
