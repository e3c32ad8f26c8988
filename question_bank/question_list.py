"""Simple lists of questions in Markdown or CSV become items of a lesson.

Markdown: a heading for each question, its text, and then either a task list with the right option ticked or, after a
line `Answer:`, the answer. An indented line below an option is its reason.

    ## What a token keeps
    What does a token keep in the cache?
    - [x] keys and values
      Later tokens need both.
    - [ ] its query

CSV: a header with `question`, and with `option_1` … `option_8` and `answer` (an option's number or text), or `answer`
alone for an open question; optional are `title`, `topic`, `difficulty` and `reason_1` … `reason_8`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from question_bank.errors import BankError
from question_bank.read import MAX_BYTES

_HEADING = re.compile(r"#{1,6}\s+(.*\S)")
_OPTION = re.compile(r"[-*+]\s+\[([ xX])\]\s+(.*\S)")
_ANSWER = re.compile(r"answer:\s*(.*)", re.IGNORECASE)
_NOT_GIVEN = "No reason was given; write one."
_TO_WRITE = "To be written by the author: {}."


@dataclass(slots=True)
class ListedOption:
    """One option of a question in a list."""

    text: str
    right: bool
    reason: str = ""


@dataclass(slots=True)
class ListedQuestion:
    """One question of a list, and the line on which it begins."""

    line: int
    title: str
    text: str = ""
    options: list[ListedOption] = field(default_factory=list)
    answer: str = ""
    topic: str = ""
    difficulty: int = 1


def read_list(path: Path) -> list[ListedQuestion]:
    """The questions of a .md or .csv file. Raises BankError naming the line and what is missing."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BankError(f"{path}: larger than {MAX_BYTES:,} bytes; split it")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BankError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error.strerror})") from error
    readers = {".md": _markdown, ".markdown": _markdown, ".csv": _csv}
    if path.suffix.lower() not in readers:
        raise BankError(f"{path}: a list of questions ends in .md or .csv")
    questions = list(readers[path.suffix.lower()](path, text))
    if not questions:
        raise BankError(f"{path}: holds no question; in Markdown each begins with a heading, in CSV with a row")
    for question in questions:
        _complete(path, question)
    return questions


def _complete(path: Path, question: ListedQuestion) -> None:
    where = f"{path}:{question.line}: {question.title!r}"
    if not question.text:
        raise BankError(f"{where} has no text; write the question below its heading")
    if question.options:
        right = sum(option.right for option in question.options)
        if right != 1:
            raise BankError(f"{where} has {right} right options; mark exactly one")
        if not 2 <= len(question.options) <= 8:
            raise BankError(f"{where} has {len(question.options)} options; give 2 to 8")
    elif not question.answer:
        raise BankError(f"{where} has neither options nor an answer")


def _markdown(path: Path, text: str) -> Iterator[ListedQuestion]:
    current: ListedQuestion | None = None
    answering = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if heading := _HEADING.fullmatch(line):
            if current is not None:
                yield current
            current, answering = ListedQuestion(number, heading.group(1)[:300]), False
        elif current is None or not line:
            continue
        elif option := _OPTION.fullmatch(line):
            current.options.append(ListedOption(option.group(2), option.group(1) != " "))
        elif current.options and raw[0].isspace():
            last = current.options[-1]
            last.reason = f"{last.reason} {line}".strip()
        elif answer := _ANSWER.fullmatch(line):
            current.answer, answering = answer.group(1), True
        elif answering:
            current.answer = f"{current.answer}\n{line}".strip()
        else:
            current.text = f"{current.text}\n{line}".strip()
    if current is not None:
        # A file of headings above groups of questions ends with a question all the same.
        yield current


def _csv(path: Path, text: str) -> Iterator[ListedQuestion]:
    reader = csv.DictReader(text.splitlines())
    names = [name.strip().casefold() for name in reader.fieldnames or []]
    if "question" not in names or "answer" not in names:
        raise BankError(f"{path}:1: the header needs the columns question and answer; it has {', '.join(names)}")
    for row in reader:
        cells = {str(name).strip().casefold(): (value or "").strip() for name, value in row.items() if name}
        if any(cells.values()):
            yield _row(path, reader.line_num, cells)


def _row(path: Path, line: int, cells: Mapping[str, str]) -> ListedQuestion:
    options = [(number, cells.get(f"option_{number}", "")) for number in range(1, 9)]
    answer, title = cells["answer"], cells.get("title") or cells["question"][:60]
    difficulty = cells.get("difficulty") or "1"
    if difficulty not in {"1", "2", "3"}:
        raise BankError(f"{path}:{line}: difficulty {difficulty!r}; it is 1, 2 or 3")
    question = ListedQuestion(line, title, cells["question"], topic=cells.get("topic", ""), difficulty=int(difficulty))
    for number, option in options:
        if option:
            right = answer == str(number) or answer.casefold() == option.casefold()
            question.options.append(ListedOption(option, right, cells.get(f"reason_{number}", "")))
    if not question.options:
        question.answer = answer
    return question


def to_items(questions: list[ListedQuestion], lesson_id: str, topic: str) -> dict[str, object]:
    """The content of a file of items: a checkpoint for each question with options, else a probe to be finished."""
    taken: set[str] = set()
    items = [_item(question, lesson_id, topic, taken) for question in questions]
    return {"lesson": lesson_id, "items": items}


def to_yaml(data: Mapping[str, object]) -> str:
    """The data as a pack's file holds it."""
    text: str = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=116)
    return text


def _slug(text: str, taken: set[str], fallback: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.casefold())[:6]
    base = "-".join(words)[:50].strip("-") or fallback
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    taken.add(name)
    return name


def _braces(text: str) -> str:
    """Braces would be read as formulas."""
    return text.replace("{", "{{").replace("}", "}}")


def _item(question: ListedQuestion, lesson_id: str, topic: str, taken: set[str]) -> dict[str, object]:
    head: dict[str, object] = {
        "id": f"{lesson_id}/{_slug(question.title, taken, 'question')}",
        "version": 1,
        "kind": "checkpoint" if question.options else "probe",
        "title": question.title,
        "topics": [question.topic or topic],
        "difficulty": question.difficulty,
        "minutes": 1 if question.options else 5,
        "prompt": _braces(question.text),
    }
    if question.options:
        names: set[str] = set()
        keyed = [(_slug(option.text, names, "option"), option) for option in question.options]
        head["options"] = {name: {"text": each.text, "reason": each.reason or _NOT_GIVEN} for name, each in keyed}
        head["answer"] = next(name for name, each in keyed if each.right)
        return head
    answer = _braces(question.answer)
    parts = {
        "result": answer,
        "reasoning": _TO_WRITE.format("why it is so"),
        "failure": _TO_WRITE.format("when it does not hold, and for whom"),
        "verification": _TO_WRITE.format("a measurement and the outcome that would refute it"),
    }
    head["criteria"] = {
        name: {
            "statement": text,
            "key_points": [text],
            "met_example": text,
            "nearly_example": _TO_WRITE.format(f"an answer that just misses {name}"),
        }
        for name, text in parts.items()
    }
    head["weak_indicators"] = [_TO_WRITE.format("what a weak answer says")]
    head["solution"] = answer
    return head
