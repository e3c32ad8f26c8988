"""P(met) beside the share labelled met: a picture where matplotlib is installed, bars of text anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tutor.evaluation.figures import CriterionFigures
from tutor.evaluation.metrics import Bin

_WIDTH = 30


def bars(bins: Sequence[Bin]) -> list[str]:
    """One line a bin: `▪` up to the share labelled met, `|` at the mean P(met)."""
    lines = []
    for each in bins:
        line = ["▪" if n < round(each.observed * _WIDTH) else "·" for n in range(_WIDTH + 1)]
        line[round(each.predicted * _WIDTH)] = "|"
        lines.append(
            f"{each.low:.1f}–{each.high:.1f} {''.join(line)} said {each.predicted:.2f}, was {each.observed:.2f} "
            f"({each.count})"
        )
    return lines


def draw(criteria: Sequence[CriterionFigures], path: Path) -> Path | None:
    """One panel a criterion with an estimated probability, as SVG; None without matplotlib or without any."""
    shown = [c for c in criteria if c.reliability.answers]
    if not shown or find_spec("matplotlib") is None:
        return None
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # The same figures give the same file.
    with mpl.rc_context({"svg.hashsalt": "tutor", "svg.fonttype": "none"}):
        figure = Figure(figsize=(3.2 * len(shown), 3.4), layout="constrained")
        for number, c in enumerate(shown, 1):
            axes = figure.add_subplot(1, len(shown), number)
            axes.plot((0, 1), (0, 1), color="0.6", linewidth=1, linestyle="--")
            bins = c.reliability.bins
            axes.plot([b.predicted for b in bins], [b.observed for b in bins], color="tab:blue", linewidth=1)
            axes.scatter(
                [b.predicted for b in bins], [b.observed for b in bins], s=[12 + 3 * b.count for b in bins],
                color="tab:blue", alpha=0.7,
            )  # fmt: skip
            axes.set(
                xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal", xlabel="P(met)",
                ylabel="share labelled met" if number == 1 else "",
                title=f"{c.criterion}, ECE {c.reliability.ece or 0:.2f}",
            )  # fmt: skip
        figure.savefig(path, metadata={"Date": None})
    return path
