"""Plans that pick items: a screen, a loop, weak topics, a lesson, a section.

A plan is drawn slot by slot. A slot asks for a kind of item; of those that fit the time left, the one is taken that is
first in this order: from the part (lesson, section or weak topic) asked least so far; on the topic asked least so far;
of the difficulty that is furthest behind its share (checkpoints aside); never seen; and last by a hash of the seed and
the item's id, so that the same seed gives the same plan on the same bank, and another bank version changes it as little
as may be. What was just seen is left out, unless the plan were far too short without it. Then the items are put in
order (easy ones first; a lesson in reading order), and, if wanted, each gets an easier and a harder alternative within
the time left, of the same kind and part.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tutor.errors import TutorError
from tutor.interview.past import Past, weak_topics
from tutor.interview.plan import Alternative, Mode, Plan, PlanEntry, item_seed, single_item_plan

if TYPE_CHECKING:
    from question_bank.load import AnyItem, Bank

SCREEN_MINUTES: Final = 25.0
LOOP_MINUTES: Final = 60.0
SECTION_MINUTES: Final = 15.0
SECTION_ITEMS: Final = 3
DIFFICULTY_SHARES: Final[Mapping[int, float]] = MappingProxyType({1: 0.3, 2: 0.5, 3: 0.2})
MINUTES_A_CHECKPOINT: Final = 12.0
"""At most one checkpoint for so many minutes of the plan: they warm up, and are not what an interview is."""
ENOUGH: Final = 0.8
"""Share of its time from which a plan needs nothing that was just seen."""
SCREEN_KINDS: Final = ("checkpoint", "exercise", "probe")
ALL_KINDS: Final = ("checkpoint", "recall", "exercise", "probe", "prediction", "exercise", "probe")
TITLES: Final = {"screen": "25-minute screen", "loop": "60-minute loop", "weak": "Weak topics"}


class PlanError(TutorError):
    """No plan can be made of what was asked for."""


@dataclass(frozen=True)
class _Shape:
    """What is drawn from, and how it is shared out."""

    pool: tuple[AnyItem, ...]
    kinds: tuple[str, ...]
    """One slot each, again and again."""
    minutes: float
    part_of: Callable[[AnyItem], str]
    max_items: int | None = None
    checkpoints: int | None = None
    """The most of them; None for no limit."""


def plan_names(bank: Bank) -> tuple[str, ...]:
    """What `make_plan` knows, without the sections and items: screen, loop, weak, and the ids of the lessons."""
    return (*TITLES, *(lesson.id for lesson in bank.lessons))


def make_plan(
    bank: Bank,
    name: str,
    seed: int,
    *,
    past: Past = Past(),  # noqa: B008 - frozen
    mode: Mode = "study",
    minutes: float | None = None,
    adaptive: bool = True,
    pack_id: str | None = None,
) -> Plan:
    """The plan with a name.

    Args:
        bank: what is drawn from.
        name: `screen`, `loop`, `weak`, a lesson's id, a lesson's id and a section's (`pack/lesson/section`), or an
            item's id.
        seed: the same seed gives the same plan on the same bank and `past`; leave `past` empty for the same plan for
            several candidates.
        past: what was asked before; needed for `weak`.
        mode: whether it coaches after each answer or is silent until the end.
        minutes: time for the whole, at least 5; the plan's usual time by default (25, `loop` 60, a section 15).
        adaptive: prepare easier and harder alternatives. The planned items are the same either way.
        pack_id: the pack that `screen`, `loop` and `weak` draw from; the first with items by default.

    Raises:
        PlanError: there is no such plan, nothing to ask for it, or no item fits the time.
    """
    if minutes is not None and not 5 <= minutes <= 480:
        raise PlanError(f"A plan of {minutes:g} minutes cannot be made.", hint="Give 5 to 480 minutes.")
    if name in TITLES:
        shape = _over_pack(bank, name, past, minutes, pack_id)
        title = TITLES[name] if minutes is None else f"{minutes:g}-minute {'weak topics' if name == 'weak' else name}"
        return _drawn(shape, name, title, seed, past, mode, adaptive)
    lesson = next((one for one in bank.lessons if name == one.id or name.startswith(f"{one.id}/")), None)
    if lesson is None:
        raise PlanError(f"There is no plan {name!r}.", hint=f"Known are {', '.join(plan_names(bank))}.")
    if name == lesson.id:
        budget = SCREEN_MINUTES if minutes is None else minutes
        shape = _Shape(lesson.items, ALL_KINDS, budget, lambda item: item.section or "", None, _checkpoints(budget))
        plan = _drawn(shape, lesson.id, lesson.title, seed, past, mode, adaptive)
        order = {item.id: place for place, item in enumerate(_in_reading_order(bank, lesson.items))}
        return plan.model_copy(update={"entries": tuple(sorted(plan.entries, key=lambda entry: order[entry.item_id]))})
    rest = name.removeprefix(f"{lesson.id}/")
    if any(section.id == rest for section in lesson.sections):
        return section_plan(bank, lesson.id, rest, seed, past=past, mode=mode)
    if any(item.id == name for item in lesson.items):
        return single_item_plan(name, seed, title=bank.item(name).title, mode=mode)
    known = ", ".join(section.id for section in lesson.sections)
    raise PlanError(f"The lesson {lesson.id} has no section or item {rest!r}.", hint=f"Its sections are {known}.")


def section_plan(
    bank: Bank,
    lesson_id: str,
    section_id: str,
    seed: int,
    *,
    past: Past = Past(),  # noqa: B008 - frozen
    mode: Mode = "study",
) -> Plan:
    """Two or three items bound to a section, as far as it has them: a checkpoint first, then others in 15 minutes.

    Raises:
        PlanError: no item is bound to the section.
        BankError: there is no such lesson.
    """
    lesson = bank.lesson(lesson_id)
    title = next((section.title for section in lesson.sections if section.id == section_id), section_id)
    pool = tuple(lesson.items_on(section_id))
    if not pool:
        raise PlanError(f"No item belongs to the section {section_id}.", hint="Read on; the next may have some.")
    open_kinds = sorted({*ALL_KINDS} - {"checkpoint"}, key=lambda kind: _draw(seed, kind))
    # Checkpoints fill up when there is nothing else, hence once more at the end.
    kinds = ("checkpoint", *open_kinds, "checkpoint")
    shape = _Shape(pool, kinds, SECTION_MINUTES, lambda item: item.kind, SECTION_ITEMS)
    plan = _drawn(shape, f"{lesson_id}/{section_id}", f"Quiz: {title}", seed, past, mode, adaptive=False)
    kind_of = {item.id: item.kind for item in pool}
    entries = sorted(plan.entries, key=lambda entry: kind_of[entry.item_id] != "checkpoint")
    return plan.model_copy(update={"entries": tuple(entries)})


def _over_pack(bank: Bank, name: str, past: Past, minutes: float | None, pack_id: str | None) -> _Shape:
    packs = [pack.id for pack in bank.packs]
    if pack_id is not None and pack_id not in packs:
        raise PlanError(f"There is no pack {pack_id!r}.", hint=f"Known are {', '.join(packs)}.")
    with_items = [item.id.split("/")[0] for item in bank.items]
    chosen = pack_id or (with_items[0] if with_items else "")
    pool = tuple(item for item in bank.items if item.id.startswith(f"{chosen}/"))
    budget = minutes if minutes is not None else LOOP_MINUTES if name == "loop" else SCREEN_MINUTES
    kinds = SCREEN_KINDS if name == "screen" else ALL_KINDS
    if name != "weak":
        return _Shape(pool, kinds, budget, lambda item: item.id.rpartition("/")[0], None, _checkpoints(budget))
    weak = weak_topics(bank, past)
    about = tuple(item for item in pool if set(item.topics) & set(weak))
    if not about:
        raise PlanError(
            "No topic is known to be weak: too little was answered, or all of it went well.",
            hint="Take a 25-minute screen first.",
        )
    return _Shape(about, kinds, budget, lambda item: next(topic for topic in weak if topic in item.topics), None,
                  _checkpoints(budget))  # fmt: skip


def _checkpoints(minutes: float) -> int:
    return max(1, int(minutes // MINUTES_A_CHECKPOINT))


def _draw(seed: int, name: str) -> bytes:
    """A number that the seed gives a name; independent of process and of all other names."""
    return hashlib.sha256(f"plan:{seed}:{name}".encode()).digest()


class _Draft:
    """A plan while it is drawn."""

    def __init__(self, shape: _Shape, seed: int, past: Past) -> None:
        self.shape = shape
        self.items: list[AnyItem] = []
        self.minutes = 0.0
        self._seed = seed
        self._just_seen = past.just_seen
        self._seen = frozenset(past.seen)
        self._parts: Counter[str] = Counter()
        self._topics: Counter[str] = Counter()
        self._levels: Counter[int] = Counter()
        self.taken: set[str] = set()

    def fill(self) -> None:
        """With items that were not just seen, and with those too where the plan would else be far too short."""
        self._fill(self._just_seen)
        if self.minutes < ENOUGH * self.shape.minutes:
            self._fill(frozenset())

    def _fill(self, without: frozenset[str]) -> None:
        """One slot after the other, until a whole round adds nothing."""
        added = True
        while added:
            added = False
            for kind in self.shape.kinds:
                if self.shape.max_items is not None and len(self.items) >= self.shape.max_items:
                    return
                candidates = [
                    item
                    for item in self.shape.pool
                    if item.kind == kind and item.id not in without and self._fits(item)
                ]
                if candidates:
                    self._take(min(candidates, key=self._rank))
                    added = True

    def _fits(self, item: AnyItem) -> bool:
        limit = self.shape.checkpoints
        if item.id in self.taken or self.minutes + item.minutes > self.shape.minutes:
            return False
        if item.kind != "checkpoint" or limit is None:
            return True
        return sum(one.kind == "checkpoint" for one in self.items) < limit

    def _rank(self, item: AnyItem) -> tuple[int, int, int, float, bool, bytes]:
        share = DIFFICULTY_SHARES[item.difficulty] if item.kind != "checkpoint" else 0.0
        behind = share * (self._levels.total() + 1) - self._levels[item.difficulty] if share else 0.0
        return (
            self._parts[self.shape.part_of(item)],
            self._topics[item.topics[0]],
            sum(self._topics[topic] for topic in item.topics[1:]),
            -behind,
            item.id in self._seen,
            _draw(self._seed, item.id),
        )

    def _take(self, item: AnyItem) -> None:
        self.items.append(item)
        self.taken.add(item.id)
        self.minutes += item.minutes
        self._parts[self.shape.part_of(item)] += 1
        self._topics.update(item.topics)
        if item.kind != "checkpoint":
            self._levels[item.difficulty] += 1

    def alternative(self, item: AnyItem, difficulty: int, slot_minutes: float) -> AnyItem | None:
        """An item to ask in another's place, of this difficulty; it may make the slot longer while time is left."""
        spare = self.shape.minutes - self.minutes
        candidates = [
            other
            for other in self.shape.pool
            if other.kind == item.kind
            and other.difficulty == difficulty
            and other.id not in self.taken | self._just_seen
            and self.shape.part_of(other) == self.shape.part_of(item)
            and other.minutes - slot_minutes <= spare
        ]
        if not candidates:
            return None
        found = min(
            candidates,
            key=lambda other: (
                -len(set(other.topics) & set(item.topics)),
                other.id in self._seen,
                _draw(self._seed, other.id),
            ),
        )
        self.taken.add(found.id)
        self.minutes += max(0.0, found.minutes - slot_minutes)
        return found


