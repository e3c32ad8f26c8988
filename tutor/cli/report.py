"""`tutor report`: what an interview showed, and progress over weeks, as Markdown, HTML or JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tutor.cli.drill_kit import as_day, now, open_drills, show_json
from tutor.errors import TutorError
from tutor.text import sanitize

if TYPE_CHECKING:
    from tutor.drills import Drills
    from tutor.reports.save import Format

_HELP = {"help_option_names": ["-h", "--help"]}


@click.command(name="report", context_settings=_HELP)
@click.argument("interview", required=False)
@click.option("--format", "form", type=click.Choice(["md", "html", "json"]), help="md unless --output says otherwise.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file; its ending counts."
)
@click.option("--list", "listing", is_flag=True, help="List the interviews, the newest first.")
@click.option("--drills", "with_drills", is_flag=True, help="With --list: also drills that were answered in full.")
@click.option("--progress", is_flag=True, help="Report on all weeks instead of one interview.")
@click.option("--day", metavar="DAY", help="With --progress: readiness for an interview on this day; else the plan's.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the JSON form.")
@click.pass_obj
def report_command(
    flags: dict[str, object],
    interview: str | None,
    form: Format | None,
    output: Path | None,
    listing: bool,
    with_drills: bool,
    progress: bool,
    day: str | None,
    schema: bool,
) -> None:
    """Report on INTERVIEW (an id from --list, or its beginning); without one, on the last."""
    from tutor.reports import Report, last_held, report_of
    from tutor.reports.save import format_of, rendered

    if day is not None and not progress:
        raise TutorError("--day belongs to --progress.", hint="Add --progress, or leave --day out.")
    if interview is not None and progress:
        raise TutorError("A report is on one interview or on progress.", hint="Leave the id or --progress out.")
    if schema:
        from tutor.reports.progress import schema as progress_schema

        show_json(progress_schema() if progress else Report.model_json_schema())
        return
    chosen = form or (format_of(output) if output is not None else "md")
    with open_drills(flags) as drills:
        if listing:
            _list(drills, with_drills, as_json=chosen == "json")
            return
        if progress:
            text = _progress(drills, day, chosen)
            _put(text, output)
            return
        which = _resolved(drills, interview) if interview is not None else last_held(drills.store).interview_id
        bank = drills.deck.bank
        assert bank is not None
        report = report_of(drills.store, which, now(), bank=bank, drills=drills)
    _put(rendered(report, chosen), output)


def _progress(drills: Drills, day: str | None, form: Format) -> str:
    from tutor.reports.progress import as_data, figures
    from tutor.reports.progress_page import progress_html, progress_markdown

    found = figures(drills, now(), as_day(day) if day is not None else None)
    if form == "html":
        return progress_html(found)
    if form == "md":
        return progress_markdown(found)
    return json.dumps(as_data(found), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _put(text: str, output: Path | None) -> None:
    from tutor.reports.save import write

    if output is None:
        click.echo(text, nl=False)
        return
    write(text, output)
    click.echo(f"{output}: {len(text.encode()):,} bytes")


def _resolved(drills: Drills, interview: str) -> str:
    """An id by its beginning."""
    from tutor.reports import held

    ids = [one.interview_id for one in held(drills.store, drills=True)]
    if interview in ids:
        return interview
    found = [one for one in ids if interview and one.startswith(interview)]
    if len(found) == 1:
        return found[0]
    if found:
        raise TutorError(
            f"{len(found)} interviews begin with {sanitize(interview)}.", hint="Give more of the id; --list shows them."
        )
    raise TutorError(
        f"There is no interview {sanitize(interview)}.", hint="'tutor report --list' shows those there are."
    )


def _list(drills: Drills, with_drills: bool, *, as_json: bool) -> None:
    from tutor.reports import held

    found = held(drills.store, drills=with_drills)
    if as_json:
        show_json(found)
        return
    if not found:
        click.echo("No interview was held so far; 'tutor' and i starts one.")
    for one in found:
        state = "finished" if one.finished else f"question {one.answered} of {one.of}"
        click.echo(
            f"{sanitize(one.interview_id):<24} {one.started_at:%Y-%m-%d %H:%M}  {one.mode:<9} "
            f"{state:<18} {sanitize(one.title)}"
        )
