"""A report of what was run in the lab: HTML with everything, or one picture; with what it takes to run it again."""

from __future__ import annotations

import html
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tutor import __version__
from tutor.errors import TutorError
from tutor.lab.pictures import claim_picture, has_pictures, rendered, run_picture
from tutor.paths import private_opener

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sim.experiment.comparison import Outcome
    from tutor.lab.overturn import Probed
    from tutor.lab.runs import Pair, RateCurve

ENDINGS: Final = (".html", ".svg", ".png", ".yaml")
_PACKAGES: Final = ("numpy", "simpy", "pydantic")
_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1c2126}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.15rem .8rem;text-align:right}"
    "td,th{border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}pre{background:#f4f5f6;padding:.8rem;overflow:auto}"
    "svg{max-width:100%;height:auto}caption{text-align:left;font-weight:600}"
    "@media(prefers-color-scheme:dark){body{background:#14181c;color:#d8dee4}pre{background:#222930}"
    "td,th{border-color:#3a444e}svg{background:#fff}}"
)


class ReportError(TutorError):
    """A report cannot be written."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of the report; the first column is text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class LabReport:
    """What goes into a report."""

    title: str
    sentences: Sequence[str]
    """What was asked and what came out, in order."""
    tables: Sequence[ReportTable]
    scenario: str
    """Its YAML text."""
    baseline: str
    """The text before the change; empty where there is one side only."""
    pair: Pair | None
    """A run that is drawn."""
    curves: Sequence[RateCurve]
    made_at: datetime
    outcome: Outcome | None = None
    """A settled claim, drawn before the run."""
    again: str = ""
    """The command that gives it again from the two texts, when it is not a plain run."""

    @property
    def seed(self) -> int | None:
        """The first one; None where nothing was run."""
        if self.outcome is not None:
            return self.outcome.first_seed
        return None if self.pair is None else self.pair.yours.seed

    @property
    def drawn(self) -> bool:
        """Whether there is anything to draw."""
        return self.pair is not None or self.outcome is not None

    def versions(self) -> str:
        """Everything whose change could change a number."""
        return ", ".join(f"{name} {one}" for name, one in versions().items())


def versions() -> dict[str, str]:
    """The program, Python and the packages that take part in a run."""
    found = {"tutor": __version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def claim_report(
    title: str,
    scenario: str,
    baseline: str,
    outcome: Outcome,
    probed: Sequence[Probed],
    summary: str,
    made_at: datetime,
) -> LabReport:
    """The report of a settled claim; `baseline` is empty where nothing was changed."""
    from tutor.lab.claim_words import brief_words, numbers_words
    from tutor.lab.differences import differences
    from tutor.lab.statements import words_of

    changes = differences(baseline, scenario) if baseline else ()
    statements = [(words_of(one.term), one.verdict, numbers_words(one)) for one in outcome.terms]
    tables = [
        ReportTable(
            "Statements",
            ("statement", "verdict", "numbers"),
            statements,
            f"{outcome.replications} replications, {outcome.requests:,} requests, first seed {outcome.first_seed}, "
            f"{outcome.seconds:.1f} s; {outcome.warm_up_s:.3g} s at the start left out.",
        )
    ]
    if probed:
        rows = [
            (one.name, f"not tried: {one.note}", "")
            if one.outcome is None
            else (one.name, f"{'overturned: ' if one.flips else ''}{one.outcome.verdict}", brief_words(one.outcome))
            for one in probed
        ]
        tables.append(ReportTable("Attempts to overturn it", ("under", "verdict", "numbers"), rows))
    return LabReport(
        title=f"{title}: {outcome.verdict}",
        sentences=[*(f"Changed: {one.words()}." for one in changes), summary],
        tables=tables,
        scenario=scenario,
        baseline=baseline,
        pair=None,
        curves=(),
        made_at=made_at,
        outcome=outcome,
    )


def check_ending(path: Path) -> None:
    """Raises ReportError when no report can be written under such a name."""
    if path.suffix not in ENDINGS:
        raise ReportError(
            f"{path.name}: a report is written as .html, .svg, .png or, the scenario alone, .yaml.",
            hint="Change the ending.",
        )


def save(report: LabReport, path: Path) -> list[str]:
    """Write the report by the ending of `path`; returns sentences about what it does not hold.

    Raises:
        ReportError: the ending is another one, a picture is asked for that cannot be drawn, or the file cannot be
            written. A file that is there already is replaced as a whole or not at all.
    """
    check_ending(path)
    told: list[str] = []
    if path.suffix == ".html":
        if report.drawn and not has_pictures():
            told.append("Without pictures: they need matplotlib, `pip install 'tutor[plots]'`.")
        data = as_html(report).encode()
    elif path.suffix == ".yaml":
        data = report.scenario.encode()
    else:
        if not report.drawn:
            raise ReportError("There is no run to draw.", hint="Save it as .html.")
        if not has_pictures():
            raise ReportError(
                "A picture needs matplotlib.", hint="Save as .html, or install it with `pip install 'tutor[plots]'`."
            )
        data = _picture(report, "png" if path.suffix == ".png" else "svg")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        with open(part, "wb", opener=private_opener) as file:
            file.write(data)
        os.replace(part, path)
    except OSError as error:
        raise ReportError(
            f"{path} cannot be written: {error.strerror or error}.", hint="Choose another place."
        ) from None
    return told


def _figures(report: LabReport, *, captions: bool) -> Iterator[Figure]:
    """The pictures, the most telling one first."""
    title = report.title if captions else ""
    foot = f"seed {report.seed} · {report.versions()}" if captions else ""
    if report.outcome is not None:
        yield claim_picture(report.outcome, title, foot)
    if report.pair is not None:
        yield run_picture(report.pair, report.curves, title, foot)


def _picture(report: LabReport, kind: str) -> bytes:
    figure = next(_figures(report, captions=True))
    known = {"Title": report.title, "Software": report.versions(), "Description": report.scenario}
    if report.baseline:
        known["Comment"] = f"baseline:\n{report.baseline}"
    return rendered(figure, "png" if kind == "png" else "svg", known)


def as_html(report: LabReport) -> str:
    """One file that needs no other; everything from outside is escaped."""
    seeds = "" if report.seed is None else f", seed {report.seed}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><meta charset="utf-8">',
        f"<title>{_text(report.title)}</title><style>{_STYLE}</style>",
        f"<h1>{_text(report.title)}</h1>",
        f"<p>{report.made_at:%Y-%m-%d %H:%M} · {_text(report.versions())}{seeds}</p>",
        *(f"<p>{_text(sentence)}</p>" for sentence in report.sentences),
    ]
    for figure in _figures(report, captions=False) if has_pictures() else ():
        svg = rendered(figure, "svg").decode()
        parts.append(f"<figure>{svg[svg.index('<svg') :]}</figure>")
    parts += [_table(table) for table in report.tables]
    parts.append("<h2>To run it again</h2>")
    command = report.again or "tutor sim run scenario.yaml" + (
        " ; tutor sim run baseline.yaml" if report.baseline else ""
    )
    parts.append(f"<pre>{_text(command)}</pre>")
    parts.append(f"<h3>scenario.yaml</h3><pre>{_text(report.scenario)}</pre>")
    if report.baseline:
        parts.append(f"<h3>baseline.yaml</h3><pre>{_text(report.baseline)}</pre>")
    return "\n".join(parts) + "\n"


def _table(table: ReportTable) -> str:
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in table.header)
    rows = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    note = f"<p>{_text(table.note)}</p>" if table.note else ""
    caption = f"<caption>{_text(table.title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _text(text: str) -> str:
    return html.escape(text)
