"""A question with hand-worked numbers, independent of what the bank holds."""

from __future__ import annotations

from question_bank.question import CriterionGuide, ExampleAnswer, Expected, Quantity, Question, Slip

_FULL = (
    "First token: 100 + 40 + 160 = 300 ms. 31 tokens leave 30 gaps, so completion is 300 + 30 × 25 = 1,050 ms. "
    "If the queue doubles, both first token and completion rise by 100 ms while the gaps stay at 25 ms. "
    "I would record queue time per request; if it stays at 100 ms while TTFT grows, my explanation is wrong."
)


def make_question(
    queue: float = 100, prep: float = 40, prefill: float = 160, tokens: int = 31, gap: float = 25
) -> Question:
    """First token = queue + prep + prefill; completion = first token + (tokens - 1) × gap, in ms."""
    ttft = queue + prep + prefill
    gaps = tokens - 1
    total = ttft + gaps * gap
    return Question(
        item_id="test/completion-time",
        item_version=1,
        kind="exercise",
        seed=0,
        title="Completion time",
        topics=("ttft",),
        difficulty=1,
        minutes=5,
        prompt=(
            f"A request waits {queue:g} ms in the queue, spends {prep:g} ms in preprocessing and {prefill:g} ms in "
            f"prefill, then produces {tokens} output tokens with {gap:g} ms gaps. When does the first token arrive "
            "and when is the request complete? Which metric would reveal that the queue doubled? Say what could "
            "prove you wrong."
        ),
        parameters={},
        givens=(
            Quantity(name="queue_ms", label="queueing", value=queue, unit="ms"),
            Quantity(name="prep_ms", label="preprocessing", value=prep, unit="ms"),
            Quantity(name="prefill_ms", label="prefill", value=prefill, unit="ms"),
            Quantity(name="tokens", label="output tokens", value=tokens, unit="tokens"),
            Quantity(name="gap_ms", label="gap", value=gap, unit="ms"),
        ),
        expected=(
            Expected(name="ttft_ms", label="time to first token", value=ttft, unit="ms", rel_tolerance=0.01,
                     synonyms=("first token", "TTFT")),
            Expected(name="e2e_ms", label="completion time", value=total, unit="ms", rel_tolerance=0.01,
                     synonyms=("completion", "end-to-end", "last token")),
        ),
        slips=(
            Slip(id="n-gaps", expected="e2e_ms", value=ttft + tokens * gap, unit="ms",
                 diagnosis="multiplied by the number of tokens; n tokens have n − 1 gaps"),
            Slip(id="prefill-only", expected="ttft_ms", value=prefill, unit="ms",
                 diagnosis="took prefill alone; the wait in the queue and preprocessing come first"),
            Slip(id="no-queue", expected="ttft_ms", value=prep + prefill, unit="ms", diagnosis="left out the queue"),
        ),
        derived=(
            Quantity(name="gaps", label="gaps", value=gaps, unit="gaps"),
            Quantity(name="decode_ms", label="decode time", value=gaps * gap, unit="ms"),
        ),
        criteria={
            "result": CriterionGuide(
                statement=f"First token at {ttft:g} ms, completion at {total:g} ms.", key_points=(), not_enough=(),
                met_example=f"{ttft:g} ms and {total:g} ms", nearly_example=f"{ttft:g} ms",
            ),
            "reasoning": CriterionGuide(
                statement=(
                    f"Queueing, preprocessing and prefill add up to the first token; {tokens} tokens leave {gaps} "
                    "gaps, which are multiplied by the gap and added."
                ),
                key_points=("the three stages before the first token are added", f"{tokens} tokens have {gaps} gaps"),
                not_enough=("the final numbers alone",),
                met_example=f"{queue:g} + {prep:g} + {prefill:g} first, then {gaps} gaps of {gap:g} ms.",
                nearly_example="I added the stages and then the gaps.",
            ),
            "failure": CriterionGuide(
                statement=(
                    f"A doubled queue adds {queue:g} ms to both first token and completion; the gap between tokens "
                    "does not change."
                ),
                key_points=(f"both times rise by {queue:g} ms", "inter-token latency stays the same"),
                not_enough=("saying that it gets slower",),
                met_example=f"Twice the queue adds {queue:g} ms to both; inter-token latency stays {gap:g} ms.",
                nearly_example="If the queue doubles, it gets slower.",
            ),
            "verification": CriterionGuide(
                statement=(
                    "Measure the queue duration separately from prefill; if it is unchanged while the first token is "
                    "late, the explanation is wrong."
                ),
                key_points=("queue time measured apart", "an outcome that would refute"),
                not_enough=("check the dashboard",),
                met_example="Log queue time apart; were it flat while TTFT grew, I would be wrong.",
                nearly_example="I would look at the dashboard to see the latency.",
            ),
        },
        follow_ups=(),
        weak_indicators=(),
        hints=(),
        reference=_FULL if (queue, tokens) == (100, 31) else f"{ttft:g} ms and {total:g} ms",
        example_answers=(ExampleAnswer(id="full", text=_FULL, met=("result", "reasoning", "failure", "verification")),),
        options=(),
        levels=(),
        simulation=None,
    )  # fmt: skip
