"""`tutor eval`: how well a grader agrees with labelled answers, and the fit of its few coefficients."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tutor.cli.common import load_bank_for, run_async, settings_for
from tutor.errors import TutorError

if TYPE_CHECKING:
    from tutor.evaluation.cases import CaseSet
    from tutor.evaluation.runner import Outcome, Progress
    from tutor.grading.combine import Combiner
    from tutor.llm.encoder import Encoder
    from tutor.settings import Settings

_HELP = {"help_option_names": ["-h", "--help"]}
_FILE = click.Path(path_type=Path, dir_okay=False)
_FILE_OR_FOLDER = click.Path(path_type=Path)


class _EvalGroup(click.Group):
    """`tutor eval FILE` runs; `tutor eval calibrate` and `tutor eval agree` are commands of their own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        run = self.commands["run"]
        run.format_options(click.Context(run, info_name="eval", parent=ctx.parent), formatter)
        self.format_commands(ctx, formatter)


@click.group(name="eval", cls=_EvalGroup, context_settings=_HELP, subcommand_metavar="[FILE] [OPTIONS]")
def eval_command() -> None:
    """Measure a grader on labelled answers.

    FILE holds answers in our own format (a file or folder; those that come with the program when absent), or is the
    Khan or the SAF set. --questions with --answers takes any questions, without a bank.

    Exit codes: 0 done, 2 bad input, 3 the model that was asked for is missing or fails.
    """


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of whatever grades labelled answers."""
    for option in reversed(
        (
            click.argument("file", required=False, type=_FILE_OR_FOLDER),
            click.option("--questions", type=_FILE, help="Questions without a bank, one JSON object a line."),
            click.option("--answers", type=_FILE, help="The answers to --questions, one JSON object a line."),
            click.option(
                "--grader",
                type=click.Choice(["auto", "none", "embedded", "server"]),
                help="none: code and evidence alone; embedded: the model inside the program. Default: auto.",
            ),
            click.option("--model", help="A model's name on a server, a catalogue id, a GGUF file, or none."),
            click.option("--items", multiple=True, metavar="TEXT", help="Only items whose id holds TEXT; repeatable."),
            click.option("--limit", type=click.IntRange(1), help="At most so many answers, spread over the items."),
            click.option("--encoder/--no-encoder", default=None,
                         help="With or without the sentence encoder; with it where its file is, when not said."),
            click.option("--coefficients", type=_FILE, help="Coefficients of one's own, as 'calibrate' writes them."),
            click.option("--parallel", type=click.IntRange(1, 64), default=1, show_default=True,
                         help="Answers graded at once, for servers with several slots."),
            click.option("--state", type=_FILE, help="File of what is graded (one in the data folder when absent)."),
            click.option("--fresh", is_flag=True, help="Grade anew what was graded before."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@eval_command.command("run", hidden=True, context_settings=_HELP)
@_common
@click.option("--split", type=click.Choice(["calibration", "test", "all"]), default="all", show_default=True,
              help="Which part of our own answers.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1, 20), default=1, show_default=True, help="Runs, to count flips.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the dated report.")
@click.option("--json", "as_json", is_flag=True, help="The whole report as JSON on standard output.")
@click.pass_obj
def run(flags: dict[str, object], /, split: str, runs: int, out: Path | None, as_json: bool, **asked: Any) -> None:
    """Grade labelled answers and say how far the grades agree with the labels."""
    from tutor.evaluation.report import check_folder, make_report, write_report
    from tutor.evaluation.terminal import lines

    if out is not None:
        check_folder(out)
    cases, outcome, why = _graded(flags, split=split, runs=runs, **asked)
    notes = [why] if why else []
    if asked["parallel"] > 1 and outcome.grader.model is not None:
        notes.append(f"{asked['parallel']} answers were graded at once: their seconds hold the wait for each other.")
    report = make_report(cases, outcome, datetime.now().astimezone(), notes)
    if as_json:
        click.echo(report.model_dump_json(indent=1))
    else:
        for line in lines(report):
            click.echo(line)
    if out is not None:
        for path in write_report(report, out):
            click.echo(f"wrote {path}", err=as_json)


def _graded(
    flags: dict[str, object],
    *,
    file: Path | None,
    questions: Path | None,
    answers: Path | None,
    grader: str | None,
    model: str | None,
    items: tuple[str, ...],
    limit: int | None,
    parallel: int,
    encoder: bool | None,
    coefficients: Path | None,
    state: Path | None,
    fresh: bool,
    split: str,
    runs: int,
) -> tuple[CaseSet, Outcome, str]:
    """Reads, grades with progress on standard error, and says why there was no model where one was looked for."""
    from tutor.evaluation.measures import Asked
    from tutor.evaluation.runner import evaluate, identity
    from tutor.evaluation.sources import load_cases, narrowed
    from tutor.evaluation.state import StateFile, state_path
    from tutor.grading.combine import combiner_for

    wanted = _wanted(grader, model)
    settings = settings_for(flags)
    cases = narrowed(
        load_cases(file, load_bank_for(flags), questions=questions, answers=answers),
        split=split,
        items=items,
        limit=limit,
    )

    async def work() -> tuple[Outcome, str]:
        async with _model(settings, wanted) as (opened, reason):
            asked = None
            if opened is not None:
                from tutor.llm.capabilities import probe_capabilities

                able = await probe_capabilities(opened.endpoint, data_dir=settings.data_dir, known=opened.capabilities)
                asked = Asked(opened.endpoint, able, settings.model.deadlines)
            vectors = _encoder(settings, encoder)
            name = opened.info.endpoint.model if opened is not None else None
            chosen = _coefficients(coefficients) or combiner_for(name, vectors is not None, settings.calibration_dir)
            who = identity(opened, vectors is not None, chosen)
            kept = StateFile(state or state_path(settings.data_dir, who), fresh)
            try:
                outcome = await evaluate(
                    cases.cases, who, asked, kept, runs=runs, parallel=parallel, tell=_Ticker().tell,
                    encoder=vectors, combiner=chosen,
                )  # fmt: skip
            finally:
                kept.close()
            return outcome, f"No model: {reason}" if opened is None and wanted != "none" else ""

    outcome, why = run_async(work())
    return cases, outcome, why


def _encoder(settings: Settings, wanted: bool | None) -> Encoder | None:
    """The sentence encoder, unless it is not wanted.

    Raises:
        TutorError: it is asked for and not there.
    """
    from tutor.llm.encoder import find_encoder

    found = find_encoder(settings.model_dir) if wanted is not False else None
    if wanted and found is None:
        raise TutorError("The sentence encoder is not here.", hint="'tutor model get encoder' fetches it.", exit_code=3)
    return found


def _coefficients(path: Path | None) -> Combiner | None:
    import yaml
    from pydantic import ValidationError

    from tutor.grading.combine import load_combiner

    if path is None:
        return None
    try:
        return load_combiner(path)
    except (OSError, ValidationError, ValueError, yaml.YAMLError) as error:
        raise TutorError(
            f"{path}: holds no coefficients ({str(error).splitlines()[0]}).",
            hint="'tutor eval calibrate --output FILE' writes such a file.",
        ) from error


def _wanted(grader: str | None, model: str | None) -> str:
    """What `--grader` and `--model` ask for together.

    Raises:
        TutorError: they contradict each other.
    """
    from tutor.llm.catalogue import CATALOGUE

    is_file = model is not None and (model in CATALOGUE or model.lower().endswith(".gguf"))
    if grader in ("none", "embedded") and model not in (None, grader) and not (grader == "embedded" and is_file):
        raise TutorError(f"--grader {grader} and --model {model} contradict each other.", hint="Leave one out.")
    if grader == "server" and model in (None, "none", "embedded"):
        raise TutorError("--grader server needs the model's name.", hint="Add --model NAME; 'tutor model' lists them.")
    return model or grader or "auto"


@asynccontextmanager
async def _model(settings: Settings, wanted: str) -> AsyncIterator[Any]:
    from tutor.evaluation.pick import open_named

    opened, reason = await open_named(settings, wanted, _say if sys.stderr.isatty() else None)
    try:
        yield opened, reason
    finally:
        if opened is not None:
            await opened.close()


def _say(status: str) -> None:
    click.echo(status, err=True)


class _Ticker:
    """Progress on standard error: one line that is written over on a terminal, else one every half minute."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._last = time.monotonic()

    def tell(self, progress: Progress) -> None:
        """Shows where it stands, not too often."""
        now, finished = time.monotonic(), progress.done == progress.total
        if now - self._last < (0.2 if self._live else 30) and not (finished and self._live):
            return
        self._last = now
        left = progress.left_s
        rest = "" if left is None or finished else f", {_duration(left)} left"
        kept = f" ({progress.kept} from before)" if progress.kept else ""
        text = f"{progress.done} of {progress.total} answers{kept}{rest}"
        click.echo(f"\r{text:<78}" if self._live else text, err=True, nl=not self._live or finished)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@eval_command.command("calibrate", context_settings=_HELP)
