"""Grading as both faces use it: the settings' model, its remembered abilities, the item's anchors on disk."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from question_bank import Bank, build_question
from tutor.errors import TutorError

if TYPE_CHECKING:
    from question_bank import Question
    from rubrics import CriterionId
    from tutor.grading.grade import Progress
    from tutor.grading.judge import AnchorCache
    from tutor.grading.models import CriterionGrade, Grade
    from tutor.llm.choose import OpenModel
    from tutor.llm.encoder import Encoder
    from tutor.llm.types import Capabilities
    from tutor.settings import Settings

ANCHOR_SEED = 0
"""The numbers at which an item's example answers are scored; scored once per model and item, whatever is asked."""


class Grader:
    """Grades answers with one open model, or with code alone; keeps what it learned about the model."""

    def __init__(self, settings: Settings, bank: Bank, model: OpenModel | None) -> None:
        self._settings, self._bank, self.model = settings, bank, model
        self._capabilities: Capabilities | None = None
        self._anchors: AnchorCache | None = None
        self._encoder: Encoder | None = None
        self._encoder_sought = False

    async def capabilities(self) -> Capabilities | None:
        """What the model can do, asked of it once; None without a model.

        Raises:
            LlmError: the model cannot be asked.
        """
        if self.model is not None and self._capabilities is None:
            from tutor.llm.capabilities import probe_capabilities

            self._capabilities = await probe_capabilities(
                self.model.endpoint,
                data_dir=self._settings.data_dir,
                known=self.model.capabilities,
                deadlines=self._settings.model.deadlines,
            )
        return self._capabilities

    def encoder(self) -> Encoder | None:
        """The sentence encoder where its file is here, read once."""
        if not self._encoder_sought:
            from tutor.llm.encoder import find_encoder

            with suppress(TutorError):
                self._encoder = find_encoder(self._settings.model_dir)
            self._encoder_sought = True
        return self._encoder

    async def warm(self, question: Question) -> None:
        """Compute what all calls about this question share while the candidate still writes; never raises for it."""
        from tutor.grading.judge import warm
        from tutor.llm.errors import LlmError

        if self.model is not None and question.criteria:
            with suppress(LlmError):
                await warm(self.model.endpoint, question, self._settings.model.deadlines)

    async def judge_again(self, question: Question, answer: str, criterion: CriterionId, line: str) -> CriterionGrade:
        """One criterion once more, with what the candidate says for it; a line like this is data, as the answer is.

        Raises:
            TutorError: answer and line are too long together.
        """
        grade = await self.grade(question, f"{answer}\n\n{line}" if line.strip() else answer)
        return grade.criterion(criterion)

    async def grade(self, question: Question, answer: str, on_progress: Progress | None = None) -> Grade:
        """One answer's grade; trouble with the model becomes "not graded" with its reason.

        Raises:
            TutorError: the answer is too long, or the question is answered by choosing an option.
        """
        from tutor.grading.combine import combiner_for
        from tutor.grading.grade import grade_answer
        from tutor.grading.judge import AnchorCache
        from tutor.llm.errors import LlmError
        from tutor.llm.types import Capabilities

        if not question.criteria:
            raise TutorError(
                f"{question.item_id} is a {question.kind}, answered by choosing an option.",
                hint=f"Ask it with 'tutor ask {question.item_id}'.",
            )
        endpoint, capabilities = None, None
        if self.model is not None:
            try:
                endpoint = self.model.endpoint
                capabilities = await self.capabilities()
            except LlmError:
                # The calls that follow say for each criterion why it is not graded.
                endpoint, capabilities = self.model.info.endpoint, Capabilities()
        if self._anchors is None:
            self._anchors = AnchorCache(self._settings.data_dir / "anchors.json")
        item = self._bank.item(question.item_id)
        encoder = self.encoder()
        name = endpoint.model if endpoint is not None else None
        return await grade_answer(
            question,
            answer,
            endpoint=endpoint,
            capabilities=capabilities,
            on_progress=on_progress,
            anchors=self._anchors,
            anchor_question=build_question(item, ANCHOR_SEED),
            deadlines=self._settings.model.deadlines,
            trusted=self.model is None or self.model.info.grades,
            model_source=self.model.info.source if self.model is not None else "",
            combiner=combiner_for(name, encoder is not None, self._settings.calibration_dir),
            encoder=encoder,
        )
