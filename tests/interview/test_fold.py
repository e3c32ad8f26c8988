"""Whatever is done in whatever order, the log tells the same story as the live interview."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from question_bank.load import Bank
from question_bank.schema import Lesson
from rubrics.schema import CRITERION_IDS, CriterionId
from tutor.grading.models import CRITERIA, CriterionGrade, Grade, Provenance, Verdict
from tutor.interview import Session, SessionError, check_interviews, lesson_plan
from tutor.interview import events as ev
from tutor.interview.health import replayed
from tutor.interview.state import apply, fold
from tutor.store import export_lines, import_lines, open_store, state_hash

LESSON_FILE = Path(__file__).parent / "small_lesson.json"
BANK = Bank(packs=(), lessons=(Lesson.model_validate_json(LESSON_FILE.read_text(encoding="utf-8")),), paths={})
VERDICTS: st.SearchStrategy[Verdict] = st.sampled_from(["met", "not_met", "unsure", "not_graded"])
TEXTS = st.sampled_from(["", "260 ms", "idk", "ü ≈ 1,050 ms\n", "\x1b[2J\x00"])
START = datetime(2026, 3, 1, tzinfo=UTC)


def grade_of(verdicts: tuple[Verdict, ...]) -> Grade:
    return Grade(
        criteria=tuple(
            CriterionGrade(criterion=criterion, verdict=verdict, reason="r")
            for criterion, verdict in zip(CRITERIA, verdicts, strict=True)
        ),
        provenance=Provenance(item_id="i", item_version=1, seed=0, answer_hash="a"),
    )


class Interviews(RuleBasedStateMachine):
    """Two windows on one interview; any command may come at any time from either."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = open_store(Path(self.folder.name) / "tutor.db")
        self.store._db.conn.execute("PRAGMA synchronous = OFF")
        self.seconds = 0
        self.mode = "study"
        self.windows: list[Session] = []
        self.submitted: dict[str, str] = {}

    def clock(self) -> datetime:
        self.seconds += 1
        return START + timedelta(seconds=self.seconds)

    def do(self, window: int, command: Callable[[Session], object]) -> None:
        if not self.windows:
            plan = lesson_plan(BANK.lessons[0], 3)
            first = Session.start(self.store, BANK, plan, self.clock, interview_id="x")
            self.windows = [first, Session.resume(self.store, BANK, "x", self.clock)]
        session = self.windows[window]
        before = (len(self.store.events()), session.state)
        try:
            command(session)
        except SessionError:
            # A refused command leaves nothing, neither in the file nor in memory.
            assert len(self.store.events()) == before[0]
            assert session.state == before[1]

    @rule(
        window=st.integers(0, 1),
        steps=st.integers(1, 6),
        verdicts=st.tuples(VERDICTS, VERDICTS, VERDICTS, VERDICTS),
        text=TEXTS,
        turn=st.booleans(),
    )
    def usual_course(self, window: int, steps: int, verdicts: tuple[Verdict, ...], text: str, turn: bool) -> None:
        """What fits where the interview stands, so that the other rules meet every phase."""

        def step(session: Session) -> None:
            session.refresh()
            question, pending = session.question, session.pending_attempt
            match session.phase:
                case "confidence":
                    session.set_confidence(2)
                case "grading" if pending is not None:
                    session.record_grade(pending[0], grade_of(verdicts))
                case "follow_up":
                    session.save_draft(text)
                    session.answer_follow_up(text)
                case "graded" if turn and session.ask_follow_up() is None:
                    session.show_reference()
                case "graded" | "reference":
                    session.advance()
                case "answering" if question is not None and question.kind == "checkpoint":
                    session.choose_option("right")
                case "answering" if question is not None and question.kind == "prediction" and turn:
                    session.predict("y", 3.0)
                    session.record_simulation({"y": 4.0})
                case "answering" if question is not None and question.kind == "recall" and turn:
                    session.set_recall(text, 2)
                case "answering":
                    session.set_confidence(3)
                    session.save_draft(text)
                    attempt_id = session.submit(text)
                    self.submitted[attempt_id] = session.entry().answer or ""

        for _ in range(steps):
            self.do(window, step)

    @rule(window=st.integers(0, 1), level=st.integers(0, 4))
    def confidence(self, window: int, level: int) -> None:
        self.do(window, lambda session: session.set_confidence(level))

    @rule(window=st.integers(0, 1), text=TEXTS)
    def draft(self, window: int, text: str) -> None:
        self.do(window, lambda session: session.save_draft(text))

    @rule(window=st.integers(0, 1), text=TEXTS, times=st.integers(1, 3))
    def submit(self, window: int, text: str, times: int) -> None:
        def command(session: Session) -> None:
            ids = {session.submit(text) for _ in range(times)}
            assert len(ids) == 1
            pending = session.pending_attempt
            assert pending is not None
            assert pending[0] in ids
            self.submitted[pending[0]] = pending[1]

        self.do(window, command)

    @rule(window=st.integers(0, 1), verdicts=st.tuples(VERDICTS, VERDICTS, VERDICTS, VERDICTS), which=st.integers(0, 4))
    def grade(self, window: int, verdicts: tuple[Verdict, ...], which: int) -> None:
        ids = [*self.submitted, "unknown"]
        self.do(window, lambda session: session.record_grade(ids[which % len(ids)], grade_of(verdicts)))

    @rule(window=st.integers(0, 1), which=st.integers(0, 4))
    def stop(self, window: int, which: int) -> None:
        ids = [*self.submitted, "unknown"]
        self.do(window, lambda session: session.record_ungraded(ids[which % len(ids)], "stopped"))

    @rule(window=st.integers(0, 1), position=st.integers(-1, 5), criterion=st.sampled_from(CRITERION_IDS))
    def mark(self, window: int, position: int, criterion: CriterionId) -> None:
        self.do(window, lambda session: session.contest(criterion, "note", position))
        self.do(window, lambda session: session.self_mark(criterion, "met"))
        self.do(window, lambda session: session.withdraw_mark(criterion))

    @rule(window=st.integers(0, 1), text=TEXTS)
    def follow_up(self, window: int, text: str) -> None:
        self.do(window, lambda session: session.ask_follow_up())
        self.do(1 - window, lambda session: session.answer_follow_up(text))
        self.do(window, lambda session: session.skip_follow_up())

    @rule(window=st.integers(0, 1))
    def help(self, window: int) -> None:
        self.do(window, lambda session: session.take_hint())
        self.do(window, lambda session: session.show_reference())

    @rule(window=st.integers(0, 1), option=st.sampled_from(["right", "wrong", "other"]), level=st.integers(0, 4))
    def other_kinds(self, window: int, option: str, level: int) -> None:
        self.do(window, lambda session: session.choose_option(option))
        self.do(window, lambda session: session.set_recall("memory", level))

    @rule(window=st.integers(0, 1), value=st.floats())
    def simulate(self, window: int, value: float) -> None:
        self.do(window, lambda session: session.predict("y", value))
        self.do(window, lambda session: session.record_simulation({"y": 4.0}))

    @rule(window=st.integers(0, 1))
    def skip(self, window: int) -> None:
        self.do(window, lambda session: session.skip())

    @rule(window=st.integers(0, 1))
    def advance(self, window: int) -> None:
        self.do(window, lambda session: session.advance())

    @rule(window=st.integers(0, 1), sure=st.integers(0, 9))
    def finish(self, window: int, sure: int) -> None:
        if sure == 0:
            self.do(window, lambda session: session.finish())

    @rule(window=st.integers(0, 1))
    def regrade(self, window: int) -> None:
        self.do(window, lambda session: session.regrade())

    @invariant()
    def the_log_tells_the_same(self) -> None:
        if not self.windows:
            return
        state = replayed(self.store, "x")
        for session in self.windows:
            session.refresh()
            assert session.state == state
        texts = {attempt.id: attempt.text for entry in session.entries for attempt in entry.state.attempts}
        assert texts == self.submitted

    def teardown(self) -> None:
        """What opening the program anew would show."""
        try:
            if self.windows:
                again = Session.resume(self.store, BANK, "x", self.clock)
                for session in self.windows:
                    assert session.state == again.state
                    assert session.history == again.history
                    assert (session.phase, session.draft) == (again.phase, again.draft)
                assert check_interviews(self.store) == []
        finally:
            self.store.close()
            self.folder.cleanup()


