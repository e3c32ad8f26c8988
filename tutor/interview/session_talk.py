"""What is said beside the answers: questions of the candidate, comments on a grade, a second look at a criterion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from rubrics.schema import CriterionId
from tutor.interview import events as ev
from tutor.interview.session_view import SessionError, SessionView
from tutor.interview.state import apply
from tutor.text import sanitize

if TYPE_CHECKING:
    from tutor.grading.models import CriterionGrade

MAX_TALK_CHARS: Final = 2_000


class TalkingPart(SessionView):
    """The commands of `Session` that change neither answer nor grade."""

    @abstractmethod
    def _change(self) -> AbstractContextManager[None]:
        """One transaction on the newest state."""

    @abstractmethod
    def _emit(self, payload: ev.Payload) -> None:
        """Store an event and apply it."""

    def ask(self, text: str, position: int | None = None) -> str:
        """Keep what the candidate asks, and return it as it was kept; `record_reply` follows.

        Raises:
            SessionError: it is empty or too long, an answer is being graded, or an interview has not ended.
        """
        text = " ".join(sanitize(text).split())
        if not text:
            raise SessionError("There is nothing to ask.", hint="Write your question first.")
        if len(text) > MAX_TALK_CHARS:
            raise SessionError(f"A question has at most {MAX_TALK_CHARS:,} characters.", hint="Shorten it.")
        with self._change():
            entry = self._entry(position)
            event = ev.TalkAsked(position=entry.position, text=text)
            if apply(self.state, event, self._clock()) is None:
                if not self.state.grades_visible:
                    raise SessionError(
                        "An interview answers no questions before its end.", hint="In study mode it does."
                    )
                raise SessionError("The answer is being graded.", hint="Ask when the grade is there.")
            self._emit(event)
        return text

    def record_reply(
        self, pieces: Sequence[ev.TalkPiece], model: str = "", *, broken_off: bool = False, position: int | None = None
    ) -> bool:
        """Keep what was replied to the last question. False, and nothing kept, when it has its reply already."""
        with self._change():
            entry = self._entry(position)
            event = ev.TalkReplied(position=entry.position, pieces=tuple(pieces), model=model, broken_off=broken_off)
            if apply(self.state, event, self._clock()) is None:
                return False
            self._emit(event)
            return True

    def record_comment(self, attempt_id: str, criterion: CriterionId, text: str, model: str) -> bool:
        """Keep what the model said about a criterion. False when it comes too late to be about this attempt."""
        return self._said(ev.CommentMade(attempt_id=attempt_id, criterion=criterion, text=sanitize(text), model=model))

    def record_second_verdict(self, attempt_id: str, grade: CriterionGrade) -> bool:
        """Keep the second verdict on a contested criterion; the candidate's own goes on counting.

        False, and nothing kept, when the contest was withdrawn meanwhile.
        """
        fields = grade.model_dump(mode="json")
        return self._said(ev.ContestJudged(attempt_id=attempt_id, criterion=grade.criterion, grade=fields))

    def _said(self, payload: ev.CommentMade | ev.ContestJudged) -> bool:
        with self._change():
            if apply(self.state, payload, self._clock()) is None:
                return False
            self._emit(payload)
            return True