def _drawn(shape: _Shape, plan_id: str, title: str, seed: int, past: Past, mode: Mode, adaptive: bool) -> Plan:
    draft = _Draft(shape, seed, past)
    draft.fill()
    if not draft.items:
        raise PlanError(f"No item fits {shape.minutes:g} minutes.", hint="Give it more time.")
    entries: list[PlanEntry] = []
    for item in sorted(draft.items, key=lambda item: (item.difficulty, item.kind != "checkpoint")):
        slot, others = item.minutes, {}
        for name, difficulty in (("easier", item.difficulty - 1), ("harder", item.difficulty + 1)):
            found = draft.alternative(item, difficulty, slot) if adaptive else None
            if found is not None:
                slot = max(slot, found.minutes)
                others[name] = Alternative(item_id=found.id, seed=item_seed(seed, found.id))
        entries.append(PlanEntry(item_id=item.id, seed=item_seed(seed, item.id), minutes=slot, **others))
    return Plan(id=plan_id, title=title, mode=mode, minutes=shape.minutes, seed=seed, entries=tuple(entries))


def _in_reading_order(bank: Bank, items: Iterable[AnyItem]) -> list[AnyItem]:
    sections = {
        (lesson.id, section.id): place
        for lesson in bank.lessons
        for place, section in enumerate(lesson.sections)
    }  # fmt: skip
    return sorted(items, key=lambda item: sections.get((item.id.rpartition("/")[0], item.section or ""), 999))
