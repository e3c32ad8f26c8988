"""The lab: choosing, changing and running a scenario, its plots and tables; at every size, nothing typed is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Input, OptionList

from tests.tui.conftest import OpenTutor, TutorPilot, text_of
from tests.tui.conftest import until as wait_until
from tutor.interview import check_interviews
from tutor.lab.gallery import begun
from tutor.store import Store
from tutor.tui.screens.home import HomeScreen
from tutor.tui.screens.interview import InterviewScreen
from tutor.tui.screens.lab import LabScreen
from tutor.tui.screens.lab_bench import BenchScreen
from tutor.tui.screens.lab_plots import PAGES, PlotsScreen

SIZES = [
    (80, 24),
    pytest.param((60, 20), marks=pytest.mark.slow),
    pytest.param((120, 40), marks=pytest.mark.slow),
    pytest.param((200, 50), marks=pytest.mark.slow),
]


async def until(condition: Callable[[], bool], limit_s: float = 40.0) -> None:
    """As everywhere, with patience for a machine that is busy: a bench has a hundred widgets."""
    await wait_until(condition, limit_s)


async def open_lab(pilot: TutorPilot) -> LabScreen:
    """From Home to the list."""
    await pilot.press("b")
    await until(lambda: isinstance(pilot.app.screen, LabScreen))
    screen = pilot.app.screen
    assert isinstance(screen, LabScreen)
    await pilot.pause()
    return screen


async def open_bench(pilot: TutorPilot, name: str) -> BenchScreen:
    """To a built-in scenario's bench."""
    lab = await open_lab(pilot)
    lab.open_entry(lab.entries[f"builtin/{name}"])
    await until(lambda: isinstance(pilot.app.screen, BenchScreen) and bool(pilot.app.screen.query(".value")))
    screen = pilot.app.screen
    assert isinstance(screen, BenchScreen)
    await pilot.pause()
    return screen


async def run(pilot: TutorPilot, bench: BenchScreen) -> None:
    """F2, to its end."""
    await pilot.press("f2")
    await until(lambda: not bench.job and bench.pair is not None, 30)
    await pilot.pause()


def field(bench: BenchScreen, path: str) -> Input:
    """The form's field for a path."""
    return bench.form.inputs[path]


@pytest.mark.parametrize("size", SIZES)
async def test_every_size_shows_the_list_the_bench_and_all_pages(open_tutor: OpenTutor, size: tuple[int, int]) -> None:
    async with open_tutor(size) as pilot:
        lab = await open_lab(pilot)
        assert lab.max_scroll_x == 0
        assert "none yet; n begins one, o opens a file" in text_of(pilot)
        assert "Built in (20)" in text_of(pilot)
        assert ("about" in text_of(pilot) or lab.query_one("#about").display) or size[0] < 120
        bench = await open_bench_from(pilot, lab, "trial_baseline")
        assert bench.max_scroll_x == 0
        assert bench.query_one("#text-column").display is (size[0] >= 120)
        await run(pilot, bench)
        assert "chat TTFT p95" in text_of(pilot)
        keys = text_of(pilot).splitlines()[-1]
        assert "F7 plots" in keys
        # What does not fit is left out whole, and help has all of it.
        assert keys.rstrip().endswith(("help", "palette", "add field", "plots", "as it came"))
        await pilot.press("f7")
        await until(lambda: isinstance(pilot.app.screen, PlotsScreen))
        plots = pilot.app.screen
        assert isinstance(plots, PlotsScreen)
        for tables in (False, True):
            for _ in PAGES:
                await until(lambda: not plots.job, 30)
                await pilot.pause()
                assert plots.max_scroll_x == 0
                for line in plots.query(".page .text"):
                    if line.size.width:
                        # Sentences wrap; what is drawn or stands in columns must fit.
                        rows = [row for row in str(line.render()).splitlines() if set(row) & set("│┤└") or "  " in row]
                        assert all(cell_len(row) <= line.size.width for row in rows)
                await pilot.press("right")
            assert plots.tables is tables
            await pilot.press("t")


async def open_bench_from(pilot: TutorPilot, lab: LabScreen, name: str) -> BenchScreen:
    """As `open_bench`, with the list in front."""
    lab.open_entry(lab.entries[f"builtin/{name}"])
    await until(lambda: isinstance(pilot.app.screen, BenchScreen) and bool(pilot.app.screen.query(".value")))
    screen = pilot.app.screen
    assert isinstance(screen, BenchScreen)
    await pilot.pause()
    return screen


