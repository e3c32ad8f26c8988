"""Terminal charts: within their size, round ticks, dots where arithmetic puts them, and a table beside each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tutor.tui.widgets.plot import Chart, Dots, Limit, Line, Table, draw, table_content
from tutor.tui.widgets.plot_scale import Scale, scale_of, tick_words

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=40), st.integers(24, 200), st.integers(6, 50),
    st.booleans(),
)  # fmt: skip
def test_any_line_fits_any_size(points: list[tuple[float, float]], width: int, height: int, steps: bool) -> None:
    points = sorted(points)
    line = Line("[b]x[/]", [x for x, _ in points], [y for _, y in points], steps=steps)
    drawn = draw(Chart("t", "ms", "share", [line], [Limit("limit", points[0][0])]), width, height).plain
    assert "[b]x[/]" in drawn or width < 30
    rows = drawn.splitlines()
    assert all(cell_len(row) <= width for row in rows)
    assert len(rows) <= max(height, 8)


def test_a_dot_is_where_it_belongs() -> None:
    dots = Dots(2, 1)
    dots.put(0, 0, "")
    dots.put(3, 3, "")
    assert dots.row(0).plain == "\u2840\u2808"
    dots.put(99, 99, "")


def test_a_rising_line_rises_and_a_limit_stands_across() -> None:
    chart = Chart("t", "s", "n", [Line("up", [0, 10], [0, 10])], [Limit("most", 5.0, axis="y")],
                  x_scale=Scale(0, 10), y_scale=Scale(0, 10))  # fmt: skip
    rows = draw(chart, 40, 14).plain.splitlines()
    first = next(row for row in rows if row.rstrip()[-1] in "⠁⠈⠉⡀⢀⠤⠒⠊⠔⠑⠐⠂⠄⠠⣀⢄⡠⡰⠜⢂⡠⠎⠃⢠⠞")
    assert rows.index(first) == 1
    assert sum("┄" in row for row in rows[1:]) == 1
    assert "┄┄ most" in rows[0]
    assert rows[-1].rstrip().endswith("s")


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 12))
def test_ticks_lie_within_and_are_not_too_many(low: float, span: float, most: int) -> None:
    scale = Scale(low, low + span)
    ticks = scale.ticks(most)
    assert len(ticks) <= most
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in ticks)
    assert ticks == sorted(ticks)


def test_wide_ranges_are_drawn_by_logarithm_with_round_ticks() -> None:
    scale = scale_of([1.0, 1000.0])
    assert scale.log
    assert scale.ticks(5) == [1.0, 10.0, 100.0, 1000.0]
    assert scale.place(1000.0) - scale.place(100.0) == pytest.approx(scale.place(100.0) - scale.place(10.0))
    assert not scale_of([1.0, 10.0]).log
    assert not scale_of([0.0, 1000.0]).log
    assert scale_of([]).ticks(3) == [0.0, 0.5, 1.0]


def test_tick_words_are_short() -> None:
    assert [tick_words(value) for value in (0, 0.25, 1500, 20000, 3e6, 0.1 + 0.2)] == [
        "0", "0.25", "1,500", "20k", "3M", "0.3",
    ]  # fmt: skip


def test_nothing_to_draw_is_said() -> None:
    assert draw(Chart("TTFT", "ms", "share", [Line("x", [], [])]), 60, 10).plain == "TTFT: no sample"


@pytest.mark.parametrize("width", [30, 60, 100])
def test_tables_keep_every_number_at_any_width(width: int) -> None:
    table = Table(("name", "baseline", "yours", "unit"), [("chat [red]p95[/]", "35,643", "35,134", "ms")])
    text = table_content(table, width).plain
    for cell in ("35,643", "35,134", "ms"):
        assert cell in text
    assert "red" not in text or "[red]" in text
