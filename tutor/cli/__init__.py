"""The command line: the same domain as the screens, for scripts.

This module is imported by every start of the program, so it knows the commands by name only; a command's own
module, and whatever that needs, is imported when the command runs (`tutor --help` costs little more than click).
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

import click

from tutor.errors import TutorError

# name -> (module under tutor.cli, one line for --help)
COMMANDS: Final = {
    "ask": ("ask", "Ask one question here in the terminal, line by line, and grade the answer."),
    "grade": ("grade", "Grade an answer from a file or standard input."),
    "eval": ("eval", "Measure a grader on labelled answers, and fit its coefficients."),
    "drill": ("drill", "Show what is due, and drill it; what was missed comes back."),
    "sim": ("sim", "Run the simulator on a scenario file."),
    "predict": ("predict", "Predict what a change does, lock it, run it, compare; or list all predictions."),
    "claim": ("claim", "Put a claim about a change to the test, and try to overturn it."),
    "measure": ("measure", "Put a scenario's load on a real server, and compare with a forecast."),
    "bank": ("bank", "Check, list and show the questions."),
    "serve": ("serve", "Open the program in a browser, on this machine or for a class."),
    "model": ("model", "Show which models were found, and fetch the built-in one."),
    "report": ("report", "Report on an interview as Markdown, HTML or JSON."),
    "doctor": ("doctor", "Check the settings, the store, the bank and the model."),
    "export": ("data", "Write everything that is stored as JSON lines."),
    "import": ("data", "Read an export back; doing it twice changes nothing."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module_name, _ = COMMANDS[cmd_name]
        module = import_module(f"tutor.cli.{module_name}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else " 'tutor --help' lists the commands."
            raise click.UsageError(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tutor", prog_name="tutor")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Another settings file.")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Where answers are kept.")
@click.option(
    "--bank",
    "bank_dirs",
    type=click.Path(path_type=Path, file_okay=False),
    multiple=True,
    help="A folder with packs of your own, beside ours; may be given several times.",
)
@click.option("--model-url", help="An OpenAI-compatible server, for example http://127.0.0.1:8000/v1.")
@click.option("--model-name", help="Which model of that server.")
@click.option("--no-model", is_flag=True, help="Use no model: code grades the result, evidence the rest.")
@click.pass_context
def cli(
    ctx: click.Context,
    config: Path | None,
    data_dir: Path | None,
    bank_dirs: tuple[Path, ...],
    model_url: str | None,
    model_name: str | None,
    no_model: bool,
) -> None:
    """Practise interviews on LLM inference serving.

    Without a command the program opens on the terminal. The commands below do the same things for scripts;
    exit codes are 0 (done), 1 (a negative result), 2 (bad input) and 3 (a model or another resource is missing).
    """
    flags: dict[str, object] = {}
    if config is not None:
        flags["config"] = config
    if data_dir is not None:
        flags["data_dir"] = data_dir
    if bank_dirs:
        flags["bank_dirs"] = bank_dirs
    if model_url is not None:
        flags["model.base_url"] = model_url
    if model_name is not None:
        flags["model.name"] = model_name
    if no_model:
        flags.update({"model.base_url": None, "model.discover": False, "model.use_embedded": False})
    ctx.obj = flags
    if ctx.invoked_subcommand is None:
        open_screens(flags)


def open_screens(flags: dict[str, object]) -> NoReturn:
    """Start the terminal program, or say in one sentence why it cannot be shown here."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise TutorError(
            "The screens need a terminal, and this is a pipe or a file.",
            hint="Use 'tutor ask' or 'tutor grade' here; 'tutor --help' lists the commands.",
        )
    from tutor.settings import load_settings
    from tutor.tui.app import run

    sys.exit(run(load_settings(flags)))


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command line; every foreseeable failure is one sentence on stderr and an exit code."""
    from tutor.cli.guard import guarded_output

    with guarded_output():
        _run(args)


def _run(args: list[str] | None) -> NoReturn:
    try:
        result = cli.main(args=args, prog_name="tutor", standalone_mode=False)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except TutorError as error:
        click.echo(f"tutor: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except ValueError as error:
        # sim and question_bank know nothing of TutorError: their errors are ValueErrors whose text is the sentence.
        if type(error).__name__ not in {"ScenarioError", "BankError", "FormulaError"}:
            raise
        click.echo(f"tutor: {error}", err=True)
        sys.exit(2)
    sys.exit(result if isinstance(result, int) else 0)
