"""Reading packs from folders. Loading parses YAML and validates it; nothing in a pack is ever executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from question_bank.errors import BankError
from question_bank.read import MAX_BYTES, Read, read_file
from question_bank.schema import AnyItem, ItemFile, Lesson, Pack, Source, SourcesFile, Topic, TopicsFile

__all__ = ["BUILT_IN", "MAX_BYTES", "AnyItem", "Bank", "load_bank"]

BUILT_IN = Path(__file__).parent / "packs"
MAX_FILES = 500


class Bank(BaseModel):
    """All lessons of the packs that were loaded, in reading order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    packs: tuple[Pack, ...]
    lessons: tuple[Lesson, ...]
    """With the items of the packs' item files, and the shared sources that they name."""
    paths: dict[str, Path]
    """Lesson id -> the file it came from."""
    topics: dict[str, tuple[Topic, ...]] = {}
    """Pack id -> its topics in order; packs without topics.yaml are absent."""
    places: dict[str, str] = {}
    """Id of a lesson or item -> `file:line`."""

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


def load_bank(extra_dirs: Sequence[Path] = (), drafts: Sequence[Path] = (), built_in: bool = True) -> Bank:
    """The packs that come with the program (unless `built_in` is false) and those in `extra_dirs`.

    Each extra folder is a pack (it holds pack.yaml) or a folder of packs. `drafts` are files of items that stand
    outside the packs so far. Raises BankError naming file and line.
    """
    packs: dict[str, Path] = {}
    loaded: list[_PackReader] = []
    for folder in _pack_folders((BUILT_IN, *extra_dirs) if built_in else extra_dirs):
        pack = read_file(folder / "pack.yaml", Pack, folder).model
        if pack.id in packs:
            raise BankError(
                f"{folder / 'pack.yaml'}: pack id {pack.id!r} is already used by {packs[pack.id]}; rename one"
            )
        packs[pack.id] = folder
        loaded.append(_PackReader(folder, pack))
    for draft in drafts:
        read = read_file(draft, ItemFile)
        owner = next((each for each in loaded if each.pack.id == read.model.lesson.split("/")[0]), None)
        if owner is None:
            raise BankError(f"{draft}: lesson: {_unknown('lesson', read.model.lesson, list(packs))}")
        owner.add(read)
    places: dict[str, str] = {}
    for reader in loaded:
        for name, place in reader.places.items():
            if name in places:
                raise BankError(f"{place}: id {name!r} is already used at {places[name]}")
            places[name] = place
    return Bank(
        packs=tuple(reader.pack for reader in loaded),
        lessons=tuple(lesson for reader in loaded for lesson in reader.lessons()),
        paths={read.model.id: read.path for reader in loaded for read in reader.files},
        topics={reader.pack.id: reader.topics for reader in loaded if reader.topics},
        places=places,
    )


class _PackReader:
    """One pack's folder: its lessons, items/**/*.yaml, and topics.yaml and sources.yaml if there are any."""

    def __init__(self, folder: Path, pack: Pack) -> None:
        self.pack = pack
        topics, sources = folder / "topics.yaml", folder / "sources.yaml"
        self.topics: tuple[Topic, ...] = ()
        self._shared: tuple[Source, ...] = ()
        if topics.is_file():
            self.topics = read_file(topics, TopicsFile, folder).model.topics
        if sources.is_file():
            self._shared = read_file(sources, SourcesFile, folder).model.sources
        self.files: list[Read[Lesson]] = []
        self.places: dict[str, str] = {}
        self._items: dict[str, tuple[AnyItem, ...]] = {}
        for name in self.pack.lessons:
            read = read_file(folder / f"{name}.yaml", Lesson, folder)
            lesson = read.model
            if not lesson.id.startswith(f"{self.pack.id}/"):
                raise BankError(f"{read.path}: lesson id {lesson.id!r} must begin with the pack's id and a slash")
            self._place(lesson.id, read.place("id"))
            self.files.append(read)
            self._take(read, lesson.id, lesson.items)
        paths = sorted((folder / "items").rglob("*.yaml"))
        if len(paths) > MAX_FILES:
            raise BankError(f"{folder / 'items'}: {len(paths)} files; the limit is {MAX_FILES}, so split the pack")
        for path in paths:
            self.add(read_file(path, ItemFile, folder))

    def add(self, read: Read[ItemFile]) -> None:
        """Take the items of a file of items into their lesson."""
        lessons = [each.model.id for each in self.files]
        if read.model.lesson not in lessons:
            raise BankError(f"{read.place('lesson')}: lesson: {_unknown('lesson', read.model.lesson, lessons)}")
        self._take(read, read.model.lesson, read.model.items)

    def _take(self, read: Read[Lesson] | Read[ItemFile], lesson_id: str, items: tuple[AnyItem, ...]) -> None:
        known = [topic.id for topic in self.topics]
        for position, item in enumerate(items):
            self._place(item.id, read.place("items", position))
            for topic in item.topics:
                if known and topic not in known:
                    close = get_close_matches(topic, known, n=1, cutoff=0.4)
                    raise BankError(
                        f"{read.place('items', position, 'topics')}: items.{position}.topics: {topic!r} is not in "
                        "the pack's topics.yaml" + (f"; did you mean {close[0]!r}?" if close else "; add it there")
                    )
        self._items[lesson_id] = (*self._items.get(lesson_id, ()), *items)

    def _place(self, name: str, place: str) -> None:
        if name in self.places:
            raise BankError(f"{place}: id {name!r} is already used at {self.places[name]}")
        self.places[name] = place

    def lessons(self) -> Iterator[Lesson]:
        """The lessons with all their items, and with the shared sources that they name."""
        for read in self.files:
            lesson, items = read.model, self._items[read.model.id]
            if not items:
                raise BankError(f"{read.path}: lesson {lesson.id!r} has no items, neither here nor in the items folder")
            own = {source.id for source in lesson.sources}
            named = {each for section in lesson.sections for each in section.sources}
            named |= {each for item in items for each in item.sources}
            shared = tuple(each for each in self._shared if each.id in named - own)
            yield lesson.model_copy(update={"items": items, "sources": (*lesson.sources, *shared)})


def _pack_folders(roots: Sequence[Path]) -> Iterator[Path]:
    for root in roots:
        if not root.is_dir():
            raise BankError(f"{root}: no such folder; give a folder with a pack.yaml or a folder of packs")
        if (root / "pack.yaml").is_file():
            yield root
            continue
        folders = sorted(path.parent for path in root.glob("*/pack.yaml"))
        if not folders:
            raise BankError(f"{root}: holds no pack.yaml, neither itself nor in a folder below it")
        yield from folders