async def test_a_change_in_the_form_changes_the_text_and_is_run_against_the_baseline(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "long_prompts_among_chats")
        before = bench.editor.text
        field(bench, "server.token_budget").focus()
        await pilot.press("end", *["backspace"] * 6, *"256")
        await pilot.pause()
        assert bench.checked.scenario is not None
        assert bench.checked.scenario.server.token_budget == 256
        assert bench.editor.text.count("\n") == before.count("\n")
        assert "• was" in text_of(pilot)
        assert "server.token_budget" in text_of(pilot)
        await run(pilot, bench)
        text = text_of(pilot)
        assert "baseline" in text
        assert "yours" in text
        assert bench.pair is not None
        assert bench.pair.baseline is not None
        # The same requests on both sides.
        assert bench.pair.baseline.submitted == bench.pair.yours.submitted
        await pilot.press("f8")
        await pilot.pause()
        assert bench.editor.text == before
        assert "as it came" in text_of(pilot)


async def test_what_is_wrong_is_said_as_it_is_typed_with_the_field_and_cannot_be_run(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "kv_pressure")
        field(bench, "server.max_seqs").focus()
        await pilot.press("end", *["backspace"] * 3, "0")
        await pilot.pause()
        assert "server.max_seqs: must be at least 1, not 0" in text_of(pilot)
        assert "✗ see below" in text_of(pilot)
        assert "F2 run" not in text_of(pilot)
        await pilot.press("f2")
        await pilot.pause()
        assert not bench.job
        await pilot.press("f3")
        await pilot.pause()
        assert bench.editor.has_focus
        # The text is shown at the line of the mistake.
        assert bench.editor.cursor_location[0] == bench.checked.line - 1  # type: ignore[operator]
        bench.editor.load_text("name: [\n")
        await pilot.pause()
        assert "not valid YAML" in text_of(pilot)


async def test_fast_typing_in_a_field_puts_every_key_into_its_place(open_tutor: OpenTutor) -> None:
    async with open_tutor((120, 40)) as pilot:
        bench = await open_bench(pilot, "kv_pressure")
        field(bench, "classes.chat.arrivals.rate_per_s").focus()
        await pilot.press("end", "backspace", "backspace", *"12345")
        field(bench, "server.kv_blocks").focus()
        await pilot.press("home", *"98")
        await pilot.pause()
        text = bench.editor.text
        assert "rate_per_s: 12345, count: 1500}" in text
        assert "kv_blocks: 981400}" in text
        # An opened quote is no YAML for a while; what follows stays in its place.
        field(bench, "server.policy").focus()
        await pilot.press("home", "quotation_mark")
        await pilot.pause()
        assert bench.checked.scenario is None
        await pilot.press("end", "quotation_mark")
        await pilot.pause()
        assert 'policy: "vllm"' in bench.editor.text
        assert bench.checked.scenario is not None


async def test_a_field_that_is_not_in_the_text_is_added_with_completion(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "kv_pressure")
        await pilot.press("f9", *"server.waterm")
        await until(lambda: bench.query_one("#add-field", Input)._suggestion != "")
        await pilot.press("right", *"0.05", "enter")
        await until(lambda: "server.watermark" in bench.form.inputs)
        assert "watermark: 0.05}" in bench.editor.text
        assert "Changed  server.watermark (default) → 0.05" in text_of(pilot)
        await pilot.press("f9", *"nonsense", "enter")
        await pilot.pause()
        assert "Write path = value" in text_of(pilot)


async def test_what_was_changed_is_there_again_and_can_be_put_back(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "kv_pressure")
        field(bench, "server.kv_blocks").focus()
        await pilot.press("end", "0", "escape")
        await until(lambda: isinstance(pilot.app.screen, LabScreen))
        await pilot.pause()
        assert "• kv_pressure" in text_of(pilot)
        assert "kv_blocks: 14000" in begun(store)["builtin/kv_pressure"]
        assert check_interviews(store) == []
        lab = pilot.app.screen
        assert isinstance(lab, LabScreen)
        again = await open_bench_from(pilot, lab, "kv_pressure")
        assert field(again, "server.kv_blocks").value == "14000"
        await pilot.press("f8", "escape")
        await until(lambda: pilot.app.screen is lab)
        assert begun(store) == {}


