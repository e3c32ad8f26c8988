"""Reading packs from folders. Loading parses YAML and validates it; nothing in a pack is ever executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from question_bank import schema
from question_bank.errors import BankError
from question_bank.schema import Checkpoint, Exercise, Lesson, Pack, Prediction, Probe, Recall

BUILT_IN = Path(__file__).parent / "packs"
MAX_BYTES = 1024 * 1024
MAX_NESTING = 24

AnyItem = Exercise | Probe | Checkpoint | Recall | Prediction
_Model = TypeVar("_Model", bound=BaseModel)


class Bank(BaseModel):
    """All lessons of the packs that were loaded, in reading order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    packs: tuple[Pack, ...]
    lessons: tuple[Lesson, ...]
    paths: dict[str, Path]
    """Lesson id -> the file it came from."""

    @cached_property
    def items(self) -> tuple[AnyItem, ...]:
        """All items of all lessons, in reading order."""
        return tuple(item for lesson in self.lessons for item in lesson.items)

    @cached_property
    def _items_by_id(self) -> Mapping[str, AnyItem]:
        return {item.id: item for item in self.items}

    def lesson(self, lesson_id: str) -> Lesson:
        """The lesson with this id; BankError names the nearest id when there is none."""
        for lesson in self.lessons:
            if lesson.id == lesson_id:
                return lesson
        raise BankError(_unknown("lesson", lesson_id, [lesson.id for lesson in self.lessons]))

    def item(self, item_id: str) -> AnyItem:
        """The item with this id; BankError names the nearest id when there is none."""
        if item_id not in self._items_by_id:
            raise BankError(_unknown("item", item_id, list(self._items_by_id)))
        return self._items_by_id[item_id]

    def lesson_of(self, item_id: str) -> Lesson:
        """The lesson that holds this item; BankError when there is none."""
        self.item(item_id)
        return next(lesson for lesson in self.lessons if any(item.id == item_id for item in lesson.items))


def _unknown(what: str, wanted: str, known: list[str]) -> str:
    close = get_close_matches(wanted, known, n=1, cutoff=0.4)
    remedy = f"did you mean {close[0]!r}?" if close else "`tutor bank list` shows what there is."
    return f"there is no {what} {wanted!r}; {remedy}"


def load_bank(extra_dirs: Sequence[Path] = ()) -> Bank:
    """The packs that come with the program and those in `extra_dirs`.

    Each extra folder is a pack (it holds pack.yaml) or a folder of packs. Raises BankError naming file
    and line.
    """
    packs: list[Pack] = []
    lessons: list[Lesson] = []
    paths: dict[str, Path] = {}
    seen_items: dict[str, Path] = {}
    seen_packs: dict[str, Path] = {}
    for folder in _pack_folders(extra_dirs):
        pack = _read(folder / "pack.yaml", Pack)
        if pack.id in seen_packs:
            raise BankError(
                f"{folder / 'pack.yaml'}: pack id {pack.id!r} is already used by {seen_packs[pack.id]}; rename one"
            )
        seen_packs[pack.id] = folder
        packs.append(pack)
        for name in pack.lessons:
            path = folder / f"{name}.yaml"
            lesson = _read(path, Lesson)
            if not lesson.id.startswith(f"{pack.id}/"):
                raise BankError(f"{path}: lesson id {lesson.id!r} must begin with the pack's id and a slash")
            if lesson.id in paths:
                raise BankError(f"{path}: lesson id {lesson.id!r} is already used by {paths[lesson.id]}")
            for item in lesson.items:
                if item.id in seen_items:
                    raise BankError(f"{path}: item id {item.id!r} is already used in {seen_items[item.id]}")
                seen_items[item.id] = path
            paths[lesson.id] = path
            lessons.append(lesson)
    return Bank(packs=tuple(packs), lessons=tuple(lessons), paths=paths)


def _pack_folders(extra_dirs: Sequence[Path]) -> Iterator[Path]:
    for root in (BUILT_IN, *extra_dirs):
        if not root.is_dir():
            raise BankError(f"{root}: no such folder; give a folder with a pack.yaml or a folder of packs")
        if (root / "pack.yaml").is_file():
            yield root
            continue
        folders = sorted(path.parent for path in root.glob("*/pack.yaml"))
        if not folders:
            raise BankError(f"{root}: holds no pack.yaml, neither itself nor in a folder below it")
        yield from folders


def _read(path: Path, model: type[_Model]) -> _Model:
    node = _compose(path)
    loader = yaml.constructor.SafeConstructor()
    try:
        data = loader.construct_document(node)
    except (yaml.YAMLError, ValueError) as error:
        raise BankError(f"{path}: not valid YAML ({_first_line(error)})") from error
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise BankError(_describe(path, node, error)) from error


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
        depth = 0
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            line = event.start_mark.line + 1 if event.start_mark else 1
            if isinstance(event, yaml.AliasEvent):
                raise BankError(f"{path}:{line}: aliases (*name) are not allowed; repeat the text")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_NESTING:
                raise BankError(f"{path}:{line}: nested more than {MAX_NESTING} deep")
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BankError(f"{path}:{line}: not valid YAML ({error.problem or error.context})") from error
    except yaml.YAMLError as error:
        raise BankError(f"{path}: not valid YAML ({_first_line(error)})") from error
    if node is None:
        raise BankError(f"{path}: is empty")
    _refuse_duplicate_keys(path, node)
    return node


def _refuse_duplicate_keys(path: Path, node: yaml.Node) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise BankError(f"{path}:{key.start_mark.line + 1}: a key must be a word")
            if key.value in seen:
                raise BankError(f"{path}:{key.start_mark.line + 1}: {key.value!r} stands twice; remove one")
            seen.add(key.value)
            _refuse_duplicate_keys(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_duplicate_keys(path, child)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _describe(path: Path, root: yaml.Node, error: ValidationError) -> str:
    """One sentence: file, line, field and what is wrong; the first problem in the file, missing fields last."""
    problems = error.errors(include_url=False, include_context=False)
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
            close = get_close_matches(name, _field_names(), n=1)
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
    for value in vars(schema).values():
        for model in (value, *get_args(value)):
            if isinstance(model, type) and issubclass(model, BaseModel):
                names.update(model.model_fields)
    return sorted(names)
