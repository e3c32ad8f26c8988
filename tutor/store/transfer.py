"""Everything that is stored as JSON lines, and back.

The first line names the format; then come the events in order of writing, and the drafts. Events keep their
identities, so that reading a file twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from tutor.errors import TutorError
from tutor.store.errors import StoreError
from tutor.store.store import Store

FORMAT: Final = "tutor-export"
VERSION: Final = 1


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Header(_Line):
    type: Literal["header"] = "header"
    format: Literal["tutor-export"] = "tutor-export"
    version: int = VERSION


class _EventLine(_Line):
    type: Literal["event"] = "event"
    id: Annotated[str, Field(min_length=1, max_length=200)]
    stream: Annotated[str, Field(min_length=1, max_length=500)]
    kind: Annotated[str, Field(min_length=1, max_length=200)]
    at: AwareDatetime
    payload: dict[str, JsonValue]


class _DraftLine(_Line):
    type: Literal["draft"] = "draft"
    stream: Annotated[str, Field(min_length=1, max_length=500)]
    position: Annotated[int, Field(ge=0)]
    slot: str
    text: str
    at: AwareDatetime


_AnyLine = Annotated[_Header | _EventLine | _DraftLine, Field(discriminator="type")]
_LINE: Final[TypeAdapter[_Header | _EventLine | _DraftLine]] = TypeAdapter(_AnyLine)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    events_added: int
    events_known: int
    """Were here already."""
    drafts_taken: int


def export_lines(store: Store) -> Iterator[str]:
    """Everything in the store, one JSON object a line, without line ends."""
    yield _dump({"type": "header", "format": FORMAT, "version": VERSION})
    for event in store.events():
        yield _dump(
            {
                "type": "event",
                "id": event.id,
                "stream": event.stream,
                "kind": event.kind,
                "at": _iso(event.at),
                "payload": event.payload,
            }
        )
    for draft in store.drafts():
        yield _dump(
            {
                "type": "draft",
                "stream": draft.stream,
                "position": draft.position,
                "slot": draft.slot,
                "text": draft.text,
                "at": _iso(draft.at),
            }
        )


def import_lines(
    store: Store,
    lines: Iterable[str],
    *,
    source: str,
    check: Callable[[str, Mapping[str, Any]], None] | None = None,
) -> ImportReport:
    """Read an export into the store: all of it, or nothing if a line is wrong.

    An interview that went on differently here and in the file is refused, since neither history may be changed.
    A draft of the file is taken where the file is ahead of this store, or as far and newer.

    Args:
        store: what to add to.
        lines: the export's lines.
        source: the file's name, for errors.
        check: given the kind and payload of each event in order; raises TutorError for one that is refused.

    Raises:
        StoreError: a line is not of this format, is refused, or an interview went on differently.
    """
    events, drafts = _parse(lines, source, check)
    with store.writing():
        here: dict[str, list[str]] = {}
        for event in store.events():
            here.setdefault(event.stream, []).append(event.id)
        known = {id_ for ids in here.values() for id_ in ids}
        there: dict[str, list[str]] = {}
        for line in events:
            there.setdefault(line.stream, []).append(line.id)
        for stream, ids in there.items():
            common = min(len(ids), len(here.get(stream, ())))
            if stream.startswith("interview:") and here.get(stream, [])[:common] != ids[:common]:
                raise StoreError(
                    f"{source}: {stream} went on differently in this store and in the file; nothing was imported.",
                    hint="Import it into an empty store: name a new folder with --data-dir.",
                )
        added = 0
        for line in events:
            if line.id in known:
                continue
            known.add(line.id)
            try:
                store.insert(line.id, line.stream, line.kind, line.payload, line.at)
            except ValueError:  # NaN, or a number like 1e999
                raise StoreError(
                    f"{source}: the event {line.id} holds a number that is not finite.",
                    hint="Use a file that 'tutor export' has written; nothing was imported.",
                ) from None
            added += 1
        taken = 0
        for draft in drafts:
            ahead = len(there.get(draft.stream, ())) - len(here.get(draft.stream, ()))
            mine = store.draft(draft.stream, draft.position)
            if ahead > 0 or (ahead == 0 and (mine is None or draft.at > mine.at)):
                store.save_draft(draft.stream, draft.position, draft.text, draft.at, slot=draft.slot)
                taken += 1
    return ImportReport(added, len(events) - added, taken)


def _parse(
    lines: Iterable[str], source: str, check: Callable[[str, Mapping[str, Any]], None] | None
) -> tuple[list[_EventLine], list[_DraftLine]]:
    events: list[_EventLine] = []
    drafts: list[_DraftLine] = []
    seen_header = False
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line = _LINE.validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"][1:])
            raise StoreError(
                f"{source}, line {number}: {field + ': ' if field else ''}{first['msg'].lower()}.",
                hint="Use a file that 'tutor export' has written; nothing was imported.",
            ) from None
        if isinstance(line, _Header):
            if line.version > VERSION:
                raise StoreError(
                    f"{source} was written by a newer version of this program (format {line.version}).",
                    hint="Update the program; nothing was imported.",
                )
            seen_header = True
        elif not seen_header:
            raise StoreError(
                f"{source}, line {number}: the first line does not name the format {FORMAT}.",
                hint="Use a file that 'tutor export' has written; nothing was imported.",
            )
        elif isinstance(line, _EventLine):
            if check is not None:
                try:
                    check(line.kind, line.payload)
                except TutorError as error:
                    raise StoreError(f"{source}, line {number}: {error.message}", hint=error.hint) from None
            events.append(line)
        else:
            drafts.append(line)
    if not seen_header:
        raise StoreError(f"{source} is empty.", hint="Use a file that 'tutor export' has written.")
    return events, drafts


def state_hash(store: Store) -> str:
    """SHA-256 of all events, stream by stream, and of the drafts: equal for stores that hold the same."""
    digest = hashlib.sha256()
    for event in sorted(store.events(), key=lambda event: (event.stream, event.seq)):
        digest.update(_dump([event.id, event.stream, event.kind, _iso(event.at), event.payload]).encode())
        digest.update(b"\n")
    for draft in store.drafts():
        digest.update(_dump([draft.stream, draft.position, draft.slot, draft.text, _iso(draft.at)]).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