Interviews.TestCase.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestInterviews = Interviews.TestCase


POSITIONS = st.integers(0, 3)
ATTEMPTS = st.sampled_from(["x.1.1", "x.1.2", "x.2.1", "y"])
CRITERION = st.sampled_from(CRITERION_IDS)
PLAN = lesson_plan(BANK.lessons[0], 0)
ANY_EVENT: st.SearchStrategy[ev.Payload] = st.one_of(
    st.just(ev.Started(plan=PLAN)),
    st.builds(
        lambda position, kind: ev.Presented(
            position=position, item_id=PLAN.entries[position].item_id, item_kind=kind, question={}
        ),
        POSITIONS,
        st.sampled_from(["exercise", "probe", "checkpoint", "recall", "prediction"]),
    ),
    st.builds(ev.ConfidenceSet, position=POSITIONS, level=st.sampled_from([1, 2, 3])),
    st.builds(ev.Submitted, position=POSITIONS, attempt_id=ATTEMPTS, number=st.integers(1, 3), text=TEXTS),
    st.builds(
        lambda attempt, verdict: ev.Graded(attempt_id=attempt, grade=grade_of((verdict,) * 4).model_dump(mode="json")),
        ATTEMPTS,
        VERDICTS,
    ),
    st.builds(ev.GradingStopped, attempt_id=ATTEMPTS, reason=TEXTS),
    st.builds(ev.GradingRestarted, attempt_id=ATTEMPTS),
    st.builds(
        ev.Contested, position=POSITIONS, criterion=CRITERION, verdict=st.sampled_from(["met", "not_met"]), note=TEXTS
    ),
    st.builds(ev.SelfMarked, position=POSITIONS, criterion=CRITERION, verdict=st.sampled_from(["met", "not_met"])),
    st.builds(ev.MarkWithdrawn, position=POSITIONS, criterion=CRITERION),
    st.builds(
        ev.FollowUpAsked,
        position=POSITIONS,
        follow_up_id=st.sampled_from("abcde"),
        criterion=st.none() | CRITERION,
        text=TEXTS,
    ),
    st.builds(ev.FollowUpAnswered, position=POSITIONS, follow_up_id=st.sampled_from("abcde"), text=TEXTS),
    st.builds(ev.FollowUpSkipped, position=POSITIONS, follow_up_id=st.sampled_from("abcde")),
    st.builds(ev.HintTaken, position=POSITIONS, number=st.integers(1, 3), text=TEXTS),
    st.builds(ev.ReferenceShown, position=POSITIONS),
    st.builds(ev.OptionChosen, position=POSITIONS, option_id=st.sampled_from("ab"), correct=st.booleans()),
    st.builds(ev.RecallGiven, position=POSITIONS, text=TEXTS, level=st.sampled_from([1, 2, 3])),
    st.builds(ev.PredictionLocked, position=POSITIONS, name=st.sampled_from("xy"), value=st.floats(-1e9, 1e9)),
    st.builds(ev.SimulationRecorded, position=POSITIONS, summary=st.just({"y": 4.0})),
    st.builds(ev.Skipped, position=POSITIONS),
    st.builds(ev.Finished, reason=st.sampled_from(["completed", "stopped"])),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(ANY_EVENT, max_size=40))
