"""Our items as an Anki deck (`.apkg`), written by genanki.

A note is known by its guid, which comes from the item's id, so that importing a newer deck into Anki updates the notes
in place and keeps what Anki knows about them.
"""

from __future__ import annotations

import hashlib
import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tutor.drills.log import DrillError
from tutor.errors import TutorError
from tutor.paths import private_opener
from tutor.text import sanitize

if TYPE_CHECKING:
    from question_bank import Question
    from tutor.drills.drills import Drills

FIELDS: Final = ("Item", "Front", "Back", "Note")
NOTE_TYPE: Final = "Tutor item"
DECK: Final = "Tutor"


def guid_of(item_id: str) -> str:
    """The identity of an item's note in Anki."""
    return f"tutor-{hashlib.sha256(item_id.encode()).hexdigest()[:16]}"


def number_of(what: str) -> int:
    """A stable identity for a deck or a note type, in the range that Anki uses."""
    return int.from_bytes(hashlib.sha256(f"tutor:{what}".encode()).digest()[:4], "big") % (1 << 30) + (1 << 30)


def front_of(question: Question) -> str:
    """The question as HTML, with its options where it has some."""
    options = "".join(f"<li>{html.escape(sanitize(option.text))}</li>" for option in question.options)
    return as_html(question.prompt) + (f'<ol type="A">{options}</ol>' if options else "")


def as_html(markdown: str) -> str:
    """The little Markdown that items use, as HTML: paragraphs, emphasis, code, lists. Everything else is text."""
    out: list[str] = []
    tag, parts = "p", list[str]()

    def close() -> None:
        if not parts:
            return
        if tag == "pre":
            out.append("<pre>" + "\n".join(parts) + "</pre>")
        elif tag == "p":
            out.append(f"<p>{_inline(' '.join(parts))}</p>")
        else:
            out.append(f"<{tag}>" + "".join(f"<li>{_inline(part)}</li>" for part in parts) + f"</{tag}>")
        parts.clear()

    for line in html.escape(sanitize(markdown).strip("\n"), quote=False).splitlines():
        text = line.strip()
        marked = re.match(r"(?:([-*])|\d+\.) +(.*)", text)
        if not text:
            close()
            tag = "p"
        elif marked is not None:
            wanted = "ul" if marked[1] else "ol"
            if tag != wanted:
                close()
            tag = wanted
            parts.append(marked[2])
        elif tag in ("ul", "ol") and parts:
            parts[-1] += f" {text}"
        elif line.startswith("    ") and (tag == "pre" or not parts):
            tag = "pre"
            parts.append(line[4:])
        else:
            if tag != "p":
                close()
            tag = "p"
            parts.append(text)
    close()
    return "".join(out)


def _inline(text: str) -> str:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)


def write_apkg(drills: Drills, file: Path, *, timestamp: float) -> int:
    """Write every item as a note, a deck a lesson, and return how many there are.

    Args:
        drills: of the store; its notes go along.
        file: to be written; must not be there yet.
        timestamp: seconds since the epoch, put into the file as the time of the change.

    Raises:
        TutorError: genanki is not installed, or the file is there or cannot be written.
    """
    try:
        import genanki
    except ImportError:
        raise TutorError(
            "Writing an Anki deck needs genanki, which is not installed.",
            hint="Install it with: pip install 'tutor[anki]'",
            exit_code=3,
        ) from None
    if drills.deck.bank is None:
        raise DrillError("A deck without its bank has no texts to write.")
    if file.exists():
        raise TutorError(f"{file} is there already.", hint="Name another file, or remove it.")
    from question_bank.variants import build_question

    drills.cache.catch_up()
    model = genanki.Model(
        number_of(NOTE_TYPE),
        NOTE_TYPE,
        fields=[{"name": name} for name in FIELDS],
        templates=[
            {
                "name": "Card",
                "qfmt": "{{Front}}",
                "afmt": '{{FrontSide}}<hr id="answer">{{Back}}{{#Note}}<hr>{{Note}}{{/Note}}',
            }
        ],
        css=".card { font-family: sans-serif; font-size: 18px; text-align: left; }",
        sort_field_index=0,
    )
    decks: dict[str, Any] = {}
    for lesson in drills.deck.bank.lessons:
        name = f"{DECK}::{lesson.title.replace('::', ': ')}"
        decks[lesson.id] = genanki.Deck(number_of(lesson.id), name)
    for item in drills.deck.items:
        question = build_question(drills.deck.bank.item(item.id), 0)
        note = drills.cache.card(item.id).state.note
        decks[item.lesson_id].add_note(
            genanki.Note(
                model=model,
                guid=guid_of(item.id),
                fields=[item.id, front_of(question), as_html(question.reference), html.escape(note)],
                tags=list(item.topics),
            )
        )
    try:
        open(file, "x", opener=private_opener).close()
        genanki.Package(list(decks.values())).write_to_file(str(file), timestamp=timestamp)
    except OSError as error:
        raise TutorError(f"{file} cannot be written: {error.strerror or error}.", hint="Name another file.") from None
    return len(drills.deck.items)
