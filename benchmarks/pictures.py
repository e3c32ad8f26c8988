"""The pictures in the documentation, made from the real program with whatever model it finds.

    python -m benchmarks.pictures [FOLDER]

Drives the program without a terminal at 80x24, 120x40 and 200x50: Home, the lesson, an answer that is graded,
the simulator's check, and the lab; writes one SVG each. An own, empty data directory is used; the model's folder is
the usual one.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from question_bank import load_bank
from tutor.interview import Session, single_item_plan
from tutor.settings import load_settings
from tutor.store import open_store
from tutor.tui.app import TutorApp, local_now

SIZES = ((80, 24), (120, 40), (200, 50))
EXERCISE = "serving/prefill-decode/completion-time"
ANSWER = (
    "TTFT is queue + preprocessing + prefill: 100 + 40 + 160 = 300 ms. 31 tokens leave 30 gaps, "
    "so the last token comes at 300 + 30*25 = 1050 ms. If the queue doubles both move by 100 ms and the gaps stay "
    "at 25 ms. I would check the dashboard."
)
TIME_LIMIT_S = 300.0
LAB_SCENARIO = 5
"""Rows down to the scenario of the KV cache under pressure."""
LAB_CHANGE = "server.watermark = 0.05"
LAB_CLAIM = "watermark -> 0.05: chat itl p95 lower by 20 % and tokens/s higher"
KEY_NAMES = {" ": "space", ".": "full_stop", "=": "equals_sign", "_": "underscore"}


async def until(pilot: Pilot[int], done: object) -> None:
    """Wait for a condition of the program; stops with a word when it does not come about."""
    assert callable(done)
    deadline = asyncio.get_running_loop().time() + TIME_LIMIT_S
    while not done():
        if asyncio.get_running_loop().time() > deadline:
            raise SystemExit("the program did not get there in time; a slow model?")
        await pilot.pause(0.1)


def self_contained(svg: str) -> str:
    """Without fonts fetched from elsewhere, and with the spaces kept by every viewer."""
    return re.sub(r"@font-face\s*{[^}]*}", "", svg).replace("<text ", '<text xml:space="preserve" ')


async def session_at(size: tuple[int, int], folder: Path) -> None:
    """Walk through the program at one size and save what is seen."""
    settings = load_settings()
    with tempfile.TemporaryDirectory() as scratch, open_store(Path(scratch) / "tutor.db") as store:
        bank = load_bank()
        # Seed 0 has the lesson's own numbers.
        Session.start(store, bank, single_item_plan(EXERCISE, 0, title="Completion time"), local_now)
        app = TutorApp(settings, store, bank)

        def save(name: str) -> None:
            path = folder / f"{name}-{size[0]}x{size[1]}.svg"
            path.write_text(self_contained(app.export_screenshot(title="Tutor")), encoding="utf-8")
            print(path)

        async with app.run_test(size=size, notifications=True, tooltips=True) as pilot:
            await until(pilot, lambda: app.model.settled)
            await pilot.pause(0.5)
            save("home")
            await pilot.press("l")
            await pilot.pause(1.0)
            save("lesson")
            await pilot.press("escape")
            await pilot.press("c")
            await pilot.pause(1.0)
            await pilot.press("3")
            await pilot.pause(0.3)
            await pilot.press(*[{" ": "space"}.get(char, char) for char in "x"], "backspace")
            editor = app.screen.query("AnswerEditor").first()
            editor.load_text(ANSWER)  # type: ignore[attr-defined]
            await pilot.pause(0.8)
            save("answer")
            await pilot.press("ctrl+s")
            await until(pilot, lambda: any(event.kind == "attempt.graded" for event in store.events()))
            await pilot.pause(1.0)
            save("graded")
            await pilot.press("f2")
            await pilot.pause(1.0)
            save("simulate")
            await pilot.press("ctrl+s")
            await pilot.pause(2.0)
            save("simulated")


async def lab_at(size: tuple[int, int], folder: Path) -> None:
    """The lab at one size: a change is predicted, locked, run and looked at."""
    settings = load_settings({"model.discover": False, "model.use_embedded": False})
    with tempfile.TemporaryDirectory() as scratch, open_store(Path(scratch) / "tutor.db") as store:
        app = TutorApp(settings, store, load_bank())

        def save(name: str) -> None:
            path = folder / f"{name}-{size[0]}x{size[1]}.svg"
            path.write_text(self_contained(app.export_screenshot(title="Tutor")), encoding="utf-8")
            print(path)

        async def rest() -> None:
            await pilot.pause(0.3)
            await until(pilot, lambda: not getattr(app.screen, "job", ""))
            await pilot.pause(0.3)

        async with app.run_test(size=size, notifications=True, tooltips=True) as pilot:
            await until(pilot, lambda: app.model.settled and bool(app.screen.query("#places")))
            await pilot.press("b")
            await pilot.pause(0.5)
            save("lab-list")
            await pilot.press(*["down"] * LAB_SCENARIO, "enter")
            await pilot.pause(0.5)
            await pilot.press("f9", *[KEY_NAMES.get(char, char) for char in LAB_CHANGE], "enter", "f4")
            await rest()
            await pilot.press(
                *"30000", "enter", *[KEY_NAMES.get(char, char) for char in "25000 to 34000"], "enter", "2"
            )
            await pilot.press("ctrl+s")
            await rest()
            save("lab-prediction")
            await pilot.press("escape", "f2")
            await rest()
            save("lab-bench")
            await pilot.press("f7", "right", "right")
            await rest()
            save("lab-plots")
            await pilot.press("escape", "f6")
            await pilot.pause(0.5)
            app.screen.query_one("#line", Input).value = LAB_CLAIM
            app.screen.query_one("#line", Input).focus()
            await pilot.press("ctrl+s")
            await rest()
            save("lab-claim")


def main(folder: Path) -> None:
    """All sizes, one after the other."""
    os.environ.pop("NO_COLOR", None)
    folder.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        asyncio.run(lab_at(size, folder))
        asyncio.run(session_at(size, folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "pictures")