@_common
@click.option("--output", type=_FILE,
              help="Where the coefficients are written, as YAML; when absent, where the program finds them for this "
                   "model.")  # fmt: skip
@click.option("--folds", type=click.IntRange(2), default=10, show_default=True, help="Groups of items held out.")
@click.option("--penalty", type=click.FloatRange(0, 10), default=0.008, show_default=True,
              help="How strongly coefficients are drawn to zero.")  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="What was fitted as JSON on standard output.")
@click.pass_obj
def calibrate_(
    flags: dict[str, object],
    /,
    output: Path | None,
    folds: int,
    penalty: float,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Fit the few coefficients that turn evidence and a model's word into P(met).

    Only answers for calibration are used where the source has a test part. Each item is held out once, to say what
    the coefficients are worth on items that they have not seen.
    """
    from tutor.evaluation.calibrate import calibrate, check_target, write_coefficients
    from tutor.evaluation.terminal import calibration_lines

    if output is not None:
        check_target(output, force)
    cases, outcome, _ = _graded(flags, split="calibration", runs=1, **asked)
    found = calibrate(cases, outcome, datetime.now().astimezone(), fold_count=folds, penalty=penalty)
    if output is None:
        from tutor.grading.combine import calibration_name

        name = calibration_name(outcome.grader.model, outcome.grader.encoder)
        output, force = settings_for(flags).calibration_dir / f"{name}.yaml", True
    write_coefficients(found.combiner, output, force=force)
    if as_json:
        from pydantic_core import to_json

        click.echo(to_json(found, indent=1).decode())
    else:
        for line in calibration_lines(found):
            click.echo(line)
    click.echo(f"wrote {output}", err=as_json)


@eval_command.command("agree", context_settings=_HELP)
@click.argument("first", type=_FILE_OR_FOLDER)
@click.argument("second", type=_FILE_OR_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="As JSON, with every difference and its reasons.")
def agree(first: Path, second: Path, as_json: bool) -> None:
    """How far two people's labels of the same answers agree."""
    from tutor.evaluation.label_files import compare_labels
    from tutor.evaluation.terminal import label_lines

    found = compare_labels(first, second)
    if as_json:
        click.echo(found.model_dump_json(indent=1))
        return
    for line in label_lines(found):
        click.echo(line)
