"""`tutor claim`: a claim in one line, put to the test, and attacked; what the lab's claim screen does, for scripts."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tutor.cli.common import run_async, settings_for
from tutor.errors import TutorError

if TYPE_CHECKING:
    from sim.experiment.comparison import Outcome
    from tutor.lab.claim_line import LineError, ReadLine
    from tutor.lab.gallery import Entry
    from tutor.lab.overturn import Probed
    from tutor.lab.sentence import Proposal
    from tutor.store import Store


_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="claim", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("scenario", required=False)
@click.argument("line", required=False)
@click.option("--overturn", is_flag=True, help="Then try other seeds, loads, lengths and faults.")
@click.option(
    "--measured",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Settle it by a measured run (several times: by several runs); SCENARIO is left out.",
)
@click.option("--baseline", type=_FILE, multiple=True, metavar="FILE", help="With --measured: the run before.")
@click.option("--sentence", metavar="TEXT", help="Instead of LINE: your own sentence; its line is shown first.")
@click.option("--yes", is_flag=True, help="With --sentence: run the line without asking.")
@click.option("--replications", type=click.IntRange(2, 1000), default=48, show_default=True, help="At most so many.")
@click.option("--seconds", type=click.FloatRange(1), default=60.0, show_default=True, help="At most so long.")
@click.option("--report", type=_FILE, help="Write .html, .svg, .png or .yaml.")
@click.option("--list", "listing", is_flag=True, help="Show all claims that were put to the test.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def claim_command(
    flags: dict[str, object],
    scenario: str | None,
    line: str | None,
    overturn: bool,
    measured: tuple[Path, ...],
    baseline: tuple[Path, ...],
    sentence: str | None,
    yes: bool,
    replications: int,
    seconds: float,
    report: Path | None,
    listing: bool,
    as_json: bool,
) -> int:
    """Put LINE about SCENARIO (a built-in one's name, or a file) to the test.

    For example: tutor claim long_prompts_among_chats "token_budget -> 256: chat itl p95 at most 20 ms". The exit code
    is 0 when it is supported, 1 when it is refuted or open.
    """
    from tutor.store import open_store

    with open_store(settings_for(flags).store_file) as store:
        if listing:
            return _list(store, as_json)
        if baseline and not measured:
            raise TutorError("--baseline goes with --measured.", hint="Name the run after the change with --measured.")
        if measured:
            if overturn or report is not None:
                raise TutorError(
                    "What was measured cannot be run again otherwise.", hint="Leave out --overturn and --report."
                )
            if scenario is None or line is not None:
                raise TutorError("With --measured comes the claim alone.", hint="Write it in quotes, without SCENARIO.")
            return _measured(store, measured, baseline, scenario, as_json)
        if sentence is not None and scenario is not None and line is None:
            line = _from_sentence(flags, scenario, sentence, yes)
            if line is None:
                return 2
        if scenario is None or line is None:
            raise TutorError("Give a scenario and a claim in one line.", hint="'tutor claim --help' has an example.")
        from tutor.lab.gallery import entry_named

        entry = entry_named(scenario)
        read = _read(line, entry)
        if report is not None:
            from tutor.lab.report import check_ending

            check_ending(report)
        return _settle(store, entry, read, overturn, replications, seconds, report, as_json)


def _read(line: str, entry: Entry) -> ReadLine:
    from tutor.lab.claim_line import LineError, read_line

    try:
        return read_line(line, entry.text, entry.folder)
    except LineError as error:
        raise _pointing(line, error) from None


def _from_sentence(flags: dict[str, object], scenario: str, sentence: str, yes: bool) -> str | None:
    """The line that the sentence is read as, once it is confirmed; None where it is not to be run."""
    from tutor.lab.gallery import entry_named
    from tutor.lab.sentence import read_sentence

    entry = entry_named(scenario)
    found = read_sentence(sentence, entry.text, entry.folder)
    if not found.complete:
        found = _asked(flags, entry, sentence, found)
    if not found.line:
        raise TutorError(
            f"No claim that can be tested is read in it: {found.missing[0]} is missing.",
            hint="Say which number lies where, such as: chat gaps stay under 50 ms.",
        )
    click.echo(f"Claim   {found.line}")
    for label, texts in (("Usual", found.assumed), ("Open", found.missing), ("Unread", found.unread)):
        for text in texts:
            click.echo(f"{label:<8}{text}")
    if found.source != "rules":
        click.echo(f"Read by {found.source}")
    if not found.complete:
        todo = "Put what is open in the place of ?" if found.missing else "Add what was left unread, or leave it"
        click.echo(f'{todo}, and run: tutor claim {scenario} "LINE"', err=True)
        return None
    if yes:
        return found.line
    if not sys.stdin.isatty():
        click.echo("Not run; add --yes, or give the line itself.", err=True)
        return None
    return found.line if click.confirm("Put it to the test?") else None


def _asked(flags: dict[str, object], entry: Entry, sentence: str, rules: Proposal) -> Proposal:
    """The model's reading where one is at hand and leaves nothing open."""
    from tutor.cli.common import load_bank_for, open_grader
    from tutor.lab.sentence import better
    from tutor.lab.sentence.asked import ask_model
    from tutor.llm.errors import LlmError

    settings = settings_for(flags)

    async def work() -> Proposal:
        async with open_grader(settings, load_bank_for(flags)) as (grader, _):
            model = grader.model
            if model is None or not model.info.grades:
                return rules
            endpoint = model.endpoint
            capabilities = await grader.capabilities() or model.capabilities
            return better(rules, await ask_model(endpoint, capabilities, sentence, entry.text, entry.folder))

    try:
        return run_async(work())
    except LlmError as error:
        click.echo(f"The model was not asked: {error.message}", err=True)
        return rules


def _pointing(line: str, error: LineError) -> TutorError:
    marks = " " * error.start + "^" * max(1, error.end - error.start)
    return TutorError(f"{error}\n  {line}\n  {marks}")


def _measured(store: Store, after: tuple[Path, ...], before: tuple[Path, ...], line: str, as_json: bool) -> int:
    """Measured runs instead of the simulator."""
    from hashlib import sha256

    from tutor.lab.claim_line import LineError, read_statements
    from tutor.lab.claim_log import settled
    from tutor.lab.claim_words import claim_lines
    from tutor.lab.measured import ONE_RUN, RUNS, load_measured, settle_measured
    from tutor.lab.statements import words_of

    if twice := {path for path in (*before, *after) if (*before, *after).count(path) > 1}:
        raise TutorError(f"{min(twice)} is given twice.", hint="Each run counts once.")
    baseline, changed = [load_measured(path) for path in before], [load_measured(path) for path in after]
    classes = tuple(dict.fromkeys(name for run in (*baseline, *changed) for name in run.classes))
    try:
        terms = read_statements(line, classes, compares=bool(baseline))
    except LineError as error:
        raise _pointing(line, error) from None
    outcome = settle_measured(terms, changed, baseline)
    title = " → ".join(", ".join(run.name for run in side) for side in (baseline, changed) if side)
    marks = [f"{path.name} {sha256(path.read_bytes()).hexdigest()}" for path in (*before, *after)]
    identity = settled(store, title, "", "", outcome, datetime.now(UTC).astimezone(), marks)
    basis = ONE_RUN if outcome.replications == 1 else RUNS
    if as_json:
        words = "; ".join(f"{words_of(one.term)}: {one.verdict}" for one in outcome.terms)
        data = _data(store, identity, f"{words}. {basis}", [])
        click.echo(json.dumps(data, ensure_ascii=False, allow_nan=False))
    else:
        for run in (*baseline, *changed):
            failed = f", {run.failed:,} more did not complete" if run.failed else ""
            click.echo(f"{run.name}: {len(run.requests):,} requests{failed}")
        for text in [*claim_lines(outcome), basis]:
            click.echo(text)
    return 0 if outcome.verdict == "supported" else 1


def _settle(
    store: Store,
    entry: Entry,
    read: ReadLine,
    attack: bool,
    replications: int,
    seconds: float,
    report: Path | None,
    as_json: bool,
) -> int:
    from sim.commands.progress import Watch
    from sim.experiment.comparison import compare
    from sim.experiment.terms import Budget
    from tutor.lab.claim_log import attacked, settled
    from tutor.lab.claim_words import claim_lines, probe_line
    from tutor.lab.differences import differences
    from tutor.lab.overturn import overturn, summary
    from tutor.lab.scenario_text import check
    from tutor.lab.statements import words_of

    changed = check(read.text, entry.folder).scenario
    assert changed is not None  # the line was read against it
    changes = differences(entry.text, read.text)
    baseline = check(entry.text, entry.folder).scenario if changes else None
    now = datetime.now(UTC).astimezone()
    probed: list[Probed] = []
    with Watch() as watch:
        outcome = compare(
            baseline,
            changed,
            read.terms,
            Budget(replications=replications, seconds=seconds),
            progress=lambda done, most, requests: watch.say(
                f"{done} of at most {most} replications, {requests:,} requests"
            ),
            stop=watch.stop,
        )
        identity = settled(store, entry.title, read.text, entry.text if changes else "", outcome, now)
        if attack and not watch.stop():
            probed = overturn(
                baseline,
                changed,
                read.terms,
                outcome.verdict,
                lambda done, total, name: watch.say(f"{done} of {total}: {name}"),
                watch.stop,
            )
    line = summary([words_of(one.term) for one in outcome.terms], outcome, probed)
    if probed:
        attacked(store, identity, probed, line, now)
    if as_json:
        click.echo(json.dumps(_data(store, identity, line, probed), ensure_ascii=False, allow_nan=False))
    else:
        for change in changes:
            click.echo(f"Change  {change.words()}")
        for text in [*claim_lines(outcome), *(probe_line(one) for one in probed), line]:
            click.echo(text)
    if report is not None:
        _write(report, entry, read, outcome, probed, line, now)
    return 0 if outcome.verdict == "supported" else 1


def _write(
    path: Path, entry: Entry, read: ReadLine, outcome: Outcome, probed: list[Probed], line: str, now: datetime
) -> None:
    from tutor.lab.differences import differences
    from tutor.lab.report import claim_report, save

    made = claim_report(entry.title, read.text, entry.text, outcome, probed, line, now)
    if not differences(entry.text, read.text):
        made = claim_report(entry.title, read.text, "", outcome, probed, line, now)
    for sentence in save(made, path):
        click.echo(sentence, err=True)


def _data(store: Store, identity: str, line: str, probed: list[Probed]) -> dict[str, object]:
    from tutor.lab.claim_log import settled_claims

    kept = next(one for one in settled_claims(store) if one.id == identity)
    return {
        "id": identity,
        **kept.settled.model_dump(mode="json"),
        "probes": [
            {"name": one.name, "verdict": None if one.outcome is None else one.outcome.verdict, "overturns": one.flips,
             "note": one.note}
            for one in probed
        ],
        "summary": line,
    }  # fmt: skip


def _list(store: Store, as_json: bool) -> int:
    from tutor.lab.claim_log import settled_claims
    from tutor.lab.claim_words import SYMBOLS

    claims = settled_claims(store)
    if as_json:
        data = [
            {"id": one.id, "at": one.at.isoformat(), **one.settled.model_dump(mode="json"), "summary": one.summary}
            for one in claims
        ]
        click.echo(json.dumps(data, ensure_ascii=False, allow_nan=False))
        return 0
    if not claims:
        click.echo("No claim was put to the test so far; 'tutor claim --help' says how.")
    for one in claims:
        words = " and ".join(each.words for each in one.settled.statements)
        changes = f": {'; '.join(one.settled.changes)}" if one.settled.changes else ""
        click.echo(f"{SYMBOLS[one.settled.verdict]} {one.at.astimezone():%Y-%m-%d}  {one.settled.title}{changes}")
        click.echo(f"  {words}: {one.settled.verdict}")
    return 0
