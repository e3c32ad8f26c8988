"""The report of a finished interview, saved from its last screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message

from tutor.errors import TutorError
from tutor.tui.screens.interview_base import InterviewBase

if TYPE_CHECKING:
    from pathlib import Path


class ReportPart(InterviewBase):
    """s, once the interview is over."""

    @dataclass
    class Reported(Message):
        """How saving ended."""

        path: Path | None
        sentence: str = ""

    saving_report = False

    def action_save_report(self) -> None:
        """s."""
        if self.session.question is not None or self.saving_report:
            return
        self.saving_report = True
        self.say("Writing the report.", tone="note")
        self.write_report()

    @work(thread=True, group="report", exit_on_error=False)
    def write_report(self) -> None:
        """Derive and write it off the event loop, in a connection of its own."""
        from tutor.drills import Drills
        from tutor.reports import report_of
        from tutor.reports.save import file_name, free_path, rendered, write
        from tutor.store import open_store

        bank, settings, now = self.tutor.bank, self.tutor.settings, self.tutor.clock()
        assert bank is not None
        try:
            with open_store(settings.store_file) as store, Drills.open(store, bank) as drills:
                drills.sync(now)
                report = report_of(store, self.session.interview_id, now, bank=bank, drills=drills)
            name = file_name(report.title, report.started_at.date(), "html")
            path = free_path(settings.data_dir / "reports" / name)
            write(rendered(report, "html"), path)
        except TutorError as error:
            self.post_message(self.Reported(None, str(error)))
            return
        self.post_message(self.Reported(path))

    @on(Reported)
    def reported(self, message: Reported) -> None:
        """Where it is, or why it is not."""
        self.saving_report = False
        if message.path is None:
            self.say(f"The report was not saved. {message.sentence}")
        else:
            self.say(
                f"Saved as {message.path}: each answer with its verdicts, as a page to read or print.", tone="note"
            )