def test_every_log_folds_and_only_what_applied_matters(payloads: list[ev.Payload]) -> None:
    log = [(payload, START + timedelta(seconds=n)) for n, payload in enumerate([ev.Started(plan=PLAN), *payloads])]
    state, applied = None, []
    for payload, at in log:
        # The form in which it is stored changes nothing.
        stored = ev.parse(payload.kind, payload.model_dump(mode="json"))
        after = apply(state, payload, at)
        assert apply(state, stored, at) == after
        if after is not None:
            applied.append((payload, at))
            state = after
    assert state is not None
    assert fold(log) == state
    assert fold(applied) == state
    for entry in state.entries:
        assert [attempt.number for attempt in entry.attempts] == list(range(1, len(entry.attempts) + 1))
        assert not entry.attempts or entry.confidence is not None
        assert len(entry.follow_ups) <= 3
        assert sum(follow_up.open for follow_up in entry.follow_ups) <= 1
        assert entry.kind != "prediction" or entry.simulation is None or entry.predictions


def test_unknown_and_damaged_events_are_named() -> None:
    with pytest.raises(ev.EventError, match=r"unknown kind dream\.had.*update the program"):
        ev.parse("dream.had", {})
    with pytest.raises(ev.EventError, match=r"confidence\.set is damaged: level"):
        ev.parse("confidence.set", {"position": 0, "level": 7})


def test_an_interview_survives_export_and_import(tmp_path: Path) -> None:
    seconds = iter(range(1000))

    def clock() -> datetime:
        return START + timedelta(seconds=next(seconds))

    with open_store(tmp_path / "a" / "tutor.db") as here, open_store(tmp_path / "b" / "tutor.db") as there:
        session = Session.start(here, BANK, PLAN, clock)
        session.set_confidence(2)
        attempt = session.submit("260 ms")
        session.record_grade(attempt, grade_of(("met", "unsure", "not_met", "not_graded")))
        session.ask_follow_up()
        session.save_draft("half")
        for _ in range(2):
            import_lines(there, export_lines(here), source="export")
            assert state_hash(there) == state_hash(here)
        again = Session.resume(there, BANK, session.interview_id, clock)
        assert again.state == session.state
        assert again.draft == "half"
