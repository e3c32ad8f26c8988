"""Whether the stored interviews can be read: for `tutor doctor`."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tutor.interview import events as ev
from tutor.interview.state import State, apply
from tutor.store import Problem, Store

OTHER_STREAMS: Final = ("drill:", "lab:")
"""Begin the streams of drill items and of scenarios; what is typed there is theirs. Named here, since both build on
interviews."""


def check_interviews(store: Store) -> list[Problem]:
    """What is wrong with the stored interviews and drafts; empty when all can be read. `Store.check` does the file."""
    problems: list[Problem] = []
    for stream in store.streams(ev.STREAM_PREFIX):
        state: State | None = None
        passed_over = 0
        try:
            for event in store.events(stream):
                after = apply(state, ev.parse(event.kind, event.payload), event.at)
                passed_over += after is None
                state = after if after is not None else state
        except ev.EventError as error:
            problems.append(Problem(f"{stream}: {error.message}", error.hint))
            continue
        if state is None:
            problems.append(Problem(f"{stream} has no beginning.", "It is ignored; an older backup may hold it whole."))
        elif passed_over:
            problems.append(
                Problem(
                    f"{stream}: {passed_over} events did not fit where they stand and were passed over.",
                    "Nothing needs to be done; the export still holds them.",
                )
            )
    known = set(store.streams(ev.STREAM_PREFIX))
    problems += [
        Problem(f"A draft of {len(draft.text)} characters belongs to no interview.", "The export holds its text.")
        for draft in store.drafts()
        if draft.stream not in known and not draft.stream.startswith(OTHER_STREAMS)
    ]
    return problems


def replayed(store: Store, interview_id: str) -> State | None:
    """The state of one interview folded from its log alone."""
    state: State | None = None
    log: list[tuple[ev.Payload, datetime]] = [
        (ev.parse(event.kind, event.payload), event.at) for event in store.events(f"{ev.STREAM_PREFIX}{interview_id}")
    ]
    for payload, at in log:
        after = apply(state, payload, at)
        state = after if after is not None else state
    return state
