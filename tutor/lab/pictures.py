"""The lab's charts as one picture with matplotlib (the extra `plots`), for reports.

Colours are Okabe and Ito's, which people with any colour vision tell apart; the baseline is dashed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Literal

from sim.metrics import in_words, name_in_words
from tutor.errors import TutorError
from tutor.lab.figures import LATENCIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sim.experiment.comparison import Outcome
    from tutor.lab.figures import Curve, Figures
    from tutor.lab.runs import Pair, RateCurve

Format = Literal["png", "svg"]
_STYLES: Final[tuple[dict[str, Any], ...]] = (
    {"color": "#666666", "linestyle": (0, (4, 1.5)), "linewidth": 1.4},
    {"color": "#0072B2", "linestyle": "-", "linewidth": 1.6},
)
_CLASS_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_LIMIT: Final = "#B00020"


class NoPictures(TutorError):
    """matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__("Pictures need matplotlib.", hint="Install it with `pip install 'tutor[plots]'`.")


def has_pictures() -> bool:
    """Whether matplotlib is installed; it is not imported for that."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def run_picture(pair: Pair, curves: Sequence[RateCurve] = (), title: str = "", foot: str = "") -> Figure:
    """Distributions, load over time, and the curve where there is one. Raises NoPictures."""
    classes = list(dict.fromkeys(one.class_name for side in pair.sides for one in side.distributions))
    load = [name for name in ("waiting", "running", "kv_percent") if any(getattr(s.load, name) for s in pair.sides)]
    rows = 1 + (len(load) + 2) // 3 + bool(curves)
    figure = _new(12, 3.6 * rows + 0.8)
    grid = figure.subplots(rows, 3, squeeze=False)
    for axes, metric in zip(grid[0], LATENCIES, strict=True):
        _distribution(axes, pair, metric, classes)
    for axes, name in zip(grid[1], load, strict=False):
        _load(axes, pair, name)
    for axes in [*grid[1][len(load) :], *(grid[2] if curves else ())]:
        axes.set_axis_off()
    if curves:
        axes = grid[2][0]
        axes.set_axis_on()
        _curve(axes, curves)
    figure.suptitle(title, fontsize=11)
    if foot:
        figure.supxlabel(foot, fontsize=7, color="#555555")
    return figure


def claim_picture(outcome: Outcome, title: str = "", foot: str = "") -> Figure:
    """For each statement its interval against what it allows, and the replications behind it. Raises NoPictures."""
    from tutor.lab.statements import shown_in, words_of

    figure = _new(10, 1.3 * len(outcome.terms) + 1.2)
    grid = figure.subplots(len(outcome.terms), 1, squeeze=False)[:, 0]
    for axes, one in zip(grid, outcome.terms, strict=True):
        _, factor, unit = shown_in(one)
        axes.set_title(f"{words_of(one.term)}: {one.verdict}", fontsize=10, loc="left")
        axes.set_yticks([])
        axes.set_xlabel(unit, fontsize=8)
        if one.estimate is None or one.interval is None:
            axes.text(0.5, 0.5, one.note or "no sample", ha="center", transform=axes.transAxes)
            continue
        values = [value * factor for value in one.values]
        low, high = (value * factor for value in one.interval)
        ends = [end * factor for end in one.term.region if math.isfinite(end)]
        shown = [*values, low, high, *ends]
        span = (max(shown) - min(shown)) or abs(max(shown)) or 1.0
        left, right = min(shown) - 0.1 * span, max(shown) + 0.1 * span
        least, most = one.term.region
        axes.axvspan(max(least * factor, left), min(most * factor, right), color="#009E73", alpha=0.15, label="claimed")
        axes.plot(values, [0.25] * len(values), "|", color="#666666", markersize=9, label=f"{len(values)} replications")
        axes.plot([low, high], [0.6, 0.6], color="#0072B2", linewidth=2)
        axes.plot([one.estimate * factor], [0.6], "o", color="#0072B2", label=f"mean at {100 * one.level:.4g} %")
        axes.set_xlim(left, right)
        axes.set_ylim(0, 1)
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.suptitle(title, fontsize=11)
    if foot:
        figure.supxlabel(foot, fontsize=7, color="#555555")
    return figure


def rendered(figure: Figure, kind: Format, metadata: Mapping[str, str] | None = None) -> bytes:
    """The picture as bytes; equal figures give equal bytes. `metadata` goes into the file."""
    import matplotlib

    file = BytesIO()
    known: dict[str, Any] = dict(metadata or {})
    if kind == "svg":
        known = {"Date": None, "Description": "\n".join(known.values())} if known else {"Date": None}
    with matplotlib.rc_context({"svg.hashsalt": "tutor", "svg.fonttype": "none"}):
        figure.savefig(file, format=kind, dpi=130, metadata=known)
    return file.getvalue()


def _new(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NoPictures from None
    return Figure(figsize=(width, height), layout="constrained")


def _sides(pair: Pair) -> list[tuple[str, dict[str, Any], Figures]]:
    if pair.baseline is None:
        return [("", _STYLES[1], pair.yours)]
    return [("baseline", _STYLES[0], pair.baseline), ("yours", _STYLES[1], pair.yours)]


def _distribution(axes: Axes, pair: Pair, metric: str, classes: Sequence[str]) -> None:
    axes.set_title(in_words(metric), fontsize=10)
    axes.set_xlabel("ms")
    axes.set_ylabel("share")
    shown: list[float] = []
    limits: dict[float, str] = {}
    for name, style, side in _sides(pair):
        for one in side.distributions:
            if one.metric != metric:
                continue
            own = dict(style)
            if len(classes) > 1:
                own["color"] = _CLASS_COLOURS[classes.index(one.class_name) % len(_CLASS_COLOURS)]
            label = " ".join(part for part in (one.class_name, name) if part)
            axes.step(one.curve.xs, one.curve.ys, where="post", label=f"{label}, n = {one.curve.n:,}", **own)
            shown += [one.curve.xs[0], one.curve.xs[-1]]
            if one.limit_ms is not None:
                limits[one.limit_ms] = one.class_name
    for limit, name in limits.items():
        axes.axvline(limit, color=_LIMIT, linestyle=":", linewidth=1, label=f"limit of {name}, {limit:g} ms")
    if not shown:
        axes.text(0.5, 0.5, "no sample", ha="center", transform=axes.transAxes)
        return
    if min(shown) > 0 and max(shown) > 20 * min(shown):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_ylim(0, 1.02)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7)


def _load(axes: Axes, pair: Pair, name: str) -> None:
    titles = {"waiting": "requests in the queue", "running": "seats taken", "kv_percent": "KV blocks held, %"}
    axes.set_title(titles[name], fontsize=10)
    axes.set_xlabel("s")
    for side, style, figures in _sides(pair):
        curve: Curve | None = getattr(figures.load, name)
        if curve is not None and curve.xs:
            axes.step(curve.xs, curve.ys, where="post", label=side or None, **style)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    if pair.baseline is not None:
        axes.legend(fontsize=7)


def _curve(axes: Axes, curves: Sequence[RateCurve]) -> None:
    axes.set_title(f"{name_in_words(curves[0].metric)} against throughput", fontsize=10)
    axes.set_xlabel("output tokens/s")
    axes.set_ylabel("ms")
    for one in curves:
        curve = one.curve()
        style = _STYLES[0] if one.side == "baseline" else _STYLES[1]
        axes.plot(curve.xs, curve.ys, marker="o", markersize=4, label=one.side, **style)
    if curves[0].limit_ms is not None:
        axes.axhline(curves[0].limit_ms, color=_LIMIT, linestyle=":", label=f"limit, {curves[0].limit_ms:g} ms")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.grid(alpha=0.25, which="both")
    axes.legend(fontsize=7)
