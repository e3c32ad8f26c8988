"""`tutor predict`: what the lab's prediction screen does, for scripts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tutor import __version__
from tutor.cli.common import load_bank_for, settings_for
from tutor.errors import TutorError

if TYPE_CHECKING:
    from tutor.lab.events import Locked
    from tutor.lab.gallery import Entry
    from tutor.lab.predictions import Past
    from tutor.lab.surprise import TopicSurprise
    from tutor.store import Store


@click.command(name="predict", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("scenario", required=False)
@click.option(
    "--set", "changes", multiple=True, metavar="PATH=VALUE", help="What you change; may be given several times."
)
@click.option("--metric", metavar="NAME", help="What you predict, for example chat.ttft_s.p95.")
@click.option("--goes", type=click.Choice(["lower", "higher", "same"]), help="Which way it goes, with --set.")
@click.option("--value", type=float, help="To what, in ms, tokens/s, requests/s or %.")
@click.option("--range", "between", help="Between what, for example '250 to 350' or '10%'.")
@click.option("--confidence", type=click.IntRange(1, 3), help="1 not yet, 2 getting there, 3 confident.")
@click.option("--why", help="After the comparison: why it came out so, in one line.")
@click.option("--list", "listing", is_flag=True, help="Show all predictions and the surprise by topic.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def predict_command(
    flags: dict[str, object],
    scenario: str | None,
    changes: tuple[str, ...],
    metric: str | None,
    goes: str | None,
    value: float | None,
    between: str | None,
    confidence: int | None,
    why: str | None,
    listing: bool,
    as_json: bool,
) -> int:
    """Predict a number of SCENARIO (a built-in one's name, or a file) with changes; it is locked, then run.

    The exit code is 0 when the range held what came out and the direction was right, else 1.
    """
    from tutor.store import open_store

    settings = settings_for(flags)
    if listing:
        with open_store(settings.store_file) as store:
            return _list(store, flags, as_json)
    missing = [
        name
        for name, one in (("SCENARIO", scenario), ("--metric", metric), ("--value", value), ("--range", between),
                          ("--confidence", confidence))
        if one is None
    ]  # fmt: skip
    if missing:
        raise TutorError(f"Missing: {', '.join(missing)}.", hint="A prediction is locked whole; --help has an example.")
    assert scenario is not None
    assert metric is not None
    assert value is not None
    assert between is not None
    assert confidence is not None
    from tutor.lab.gallery import entry_named

    entry = entry_named(scenario)
    locked = _locked(flags, entry, changes, metric, goes, value, between, confidence)
    with open_store(settings.store_file) as store:
        return _run(store, locked, entry.folder, why, as_json)


def _locked(
    flags: dict[str, object],
    entry: Entry,
    changes: tuple[str, ...],
    metric: str,
    goes: str | None,
    value: float,
    between: str,
    confidence: int,
) -> Locked:
    from tutor.lab.differences import differences
    from tutor.lab.events import Locked
    from tutor.lab.quantities import BY_ID, QUANTITIES, chosen_from
    from tutor.lab.scenario_text import check, with_field
    from tutor.lab.surprise import read_range
    from tutor.lab.topics import topics_of

    text = entry.text
    for change in changes:
        path, sign, wanted = change.partition("=")
        if not sign:
            raise TutorError(f"--set {change}: write path=value.", hint="For example server.max_seqs=16.")
        try:
            text = with_field(text, path.strip(), wanted.strip())
        except ValueError as error:
            raise TutorError(str(error)) from None
    checked = check(text, entry.folder)
    if checked.scenario is None:
        raise TutorError(f"{entry.title}: {checked.sentence}.", hint="Nothing was locked.")
    chosen = chosen_from(metric)
    classes = {item.name for item in checked.scenario.classes} | {"all"}
    if chosen is None or chosen.class_name not in classes or chosen.metric != metric:
        known = ", ".join(f"{one.id}.p95" if one.statistics else one.id for one in QUANTITIES)
        raise TutorError(
            f"“{metric}” cannot be predicted.", hint=f"Write <class>.<number>: {', '.join(sorted(classes))}; {known}."
        )
    made = differences(entry.text, text)
    if bool(made) != (goes is not None):
        raise TutorError(
            "Say which way it goes with --goes." if made else "Nothing is changed, so it goes nowhere.",
            hint="--goes belongs to --set.",
        )
    found = read_range(between, value)
    if isinstance(found, str):
        raise TutorError(found)
    known_topics = {topic.id for topics in load_bank_for(flags).topics.values() for topic in topics}
    data: dict[str, Any] = {
        "title": entry.title, "scenario": text, "baseline": entry.text if made else "",
        "changes": [one.words() for one in made], "metric": metric, "unit": BY_ID[chosen.quantity].unit,
        "scale": BY_ID[chosen.quantity].scale, "direction": goes or "", "value": value, "low": found.low,
        "high": found.high, "confidence": confidence,
        "topics": topics_of([one.path for one in made], metric, known_topics),
    }  # fmt: skip
    return Locked.model_validate(data)


def _run(store: Store, locked: Locked, folder: Path | None, why: str | None, as_json: bool) -> int:
    from datetime import UTC, datetime

    from sim.commands.progress import Watch
    from tutor.lab.predictions import explain, lock, record, simulate_prediction
    from tutor.lab.words import outcome_rows

    def now() -> datetime:
        return datetime.now(UTC).astimezone()

    made = lock(store, locked, now())
    with Watch() as watch:
        outcome = simulate_prediction(
            locked,
            lambda done, total, _what: watch.say(f"{done} of {total} replications"),
            watch.stop,
            folder=folder,
            version=__version__,
        )
    if outcome is None:
        raise TutorError(
            "Stopped before it was known; the prediction is locked.", hint="The lab can run it: 'tutor', b."
        )
    made = record(store, made, outcome, now())
    if why:
        made = explain(store, made, why, now())
    if as_json:
        data = {
            "id": made.id, "locked": made.locked.model_dump(mode="json"), "simulated": outcome.model_dump(mode="json"),
            "verdict": made.verdict, "ratio": made.ratio, "moved": made.moved, "missed": made.missed,
            "bits": made.bits, "explanation": made.explanation,
        }  # fmt: skip
        click.echo(json.dumps(data, ensure_ascii=False, allow_nan=False))
    else:
        for change in locked.changes:
            click.echo(f"Change     {change}")
        for row in outcome_rows(made):
            click.echo(f"{row.label:<10} {f'{row.mark} ' if row.mark else ''}{row.text}")
        if made.missed and locked.topics:
            click.echo(f"Drills     new items on {', '.join(locked.topics)} come first for a week")
    return 1 if made.missed else 0


def _list(store: Store, flags: dict[str, object], as_json: bool) -> int:
    from tutor.lab.predictions import past_predictions, topic_surprises

    past = past_predictions(store, load_bank_for(flags))
    topics = topic_surprises(past)
    if as_json:
        data = {"predictions": [_past_json(one) for one in past], "topics": [_topic_json(one) for one in topics]}
        json.dump(data, sys.stdout, ensure_ascii=False, allow_nan=False)
        click.echo()
        return 0
    if not past:
        click.echo("Nothing was predicted and run so far; 'tutor predict --help' says how.")
        return 0
    from tutor.lab.words import CONFIDENCE, measured

    for one in past:
        click.echo(
            f"{'✗' if one.missed else '✓'} {one.at.astimezone():%Y-%m-%d}  {one.title}: {one.what}\n"
            f"  predicted {measured(one.value)} [{measured(one.stated.low)}, {measured(one.stated.high)}] {one.unit}, "
            f"{CONFIDENCE[one.confidence]}; simulated {measured(one.outcome)}; {one.bits:.1f} bits"
        )
        if one.explanation:
            click.echo(f"  “{one.explanation}”")
    width = max(len(one.topic) for one in topics) if topics else 5
    click.echo(f"\n{'topic':<{width}}  {'n':>3}  {'inside':>7}  {'you said':>8}  {'bits':>5}")
    for row in topics:
        inside = f"{row.inside} of {row.predictions}"
        click.echo(
            f"{row.topic:<{width}}  {row.predictions:>3}  {inside:>7}  {row.stated:>8.0%}  {row.mean_bits:>5.1f}"
        )
    return 0


def _past_json(one: Past) -> dict[str, object]:
    return {
        "at": one.at.isoformat(), "title": one.title, "what": one.what, "topics": list(one.topics), "unit": one.unit,
        "predicted": one.value, "low": one.stated.low, "high": one.stated.high, "confidence": one.confidence,
        "simulated": one.outcome, "bits": one.bits, "missed": one.missed, "explanation": one.explanation,
    }  # fmt: skip


def _topic_json(one: TopicSurprise) -> dict[str, object]:
    return {
        "topic": one.topic, "predictions": one.predictions, "inside": one.inside, "mean_bits": one.mean_bits,
        "most_bits": one.most_bits, "stated": one.stated,
    }  # fmt: skip
