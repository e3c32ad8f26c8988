"""A model's words as they come, cut into sentences; thinking aloud is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|ca|vs|approx|resp|incl|cf)|^\s*\d{1,2})\.\s*$", re.IGNORECASE)
_THINKING = "<think>"


class Sentences:
    """Takes pieces of text, gives whole sentences."""

    def __init__(self) -> None:
        self._rest = ""
        self._began = False

    def add(self, piece: str) -> Iterator[str]:
        """The sentences that this piece completes."""
        self._rest += piece
        if not self._began:
            start = self._rest.lstrip()
            if _THINKING.startswith(start[: len(_THINKING)]) or start.startswith(_THINKING):
                end = start.find("</think>")
                if end < 0:
                    return
                self._rest = start[end + len("</think>") :]
            self._began = True
        while True:
            cut = next((m for m in _END.finditer(self._rest) if not _ABBREVIATED.search(self._rest[: m.end()])), None)
            if cut is None or (cut.end() == len(self._rest) and "\n" not in cut.group()):
                return
            sentence, self._rest = self._rest[: cut.start()].strip(), self._rest[cut.end() :]
            if sentence:
                yield sentence

    def end(self) -> Iterator[str]:
        """What is left when the model is done."""
        rest = self._rest.strip()
        self._rest = ""
        if rest and (self._began or not rest.startswith("<")):
            yield rest
