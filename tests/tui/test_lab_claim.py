"""Claims in the lab: statements by form, settled with an interval, saved; nothing wrong is ever run."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from textual.widgets import Input

from sim.experiment.terms import Term
from tests.tui.conftest import OpenTutor, TutorPilot, text_of
from tests.tui.test_lab import SIZES, open_bench, until
from tutor.lab.claim_log import settled_claims
from tutor.lab.quantities import Chosen
from tutor.lab.statements import term_of, words_of
from tutor.store import Store
from tutor.tui.screens.lab_claim import TESTING, ClaimScreen
from tutor.tui.screens.lab_run import ready_for_processes
from tutor.tui.widgets.choice_row import ChoiceRow


async def open_claim(pilot: TutorPilot, name: str = "long_prompts_among_chats", budget: str = "256") -> ClaimScreen:
    """A changed scenario and F6."""
    bench = await open_bench(pilot, name)
    if budget:
        field = bench.form.inputs["server.token_budget"]
        field.focus()
        await pilot.press("end", *["backspace"] * len(field.value), *budget)
        await pilot.pause()
    await pilot.press("f6")
    await until(lambda: isinstance(pilot.app.screen, ClaimScreen))
    screen = pilot.app.screen
    assert isinstance(screen, ClaimScreen)
    await pilot.pause()
    return screen


async def settle(pilot: TutorPilot, screen: ClaimScreen) -> None:
    """^S, to the verdict."""
    screen.outcome = None
    await pilot.press("ctrl+s")
    await until(lambda: screen.outcome is not None, 60)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_a_claim_by_keys_is_settled_with_its_interval(open_tutor: OpenTutor, size: tuple[int, int]) -> None:
    async with open_tutor(size) as pilot:
        screen = await open_claim(pilot)
        assert screen.max_scroll_x == 0
        await pilot.press(*"20", "f9")
        await pilot.pause()
        assert "chat ITL p95 is at most 20 ms" in text_of(pilot)
        screen.query_one("#class", ChoiceRow).choose("document")
        screen.query_one("#quantity", ChoiceRow).choose("ttft_s")
        screen.query_one("#relation", ChoiceRow).choose("higher")
        await settle(pilot, screen)
        outcome = screen.outcome
        assert outcome is not None
        assert [words_of(one.term) for one in outcome.terms] == [
            "chat ITL p95 is at most 20 ms",
            "document TTFT p95 is higher",
        ]
        assert outcome.verdict == "supported"
        screen.query_one("#page").scroll_end(animate=False)
        await pilot.pause()
        text = text_of(pilot)
        assert "supported" in text
        assert "├" in text
        assert "▒" in text


async def test_a_wrong_claim_is_refuted_and_saved(open_tutor: OpenTutor, tmp_path: Path) -> None:
    async with open_tutor() as pilot:
        screen = await open_claim(pilot)
        screen.query_one("#relation", ChoiceRow).choose("at_least")
        screen.query_one("#value", Input).focus()
        await pilot.press(*"40")
        await settle(pilot, screen)
        assert "✗ refuted" in text_of(pilot)
        await pilot.press("s")
        screen.query_one("#save-path", Input).value = str(tmp_path / "claim.html")
        await pilot.press("enter")
        await until(lambda: (tmp_path / "claim.html").exists() and not screen.job, 30)
        text = (tmp_path / "claim.html").read_text(encoding="utf-8")
        assert "chat ITL p95 is at least 40 ms: refuted" in text
        assert "token_budget: 256" in text
        assert "first seed" in text


async def test_a_line_takes_in_change_and_statements_and_a_mistake_points_at_its_word(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await open_claim(pilot, budget="")
        line = screen.query_one("#line", Input)
        line.focus()
        line.value = "token_budget -> 256: chat itl p95 at mist 20 ms"
        await pilot.press("enter")
        await pilot.pause()
        assert "After “at” comes “most” or “least”." in text_of(pilot)
        assert screen.terms == []
        line.value = "token_budget 2048 -> 256: chat itl p95 at most 20 ms and document ttft p95 higher"
        await pilot.press("ctrl+s")
        await until(lambda: screen.outcome is not None, 60)
        await pilot.pause()
        assert "token_budget" in str(screen.query_one("#change").render())
        assert [words_of(term) for term in screen.terms] == [
            "chat ITL p95 is at most 20 ms",
            "document TTFT p95 is higher",
        ]
        assert screen.outcome is not None
        assert screen.outcome.verdict == "supported"
        await pilot.press("escape", "f6")
        await until(lambda: isinstance(pilot.app.screen, ClaimScreen) and pilot.app.screen is not screen)
        await pilot.pause()
        assert pilot.app.screen.query_one("#line", Input).value == line.value


async def test_o_tries_to_overturn_it_and_says_what_was_not_shown(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor((100, 50)) as pilot:
        screen = await open_claim(pilot, "trial_baseline", "")
        await pilot.press(*"50")
        screen.query_one("#quantity", ChoiceRow).choose("itl_s")
        await settle(pilot, screen)
        assert screen.outcome is not None
        assert screen.outcome.verdict == "supported"
        assert "other loads and faults, not tried yet" in screen.summary_words()
        await pilot.press("o")
        await until(lambda: bool(screen.probed) and not screen.job, 60)
        await pilot.pause()
        text = text_of(pilot)
        assert "other seeds: supported" in text
        assert "not tried, there is one replica" in text
        assert "Not shown:" in text
        (kept,) = settled_claims(store)
        assert kept.settled.verdict == "supported"
        assert dict(kept.probes)["other seeds"] == "supported"
        assert kept.summary == screen.summary_words()
        # A new test forgets what was tried for the old one.
        await settle(pilot, screen)
        assert screen.probed == []
        assert len(settled_claims(store)) == 2
        await pilot.press("escape", "escape", "p")
        await until(lambda: "chat ITL p95 is at most 50 ms: supported" in text_of(pilot))


async def test_processes_can_be_started_while_the_screens_are_shown(open_tutor: OpenTutor) -> None:
    def in_a_process() -> int:
        ready_for_processes()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(abs, -7).result(timeout=60)

    async with open_tutor():
        # Textual's stand-in for stderr has no descriptor, which multiprocessing would hand to its helper.
        assert sys.stderr.fileno() == -1
        assert await asyncio.to_thread(in_a_process) == 7


async def test_the_intervals_are_shown_while_more_is_run(open_tutor: OpenTutor) -> None:
    async with open_tutor((100, 50)) as pilot:
        screen = await open_claim(pilot, "trial_baseline", "")
        await pilot.press(*"50")
        screen.query_one("#quantity", ChoiceRow).choose("itl_s")
        await settle(pilot, screen)
        assert screen.outcome is not None
        terms = screen.outcome.terms
        screen.job = TESTING  # as if another test were under way
        screen.post_message(ClaimScreen.SoFar(terms, 4))
        await pilot.pause()
        text = text_of(pilot)
        assert "after 4 replications" in text
        assert "├" in text
        assert "supported" not in text
        screen.post_message(ClaimScreen.Ended(TESTING, None, "The run broke off."))
        await until(lambda: "after 4 replications" not in text_of(pilot))
        assert "The run broke off." in text_of(pilot)


async def test_what_is_wrong_with_an_amount_is_said_and_nothing_runs(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await open_claim(pilot)
        for relation, amount, said in (
            ("at_most", "", "The amount is empty"),
            ("at_most", "soon", "The amount is not a number"),
            ("within", "30", "is no range"),
            ("lower_by", "", "write it in %"),
        ):
            screen.query_one("#relation", ChoiceRow).choose(relation)
            screen.query_one("#value", Input).value = amount
            await pilot.press("ctrl+s")
            await pilot.pause()
            assert said in text_of(pilot)
            assert not screen.job


async def test_without_a_change_nothing_is_compared_and_what_was_typed_is_kept(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await open_claim(pilot, budget="")
        screen.query_one("#relation", ChoiceRow).choose("higher")
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "Nothing is changed" in text_of(pilot)
        assert not screen.job
        screen.query_one("#relation", ChoiceRow).choose("at_most")
        screen.query_one("#value", Input).focus()
        await pilot.press(*"12", "escape", "f6")
        await until(lambda: isinstance(pilot.app.screen, ClaimScreen) and pilot.app.screen is not screen)
        await pilot.pause()
        assert pilot.app.screen.query_one("#value", Input).value == "12"


@pytest.mark.parametrize(
    ("relation", "amount", "term", "words"),
    [
        ("at_most", "50", Term("chat.itl_s.p95", "at_most", 0.05), "chat ITL p95 is at most 50 ms"),
        ("at_least", "1,000", Term("chat.itl_s.p95", "at_least", 1.0), "chat ITL p95 is at least 1,000 ms"),
        (
            "within",
            "30 to 50",
            Term("chat.itl_s.p95", "within", 0.03, upper=0.05),
            "chat ITL p95 is between 30 and 50 ms",
        ),
        ("lower", "", Term("chat.itl_s.p95", "at_most", 0.0, "difference"), "chat ITL p95 is lower"),
        (
            "lower_by",
            "10 %",
            Term("chat.itl_s.p95", "at_most", -0.1, "change"),
            "chat ITL p95 is lower by at least 10 %",
        ),
        (
            "higher_by",
            "10",
            Term("chat.itl_s.p95", "at_least", 0.1, "change"),
            "chat ITL p95 is higher by at least 10 %",
        ),
    ],
)
def test_statements_in_the_simulators_units(relation: str, amount: str, term: Term, words: str) -> None:
    assert term_of(Chosen("chat", "itl_s", "p95"), relation, amount) == term
    assert words_of(term) == words


@pytest.mark.parametrize("size", SIZES)
async def test_a_sentence_becomes_a_line_to_be_corrected_and_nothing_runs(
    open_tutor: OpenTutor, size: tuple[int, int]
) -> None:
    async with open_tutor(size) as pilot:
        screen = await open_claim(pilot, "trial_baseline", "")
        field = screen.query_one("#line", Input)
        field.focus()
        field.value = "bounded chunks keep the chat gaps under 50 ms and still raise the output rate"
        await pilot.press("enter")
        await pilot.pause()
        assert field.value == "server.chunk_tokens -> ?: chat itl p95 at most 50 ms and all tokens/s higher"
        text = text_of(pilot)
        assert "open: what chunk_tokens is changed to" in text
        assert "as usual: p95 of chat itl" in text
        assert "Nothing was run" in text
        # The mark stands where the value goes, and ^S takes the line no further while it is open.
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert not screen.job
        assert screen.terms == []
        at = field.value.index("?")
        field.value = field.value.replace("?", "512")
        field.cursor_position = at
        await pilot.press("enter")
        await pilot.pause()
        assert [words_of(term) for term in screen.terms] == [
            "chat ITL p95 is at most 50 ms",
            "all tokens/s is higher",
        ]
        assert "160 → 512" in text_of(pilot)
        assert not screen.job


async def test_a_sentence_without_a_claim_stays_as_it_was_typed(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await open_claim(pilot, "trial_baseline", "")
        field = screen.query_one("#line", Input)
        field.focus()
        field.value = "chunked prefill is good for everybody"
        await pilot.press("enter")
        await pilot.pause()
        assert field.value == "chunked prefill is good for everybody"
        assert "No claim is read in it" in text_of(pilot)
        assert not screen.job
