"""The labelled answers in `gold/serving/`: what an answer earns per criterion, as careful readers decided.

The format and the rules of labelling are in `gold/serving/README.md`. Commands:

    python -m rubrics.answer_gold                             how many answers, and what share is met
    python -m rubrics.answer_gold --blind                     the answers without labels, for another labeller
    python -m rubrics.answer_gold --agreement FIRST SECOND    two label files compared
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rubrics.number_gold import GOLD_DIR, GoldError
from rubrics.schema import CRITERION_IDS, CriterionId

SERVING_DIR = GOLD_DIR / "serving"
SPLIT_NAME = "split.yaml"
QUESTIONS_NAME = "questions.yaml"

MetLabel = Literal["met", "not_met"]
Kind = Literal[
    "broken-english",
    "bullets",
    "check-cannot-refute",
    "contradictory",
    "copied-prompt",
    "failure-backwards",
    "full",
    "hedged",
    "incomplete",
    "keyword-list",
    "latex",
    "long",
    "mixed-language",
    "one-slip",
    "other-route",
    "plausible-wrong",
    "right-number-no-reasoning",
    "right-reasoning",
    "right-reasoning-wrong-number",
    "self-corrected",
    "terse",
    "tool-name-only",
    "uncertain",
    "verbose",
    "verbose-empty",
    "wrong-unit",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What an answer tries; several may apply."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CriterionLabel(_Frozen):
    """What one criterion earns, and why."""

    label: MetLabel
    reason: str = Field(min_length=1, max_length=300)
    """One sentence."""
    borderline: bool = False
    """Whether a careful reader could have decided otherwise."""
    settled: bool = False
    """Whether two labellers differed and this is what they agreed on."""

    @property
    def met(self) -> bool:
        """Whether the point is earned."""
        return self.label == "met"


class AnswerLabels(_Frozen):
    """The labels that one labeller gave to one answer: a line of a label file."""

    id: str = Field(pattern=r"^[a-z0-9-]+-[a-z][0-9]{2,3}$")
    labels: dict[CriterionId, CriterionLabel]

    @model_validator(mode="after")
    def _each_criterion_once(self) -> AnswerLabels:
        if set(self.labels) != set(CRITERION_IDS):
            raise ValueError(f"labels must hold {', '.join(CRITERION_IDS)} and nothing else")
        return self


class GoldAnswer(AnswerLabels):
    """An answer with its labels: a line of a gold file."""

    item_id: str = Field(pattern=r"^[a-z0-9-]+(/[a-z0-9-]+)+$")
    item_version: int = Field(ge=1)
    seed: int = Field(ge=0)
    """With item and version it names the question: the same numbers each time."""
    answer: str = Field(min_length=1, max_length=20_000)
    kind: tuple[Kind, ...] = Field(min_length=1)
    author: str = Field(pattern=r"^[a-z]$")

    @model_validator(mode="after")
    def _id_names_item_and_author(self) -> GoldAnswer:
        start = f"{self.item_id.rsplit('/', 1)[-1]}-{self.author}"
        if not self.id.startswith(start) or not self.id[len(start) :].isdigit():
            raise ValueError(f"id must be {start} and a number")
        return self


class GoldSplit(_Frozen):
    """The answers of both parts; an item's answers are all in one of them."""

    calibration: tuple[GoldAnswer, ...]
    """To choose prompts, measures and coefficients with."""
    test: tuple[GoldAnswer, ...]
    """Only to measure with."""


class _SplitFile(_Frozen):
    test: Annotated[tuple[str, ...], Field(min_length=1)]


class AnsweredQuestion(_Frozen):
    """The question that an item's answers were written for, so that a change of its numbers or words is noticed."""

    version: int = Field(ge=1)
    seed: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """`prompt_hash` of the text that the candidate read."""


class _QuestionsFile(_Frozen):
    questions: dict[str, AnsweredQuestion]


class _Raw(BaseModel):
    answer: object = None


M = TypeVar("M", bound=BaseModel)


def prompt_hash(prompt: str) -> str:
    """SHA-256 of a question's text, by which two renderings of it are compared; line breaks and spaces do not count."""
    return hashlib.sha256(" ".join(prompt.split()).encode("utf-8")).hexdigest()


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    said = str(first["msg"]).removeprefix("Value error, ")
    return f"{field}: {said}" if field else said


def _valid(model: type[M], raw: str, where: str) -> M:
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise GoldError(f"{where}: {_problem(error)}") from error


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Each line that is not blank, with the words that say where it stands."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise GoldError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise GoldError(f"{path}: is not UTF-8 text") from error
    # not splitlines(): JSON may hold U+2028 and its kin unescaped
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{path}, line {number}", line


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.jsonl"))
    if not found:
        raise GoldError(f"{path}: holds no .jsonl file")
    return found