async def test_a_long_text_is_read_when_the_keys_rest(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "kv_pressure")
        bench.editor.load_text("# padding\n" * 1000 + bench.entry.text.replace("max_seqs: 128", "max_seqs: 0"))
        await pilot.pause()
        assert bench.checked.scenario is None
        await until(lambda: "must be at least 1" in bench.checked.sentence)
        bench.editor.load_text("# padding\n" * 1000 + bench.entry.text)
        await until(lambda: bench.checked.scenario is not None)


async def test_a_run_can_be_stopped_and_the_screen_answers_meanwhile(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "kv_pressure")
        path = "classes.chat.arrivals.count"
        field(bench, path).focus()
        await pilot.press("end", *"00")
        await pilot.pause()
        await pilot.press("f2")
        await until(lambda: "Esc stops it" in text_of(pilot))
        # Typing goes on while it runs.
        await pilot.press("backspace")
        assert field(bench, path).value == "15000"
        await pilot.press("escape")
        await until(lambda: not bench.job, 20)
        assert pilot.app.screen is bench
        assert "F2 run" in text_of(pilot)


async def test_a_scenario_that_cannot_be_run_says_why(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "kv_pressure")
        field(bench, "server.kv_blocks").focus()
        await pilot.press("end", "backspace", "backspace", "backspace")
        await pilot.press("f2")
        await until(lambda: not bench.job, 20)
        await pilot.pause()
        assert "✗" in str(bench.query_one("#state").render())
        assert bench.pair is None


async def test_a_file_of_ones_own_is_opened_and_never_read_as_markup(open_tutor: OpenTutor, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "# [red]Mine[/] teaches [/nothing]\nname: '[b]bold[/]'\nclasses:\n  - name: chat\n    prompt_tokens: 10\n"
        "    output_tokens: 2\n    arrivals: {kind: times, times_s: [0.0, 1.0]}\n"
        "server: {policy: continuous, max_seqs: 1}\nstep_cost: {kind: linear, base_s: 0.01}\n",
        encoding="utf-8",
    )
    async with open_tutor() as pilot:
        lab = await open_lab(pilot)
        await pilot.press("o")
        lab.query_one("#path", Input).value = str(tmp_path / "none.yaml")
        await pilot.press("enter")
        await pilot.pause()
        assert "no such file" in str(lab.query_one("#notice").render())
        lab.query_one("#path", Input).value = str(path)
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, BenchScreen) and bool(pilot.app.screen.query(".value")))
        await pilot.pause()
        text = text_of(pilot)
        assert "[red]Mine[/] teaches [/nothing]" in text
        assert "[b]bold[/]" in text
        bench = pilot.app.screen
        assert isinstance(bench, BenchScreen)
        await run(pilot, bench)
        await pilot.press("f7", *["right"] * 6)
        await until(lambda: "No arrivals of this scenario have a rate" in text_of(pilot))


async def test_prediction_items_of_the_bank_are_begun_from_the_list(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        lab = await open_lab(pilot)
        lab.query_one("#scenarios", OptionList).action_last()
        await pilot.pause()
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, InterviewScreen))
        screen = pilot.app.screen
        assert isinstance(screen, InterviewScreen)
        assert screen.session.question is not None
        assert screen.session.question.kind == "prediction"
        await pilot.pause()
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is lab)


async def test_esc_leads_home_and_enter_opens_the_highlighted_scenario(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        lab = await open_lab(pilot)
        assert lab.query_one("#scenarios", OptionList).highlighted_option is not None
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, BenchScreen))
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is lab)
        await pilot.press("o", "escape")
        assert pilot.app.screen is lab
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))


async def test_s_saves_what_is_shown_or_says_why_not(open_tutor: OpenTutor, tmp_path: Path) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "scheduler_trace")
        await run(pilot, bench)
        await pilot.press("f7", "s")
        plots = pilot.app.screen
        assert isinstance(plots, PlotsScreen)
        await pilot.pause()
        name = plots.query_one("#save-path", Input)
        assert name.has_focus
        assert "scheduler_trace" in name.value
        name.value = str(tmp_path / "x.pdf")
        await pilot.press("enter")
        await until(lambda: "a report is written as" in text_of(pilot))
        name.value = str(tmp_path / "x.html")
        await pilot.press("enter")
        await until(lambda: "Saved as" in text_of(pilot), 30)
        assert "chunk_tokens: 512" in (tmp_path / "x.html").read_text(encoding="utf-8")
        await pilot.press("s", "escape")
        assert pilot.app.screen is plots
