"""Runs of the lab, off the event loop: progress a few times a second, and an end when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.message import Message
from textual.worker import Worker, WorkerState

from sim import ScenarioError
from tutor.errors import TutorError
from tutor.tui.screens.base import TutorScreen

if TYPE_CHECKING:
    from sim import Scenario

TELL_EVERY_S = 0.1
PLOTTING = "running both sides"
Job = Callable[[Callable[[int, int, str], None], Callable[[], bool]], Any]
"""What is run: it is given where to tell how far it is, and whom to ask whether to end."""


class RunningScreen(TutorScreen):
    """A screen with at most one job at a time; `done` says what came of it."""

    @dataclass
    class Moved(Message):
        """The job came one step further."""

        done: int
        total: int
        what: str

        def can_replace(self, message: Message) -> bool:
            """Only the newest one matters."""
            return isinstance(message, RunningScreen.Moved)

    @dataclass
    class Ended(Message):
        """The job is over: a result, or a sentence about why there is none."""

        name: str
        result: Any
        sentence: str

    def __init__(self) -> None:
        super().__init__()
        self.job = ""
        """The name of what runs; empty when nothing does."""
        self.begun_s = 0.0
        self.halt = Event()
        self.plotted: tuple[str, str, str, dict[str, Scenario | None]] = ("", "", "", {})
        """What is being run to be seen: title, both texts, both sides."""

    def start_job(self, name: str, job: Job) -> None:
        """Begin, unless something runs already."""
        if self.job:
            return
        self.job, self.begun_s, self.halt = name, monotonic(), Event()
        self.job_moved(self.Moved(0, 0, ""))
        self._work(name, job, self.halt)
        self.refresh_bindings()

    def stop_job(self) -> bool:
        """Ask what runs to end; False when nothing does."""
        if not self.job:
            return False
        self.halt.set()
        return True

    @work(thread=True, group="lab", exit_on_error=False)
    def _work(self, name: str, job: Job, halt: Event) -> None:
        told_s = 0.0

        def tell(done: int, total: int, what: str) -> None:
            nonlocal told_s
            now = monotonic()
            if now - told_s >= TELL_EVERY_S:
                told_s = now
                self.post_message(self.Moved(done, total, what))

        result, sentence = None, ""
        try:
            result = job(tell, halt.is_set)
        except (ScenarioError, TutorError, ValueError) as error:
            sentence = str(error)
        except MemoryError:
            sentence = "The run needs more memory than there is; give fewer requests."
        self.post_message(self.Ended(name, result, sentence))

    @on(Worker.StateChanged)
    def worker_changed(self, event: Worker.StateChanged) -> None:
        """A fault is a line, never a wait without end."""
        if event.worker.group == "lab" and event.state is WorkerState.ERROR:
            sentence = f"The run broke off ({type(event.worker.error).__name__}); nothing of yours is lost."
            self.job_ended(self.Ended(self.job, None, sentence))

    @on(Moved)
    def job_moved(self, message: Moved) -> None:
        """Say how far it is."""
        if self.job:
            self.show_progress(progress_words(self.job, message, monotonic() - self.begun_s, self.halt.is_set()))

    @on(Ended)
    def job_ended(self, message: Ended) -> None:
        """Hand over what came of it."""
        self.job = ""
        self.show_progress("")
        self.job_done(message)
        self.refresh_bindings()

    def plot_sides(self, title: str, text: str, baseline: str, folder: Path | None) -> None:
        """Run both texts once and see them; `baseline` is empty where there is one side. `open_plots` is the end."""
        from tutor.lab.runs import run_pair
        from tutor.lab.scenario_text import check

        yours, before = check(text, folder).scenario, check(baseline, folder).scenario if baseline else None
        if yours is not None:
            self.plotted = (title, text, baseline, {"baseline": before, "yours": yours})
            self.start_job(PLOTTING, lambda tell, stop: run_pair(yours, before, tell, stop))

    def open_plots(self, message: Ended) -> bool:
        """Show what `plot_sides` gave; False when the job was another one, or gave nothing."""
        if message.name != PLOTTING or message.result is None:
            return False
        from tutor.tui.screens.lab_plots import PlotsScreen

        title, text, baseline, sides = self.plotted
        self.app.push_screen(PlotsScreen(title, message.result, sides, text=text, baseline=baseline))
        return True

    def show_progress(self, text: str) -> None:
        """Where the screen says how far it is; empty when nothing runs."""

    def job_done(self, message: Ended) -> None:
        """What came of it."""

    def on_unmount(self) -> None:
        """A run whose screen is gone ends."""
        self.halt.set()


def ready_for_processes() -> None:
    """Start the helper of `multiprocessing`, before a job starts processes of its own.

    The helper is handed the descriptor of stderr; while the screens are shown that is Textual's stand-in, whose
    descriptor is -1, and the start would fail. Without any stderr it does not, and nothing it says lands on the screen.
    """
    from contextlib import redirect_stderr
    from multiprocessing import resource_tracker

    with redirect_stderr(None):
        resource_tracker.ensure_running()


def progress_words(job: str, moved: RunningScreen.Moved, seconds: float, stopping: bool) -> str:
    """Running yours: 1,200 of 2,000 (60 %), 3 s, about 2 s left; Esc stops"""
    if stopping:
        return f"Stopping {job}…"
    parts = [f"{job[:1].upper()}{job[1:]}{f' ({moved.what})' if moved.what else ''}"]
    if moved.total:
        share = moved.done / moved.total
        parts.append(f"{moved.done:,} of {moved.total:,} ({share:.0%})")
        if seconds > 2 and 0.05 < share < 1:
            parts.append(f"about {seconds / share - seconds:.0f} s left")
    parts.append(f"{seconds:.0f} s")
    return " · ".join([*parts, "Esc stops it"])