def load_gold(folder: Path = SERVING_DIR) -> tuple[GoldAnswer, ...]:
    """All labelled answers, by file name and line.

    Raises GoldError, naming file and line, when a line is not what the format says, stands in another item's file
    or has an id that an earlier one has.
    """
    answers: list[GoldAnswer] = []
    seen: dict[str, str] = {}
    for path in _files(folder):
        for where, line in _lines(path):
            answer = _valid(GoldAnswer, line, where)
            name = ".".join(answer.item_id.split("/")[1:]) + ".jsonl"
            if path.name != name:
                raise GoldError(f"{where}: item_id: answers to {answer.item_id} belong into {name}")
            if answer.id in seen:
                raise GoldError(f"{where}: id: {answer.id} stands in {seen[answer.id]} already")
            seen[answer.id] = where
            answers.append(answer)
    return tuple(answers)


def _read_yaml(model: type[M], path: Path) -> M:
    try:
        return model.model_validate(yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader))
    except OSError as error:
        raise GoldError(f"{path}: cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise GoldError(f"{path}: not valid YAML ({str(error).splitlines()[0]})") from error
    except ValidationError as error:
        raise GoldError(f"{path}: {_problem(error)}") from error


def load_questions(folder: Path = SERVING_DIR) -> dict[str, AnsweredQuestion]:
    """The question behind each item's answers, as `questions.yaml` in the folder says, by item id.

    Raises GoldError as `load_gold` does, when the file cannot be read, names an item without answers, or has not the
    version and the seed that an answer has.
    """
    path = folder / QUESTIONS_NAME
    questions = _read_yaml(_QuestionsFile, path).questions
    answers = load_gold(folder)
    unknown = sorted(set(questions) - {answer.item_id for answer in answers})
    if unknown:
        raise GoldError(f"{path}: questions: no answers to {unknown[0]} in this folder")
    for answer in answers:
        question = questions.get(answer.item_id)
        if question is None or (question.version, question.seed) != (answer.item_version, answer.seed):
            raise GoldError(
                f"{path}: questions: {answer.id} answers {answer.item_id}, version {answer.item_version}, seed "
                f"{answer.seed}, which is not listed; add it with the hash of its text"
            )
    return questions


def load_split(folder: Path = SERVING_DIR) -> GoldSplit:
    """The labelled answers by part, as `split.yaml` in the folder says.

    Raises GoldError as `load_gold` does, and when the split cannot be read or names an item without answers.
    """
    answers = load_gold(folder)
    path = folder / SPLIT_NAME
    split = _read_yaml(_SplitFile, path)
    unknown = sorted(set(split.test) - {answer.item_id for answer in answers})
    if unknown:
        raise GoldError(f"{path}: test: no answers to {unknown[0]} in this folder")
    return GoldSplit(
        calibration=tuple(answer for answer in answers if answer.item_id not in split.test),
        test=tuple(answer for answer in answers if answer.item_id in split.test),
    )


def load_labels(path: Path) -> dict[str, AnswerLabels]:
    """Labels by the id of the answer, from a file or all .jsonl files of a folder.

    A line is a gold answer or, as another labeller writes it, `{"id": …, "labels": {…}}`. Raises GoldError, naming
    file and line, when it is neither or an id stands twice.
    """
    labels: dict[str, AnswerLabels] = {}
    for file in _files(path):
        for where, line in _lines(file):
            is_gold = _valid(_Raw, line, where).answer is not None
            one = _valid(GoldAnswer if is_gold else AnswerLabels, line, where)
            if one.id in labels:
                raise GoldError(f"{where}: id: {one.id} stands more than once")
            labels[one.id] = one
    return labels


class Agreement(_Frozen):
    """How often two labellers say the same of one criterion."""

    criterion: CriterionId
    both_met: int
    first_only: int
    """Met for the first labeller alone."""
    second_only: int
    neither: int

    @property
    def n(self) -> int:
        """Answers labelled by both."""
        return self.both_met + self.first_only + self.second_only + self.neither

    @property
    def share(self) -> float:
        """Share of answers with the same label, 0 to 1."""
        return (self.both_met + self.neither) / self.n

    @property
    def kappa(self) -> float | None:
        """Cohen's κ (Cohen 1960), or None where both gave every answer the same label and chance explains all."""
        first, second = self.both_met + self.first_only, self.both_met + self.second_only
        by_chance = (first * second + (self.n - first) * (self.n - second)) / self.n**2
        return None if by_chance == 1 else (self.share - by_chance) / (1 - by_chance)


def agreement(
    first: Mapping[str, AnswerLabels], second: Mapping[str, AnswerLabels], *, clear_only: bool = False
) -> tuple[Agreement, ...]:
    """Agreement per criterion over the answers that both labelled.

    With `clear_only`, labels that either of the two marked as borderline are left out. Raises GoldError when nothing
    is left to compare.
    """
    shared = sorted(set(first) & set(second))
    rows: list[Agreement] = []
    for criterion in CRITERION_IDS:
        pairs = [(first[one].labels[criterion], second[one].labels[criterion]) for one in shared]
        met = [(a.met, b.met) for a, b in pairs if not (clear_only and (a.borderline or b.borderline))]
        if not met:
            raise GoldError(f"{criterion}: no answer is labelled by both; the ids must be those of the gold files")
        rows.append(
            Agreement(
                criterion=criterion,
                both_met=met.count((True, True)),
                first_only=met.count((True, False)),
                second_only=met.count((False, True)),
                neither=met.count((False, False)),
            )
        )
    return tuple(rows)


def _agreement_lines(first_path: Path, second_path: Path, *, with_list: bool) -> Iterator[str]:
    first, second = load_labels(first_path), load_labels(second_path)
    shared = set(first) & set(second)
    for title, clear_only in (("all labels", False), ("without borderline ones", True)):
        yield f"{title:24}    n  agree      κ  both  first only  second only  neither"
        for row in agreement(first, second, clear_only=clear_only):
            kappa = "     –" if row.kappa is None else f"{row.kappa:6.3f}"
            counts = f"{row.both_met:5}  {row.first_only:10}  {row.second_only:11}  {row.neither:7}"
            yield f"{row.criterion:24} {row.n:4}  {row.share:5.3f} {kappa} {counts}"
    yield f"{len(shared)} answers labelled by both, {len(set(first) ^ set(second))} by one only"
    for one in sorted(shared) if with_list else ():
        for criterion in CRITERION_IDS:
            a, b = first[one].labels[criterion], second[one].labels[criterion]
            if a.label != b.label:
                yield f"{one} {criterion}: {a.label} ({a.reason}) / {b.label} ({b.reason})"


def blind(answers: Sequence[GoldAnswer], *, seed: int) -> Iterator[dict[str, str | int]]:
    """What another labeller may see of the answers: items in order, each item's answers shuffled by `seed`."""
    rng = random.Random(seed)
    for _, group in groupby(answers, key=lambda answer: answer.item_id):
        shuffled = list(group)
        rng.shuffle(shuffled)
        for answer in shuffled:
            yield {
                "id": answer.id,
                "item_id": answer.item_id,
                "item_version": answer.item_version,
                "seed": answer.seed,
                "answer": answer.answer,
            }


def _count_lines(split: GoldSplit) -> Iterator[str]:
    yield f"{'item':44} answers  " + "  ".join(f"{criterion:>12}" for criterion in CRITERION_IDS)
    for part, answers in (("calibration", split.calibration), ("test", split.test)):
        for item_id, group in groupby(answers, key=lambda answer: answer.item_id):
            yield _count_line(item_id, list(group))
        if answers:
            yield _count_line(f"all of {part}", answers)


def _count_line(name: str, answers: Sequence[GoldAnswer]) -> str:
    shares = (sum(answer.labels[criterion].met for answer in answers) / len(answers) for criterion in CRITERION_IDS)
    return f"{name:44} {len(answers):7}  " + "  ".join(f"{share:8.0%} met" for share in shares)


def _blind_lines(folder: Path, item: str | None, seed: int) -> Iterator[str]:
    answers = [answer for answer in load_gold(folder) if item in (None, answer.item_id)]
    if not answers:
        raise GoldError(f"{folder}: no answers to {item}; run without --blind to see which items have some")
    for line in blind(answers, seed=seed):
        yield json.dumps(line, ensure_ascii=False)


def main(argv: Sequence[str] | None = None) -> int:
    """The commands above; 0, or 2 with one sentence on standard error when a file cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m rubrics.answer_gold", description="Labelled answers.")
    parser.add_argument("--folder", type=Path, default=SERVING_DIR, help="where the gold files are")
    parser.add_argument("--item", help="with --blind: only answers to this item")
    parser.add_argument("--seed", type=int, default=0, help="with --blind: how each item's answers are shuffled")
    parser.add_argument("--list", action="store_true", help="with --agreement: each label on which the two differ")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--blind", action="store_true", help="the answers as JSON lines, without labels")
    what.add_argument("--agreement", nargs=2, type=Path, metavar=("FIRST", "SECOND"), help="two label files or folders")
    options = parser.parse_args(argv)
    try:
        if options.agreement:
            lines = _agreement_lines(*options.agreement, with_list=options.list)
        elif options.blind:
            lines = _blind_lines(options.folder, options.item, options.seed)
        else:
            lines = _count_lines(load_split(options.folder))
        for line in lines:
            sys.stdout.write(line + "\n")
    except GoldError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
