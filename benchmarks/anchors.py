"""Score the built-in items' example answers once with the built-in model, for `tutor/grading/anchors.json`.

    python -m benchmarks.anchors

A grade reads the model's verdict relative to these. They are found again by a hash of the model and of every word
sent, so after a change of an item's or a prompt's text this has to be run again; until then the program scores the
changed item itself, at its first use.
"""

from __future__ import annotations

import asyncio
import json

from question_bank import build_question, load_bank
from tutor.grader import ANCHOR_SEED
from tutor.grading.grade import compose
from tutor.grading.judge import SHIPPED_ANCHORS, AnchorCache, judge, key, messages
from tutor.grading.models import CRITERIA
from tutor.llm.capabilities import probe_capabilities
from tutor.llm.catalogue import DEFAULT_ENTRY
from tutor.llm.embedded import EmbeddedServer
from tutor.llm.types import Deadlines
from tutor.settings import load_settings


async def main() -> None:
    """Write the file anew; what is in it already under the right hash is kept."""
    settings = load_settings()
    server = EmbeddedServer(settings.model_dir / DEFAULT_ENTRY.file_name, settings.model.context_tokens)
    endpoint = await server.start()
    cache, found = AnchorCache(), {}
    try:
        capabilities = await probe_capabilities(endpoint, known=server.capabilities)
        for item in load_bank().items:
            question = build_question(item, ANCHOR_SEED)
            # A result that is a number is decided by code alone.
            wanted = [c for c in CRITERIA if c in question.criteria and not (c == "result" and question.expected)]
            for which in ("met", "nearly") if wanted else ():
                answer = compose(question, which)
                for criterion in wanted:
                    logit = await judge(endpoint, capabilities, question, answer, criterion, Deadlines(), cache)
                    chat = messages(question, answer, question.criteria[criterion].statement)
                    found[key(endpoint, chat)] = round(logit.logit, 4)
            print(f"{item.id}: {len(wanted)} criteria", flush=True)
    finally:
        await server.stop()
    SHIPPED_ANCHORS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(found)} anchors")


if __name__ == "__main__":
    asyncio.run(main())
