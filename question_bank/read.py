"""One YAML file to a validated model; every complaint is one sentence with file, line, field and remedy."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Generic, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from question_bank import schema, schema_items
from question_bank.errors import BankError

MAX_BYTES = 1024 * 1024
MAX_NESTING = 24
# Below these a file cannot nest deep enough to harm the C parser, and the careful reading is spared.
_FEW_BRACKETS = 4000
_SHORT_LINE = 4000
# Characters of a scalar that is no text. YAML reads `1:1:1…` as one number in base 60, and a long one takes minutes.
_LONGEST_NUMBER = 100
_LONGEST_KEY = 200
# Problems that are looked at; a file with more than these is told about by its first ones.
_MOST_PROBLEMS = 100
_STRING = "tag:yaml.org,2002:str"
_SEQUENCE = "tag:yaml.org,2002:seq"
_MAPPING = "tag:yaml.org,2002:map"

_Model = TypeVar("_Model", bound=BaseModel)


class Read(Generic[_Model]):
    """A file's model, and where in the file each part stands."""

    def __init__(self, path: Path, model: _Model, root: yaml.Node) -> None:
        self.path = path
        self.model = model
        self._root = root

    def place(self, *loc: int | str) -> str:
        """`file:line` of a field, e.g. place("items", 3, "topics")."""
        return f"{self.path}:{_locate(self._root, loc)[0]}"


def read_file(path: Path, model: type[_Model], within: Path | None = None) -> Read[_Model]:
    """Parse and validate one file; with `within`, a file that leads out of that folder is refused.

    Raises BankError naming file, line and field.
    """
    if within is not None and not path.resolve().is_relative_to(within.resolve()):
        raise BankError(f"{path}: leads out of its pack; copy the file into the pack's folder")
    root = _compose(path)
    try:
        data = _Plain(path).build(root, root.start_mark.line + 1, 1)
    except (yaml.YAMLError, ValueError, LookupError) as error:  # PyYAML looks up what `!!bool x` means
        if isinstance(error, BankError):
            raise
        raise BankError(f"{path}: not valid YAML ({_first_line(error)})") from error
    try:
        return Read(path, model.model_validate(data), root)
    except ValidationError as error:
        raise BankError(_describe(path, root, error)) from error


def _compose(path: Path) -> yaml.Node:
    """The file as a tree with line numbers, after bounds that keep a hostile file from costing much."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise BankError(f"{path}: {size:,} bytes; the limit is {MAX_BYTES:,}, so split it into lessons")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BankError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        if text.count("[") + text.count("{") > _FEW_BRACKETS or max(map(len, text.split("\n"))) > _SHORT_LINE:
            _refuse_depth(path, text)
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BankError(f"{path}:{line}: not valid YAML ({error.problem or error.context})") from error
    except yaml.YAMLError as error:
        raise BankError(f"{path}: not valid YAML ({_first_line(error)})") from error
    if node is None:
        raise BankError(f"{path}: is empty")
    return node


def _refuse_depth(path: Path, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise BankError(f"{path}:{line}: nested more than {MAX_NESTING} deep")


class _Plain:
    """Makes plain data of a tree in one pass, and refuses aliases, deep nesting and keys that stand twice.

    PyYAML's own constructor takes three times as long for the same strings, lists and dictionaries.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[int] = set()
        self._other = yaml.constructor.SafeConstructor()

    def build(self, node: yaml.Node, line: int, depth: int) -> object:
        """The node's value; `line` is where the node is named."""
        # A node met twice was named by an alias.
        if id(node) in self._seen:
            raise BankError(f"{self._path}:{line}: aliases (*name) are not allowed; repeat the text")
        self._seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            if node.tag == _STRING:
                return node.value
            if len(node.value) > _LONGEST_NUMBER:
                raise BankError(f"{self._path}:{line}: a number of {len(node.value):,} characters; put text in quotes")
            return self._other.construct_object(node)
        if depth > MAX_NESTING:
            raise BankError(f"{self._path}:{line}: nested more than {MAX_NESTING} deep")
        if node.tag not in (_SEQUENCE, _MAPPING):
            return self._other.construct_object(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, child.start_mark.line + 1, depth + 1) for child in node.value]
        built: dict[str, object] = {}
        for key, value in node.value:
            at = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or len(key.value) > _LONGEST_KEY:
                raise BankError(f"{self._path}:{at}: a key must be a word")
            if key.value in built:
                raise BankError(f"{self._path}:{at}: {key.value!r} stands twice; remove one")
            built[key.value] = self.build(value, at, depth + 1)
        return built


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _describe(path: Path, root: yaml.Node, error: ValidationError) -> str:
    """One sentence: file, line, field and what is wrong; the first problem in the file, missing fields last."""
    problems = error.errors(include_url=False, include_context=False)[:_MOST_PROBLEMS]
    # A list whose elements are refused also counts as too short; only the cause is worth telling.
    causes = [
        each
        for each in problems
        if each["type"] != "too_short"
        or not any(len(other["loc"]) > len(each["loc"]) and _within(other, each) for other in problems)
    ]
    told = []
    for problem in causes:
        line, field = _locate(root, problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            name = str(problem["loc"][-1])
            # The right field in a wrong place is in the list too.
            close = get_close_matches(name, [each for each in _field_names() if each != name], n=1)
            message = "unknown field" + (f"; did you mean {close[0]!r}?" if close else "; remove it")
        elif problem["type"] == "missing":
            message = "is missing"
        elif problem["type"] in {"model_type", "model_attributes_type", "dict_type"}:
            message = "must hold fields, each with a name, a colon and a value"
        elif problem["type"] == "union_tag_not_found":
            message = "kind is missing; it is one of exercise, probe, checkpoint, recall and prediction"
        # A misspelt field is unknown and the right one missing; the misspelling comes first.
        told.append((problem["type"] == "missing", line, f"{path}:{line}: {field}: {message}"))
    told.sort(key=lambda each: each[:2])
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    return told[0][2] + more


def _within(inner: ErrorDetails, outer: ErrorDetails) -> bool:
    return inner["loc"][: len(outer["loc"])] == outer["loc"]


def _locate(root: yaml.Node, loc: tuple[int | str, ...]) -> tuple[int, str]:
    """Line and dotted name of a place; parts that are not in the file (a union's tag) are passed over."""
    node = root
    line = root.start_mark.line + 1
    named: list[str] = []
    for position, part in enumerate(loc):
        found = None
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = node.value[part]
            line = found.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    found, line = value, key.start_mark.line + 1
        if found is not None:
            node = found
            named.append(str(part))
        elif position == len(loc) - 1 and part != "[key]":
            named.append(str(part))
    return line, ".".join(named) or "the file"


def _field_names() -> list[str]:
    names: set[str] = set()
    for value in (*vars(schema).values(), *vars(schema_items).values()):
        for model in (value, *get_args(value)):
            if isinstance(model, type) and issubclass(model, BaseModel):
                names.update(model.model_fields)
    return sorted(names)
