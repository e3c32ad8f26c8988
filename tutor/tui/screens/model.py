"""Which model grades and why, what else was found, and how to get a better one."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import HorizontalGroup, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, ProgressBar

from tutor.errors import TutorError
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, one_line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.words import number

if TYPE_CHECKING:
    from tutor.llm.files import Progress
    from tutor.llm.servers import Survey
    from tutor.llm.types import Capabilities

GB = 1e9
BETTER = """\
On a machine with a GPU:
  vllm serve Qwen/Qwen3-14B --max-model-len 8192
  TUTOR_MODEL__BASE_URL=http://that-machine:8000/v1 tutor
Ollama:     ollama pull qwen3:8b      found by itself on port 11434
LM Studio:  load a model and start its server      found on port 1234
llama.cpp:  llama-server -m model.gguf -c 8192     found on port 8080"""


class ModelScreen(TutorScreen):
    """Looks again when it is opened; fetching can be stopped and goes on where it stopped."""

    CSS_PATH = "model.tcss"
    PLACE = "Model"
    PURPOSE = (
        "Numbers are decided by code. A model reads the rest of an answer: one yes or no for each criterion, with a "
        "quote from your text. Servers that are already running are used first, then the model inside the program."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("fetch", "look-again")

    @dataclass
    class Surveyed(Message):
        """The usual ports were asked."""

        survey: Survey

    @dataclass
    class FetchMoved(Message):
        """More bytes have arrived."""

        progress: Progress

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, ModelScreen.FetchMoved)

    @dataclass
    class FetchEnded(Message):
        """The file is here, or why not."""

        sentence: str
        complete: bool

    def __init__(self) -> None:
        super().__init__()
        self.stop_fetch = Event()
        self.fetching = False
        self.fetch_started_s = 0.0
        self.first_bytes = -1

    def body(self) -> ComposeResult:
        with VerticalScroll(id="page", can_focus=True):
            yield Line(Content.styled("In use", "bold"))
            yield Line(id="in-use", classes="paragraph")
            yield Line(Content.styled("Found", "bold"))
            yield Line("Looking on the usual ports…", id="found", classes="paragraph")
            yield Line(Content.styled("Inside the program", "bold"))
            yield Line(id="inside")
            yield ProgressBar(id="bar", show_eta=False)
            yield Line(id="fetch-status")
            with HorizontalGroup(classes="paragraph"):
                yield Button("Get the model", id="fetch", classes="-next")
                yield Button("Stop", id="stop", classes="-next")
            yield Line(Content.styled("A better one", "bold"))
            yield Line(BETTER, classes="paragraph")

    def on_mount(self) -> None:
        self.query_one("#bar").display = False
        self.query_one("#stop").display = False
        self.query_one("#page").focus()
        self.show_in_use()
        self.show_inside()
        self.survey_servers()

    def model_changed(self) -> None:
        super().model_changed()
        self.show_in_use()

    def show_in_use(self) -> None:
        """The model that grades, what it can do, and why it is the one."""
        model = self.tutor.model
        line = self.query_one("#in-use", Line)
        if model.status == "ready" and model.opened is not None:
            info = model.opened.info
            small = (
                "" if info.grades else "\nToo small to grade: its verdicts do not count; you mark the answers yourself."
            )
            line.show(
                f"{info.endpoint.model}, {info.source}\n{info.endpoint.base_url} · "
                f"{capability_words(model.capabilities or info.capabilities)}\nWhy: {model.reason}{small}\n"
                f"{self.agreement_words(info.endpoint.model)}"
            )
        elif model.status == "none":
            line.show(
                f"None. {model.reason}\nCode checks numbers and gathers evidence in your sentences; what is too close "
                f"to call, you mark yourself.\n{self.agreement_words(None)}"
            )
        else:
            line.show(f"{model.label()[:1].upper()}{model.label()[1:]}", tone="note")

    def agreement_words(self, name: str | None) -> str:
        """How far these grades agreed with people's, as measured for this model; or that nobody has measured it."""
        from tutor.grading.combine import combiner_for
        from tutor.llm.encoder import has_encoder

        settings = self.tutor.settings
        kappa = combiner_for(name, has_encoder(settings.model_dir), settings.calibration_dir).kappa
        if not kappa:
            return "Not set beside labelled answers yet, so its word weighs little: 'tutor eval calibrate' does it."
        return "Agreement with people (κ): " + ", ".join(f"{c} {value:.2f}" for c, value in kappa.items())

    def show_inside(self) -> None:
        """Which file is here, or what fetching one takes."""
        from tutor.llm import embedded
        from tutor.llm.files import DEFAULT_ENTRY, installed

        files = installed(self.tutor.settings.model_dir)
        line = self.query_one("#inside", Line)
        lines = [
            f"{file.entry.title if file.entry else file.path.name}  {file.size_bytes / GB:.2f} GB"
            f"{'' if file.entry is None or file.entry.grades else '  (too small to grade)'}"
            for file in files
        ]
        has_default = any(file.entry is not None and file.entry.id == DEFAULT_ENTRY.id for file in files)
        if not has_default:
            lines.append(
                f"Not here yet: {DEFAULT_ENTRY.title}, a download of {DEFAULT_ENTRY.size_bytes / GB:.2f} GB, "
                f"needs {DEFAULT_ENTRY.memory_bytes / GB:.1f} GB of memory. g gets it; it can be stopped and goes on "
                "where it stopped. The same from a shell: tutor model get"
            )
        if not embedded.available():
            lines.append("llama.cpp is not installed with this program; the file alone would not help.")
        line.show("\n".join(lines))
        self.query_one("#fetch", Button).display = not has_default and not self.fetching

    # --- looking ----------------------------------------------------------------------------------------------

    @work(exclusive=True, group="survey", exit_on_error=False)
    async def survey_servers(self) -> None:
        """Ask the usual ports."""
        from tutor.llm.servers import survey

        self.post_message(self.Surveyed(await survey(self.tutor.settings.model)))

    @on(Surveyed)
    def surveyed(self, message: Surveyed) -> None:
        rows = [
            f"{one_line(info.endpoint.model, 40)}  {info.endpoint.name}, {info.endpoint.base_url}, "
            f"{capability_words(info.capabilities)}{'' if info.grades else ', too small to grade'}"
            for info in message.survey.models
        ]
        rows += message.survey.notes
        self.query_one("#found", Line).show(
            "\n".join(rows)
            if rows
            else "No server on ports 8000 (vLLM), 8080 (llama.cpp), 11434 (Ollama), 1234 (LM Studio)."
        )

    def action_look_again(self) -> None:
        """Choose anew, after a server was started or a file fetched."""
        self.query_one("#found", Line).show("Looking on the usual ports…")
        self.show_inside()
        self.survey_servers()
        self.tutor.look_for_model()

    # --- fetching ---------------------------------------------------------------------------------------------

    @on(Button.Pressed, "#fetch")
    def fetch_pressed(self) -> None:
        self.action_fetch()

    @on(Button.Pressed, "#stop")
    def stop_pressed(self) -> None:
        self.stop_fetch.set()
        self.query_one("#fetch-status", Line).show("Stopping…", tone="note")

    def action_fetch(self) -> None:
        """Get the default file."""
        if self.fetching:
            return
        self.fetching = True
        self.stop_fetch.clear()
        self.fetch_started_s, self.first_bytes = monotonic(), -1
        self.query_one("#bar").display = True
        self.query_one("#fetch").display = False
        self.query_one("#stop").display = True
        self.query_one("#stop").focus()
        self.query_one("#fetch-status", Line).show("Starting…", tone="note")
        self.fetch_file()

    @work(thread=True, exclusive=True, group="fetch", exit_on_error=False)
    def fetch_file(self) -> None:
        """Fetch off the event loop; stopping keeps what has arrived."""
        from tutor.llm.files import DEFAULT_ENTRY, Cancelled, fetch

        try:
            path = fetch(
                DEFAULT_ENTRY,
                self.tutor.settings.model_dir,
                lambda progress: self._report(progress),
                self.stop_fetch.is_set,
            )
        except Cancelled:
            self._end("Stopped; what has arrived is kept, and g goes on from there.", False)
        except TutorError as error:
            self._end(str(error), False)
        else:
            self._end(f"{path.name} is here and its SHA-256 is right. Starting it…", True)

    def _report(self, progress: Progress) -> None:
        if self.is_attached:
            self.post_message(self.FetchMoved(progress))

    def _end(self, sentence: str, complete: bool) -> None:
        if self.is_attached:
            self.post_message(self.FetchEnded(sentence, complete))

    @on(FetchMoved)
    def fetch_moved(self, message: FetchMoved) -> None:
        progress = message.progress
        self.query_one("#bar", ProgressBar).update(total=progress.bytes_total, progress=progress.bytes_done)
        if self.first_bytes < 0:
            self.first_bytes = progress.bytes_done
        elapsed = max(monotonic() - self.fetch_started_s, 0.1)
        rate = (progress.bytes_done - self.first_bytes) / elapsed
        left = (progress.bytes_total - progress.bytes_done) / rate if rate > 0 else 0
        remaining = (
            f", about {int(left) // 60} min {int(left) % 60} s left" if progress.stage == "fetching" and left else ""
        )
        verb = {"fetching": "Fetched", "checking": "Checked", "done": "Done:"}[progress.stage]
        self.query_one("#fetch-status", Line).show(
            f"{verb} {number(progress.bytes_done / 1e6)} of {number(progress.bytes_total / 1e6)} MB{remaining}",
            tone="note",
        )

    @on(FetchEnded)
    def fetch_ended(self, message: FetchEnded) -> None:
        self.fetching = False
        self.query_one("#bar").display = False
        self.query_one("#stop").display = False
        self.query_one("#fetch-status", Line).show(message.sentence, tone="" if message.complete else "problem")
        self.show_inside()
        if message.complete:
            self.tutor.look_for_model()

    def on_unmount(self) -> None:
        self.stop_fetch.set()


def capability_words(capabilities: Capabilities) -> str:
    """What a server can do, for a person."""
    window = f"{capabilities.context_tokens:,} tokens" if capabilities.context_tokens else "window not told"
    schema = "JSON schema" if capabilities.json_schema else "no JSON schema seen"
    logprobs = "log-probabilities" if capabilities.logprobs else "no log-probabilities seen"
    return f"{window}, {schema}, {logprobs}"
