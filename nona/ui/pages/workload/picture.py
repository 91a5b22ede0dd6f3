"""Pictures on the Workload page: shares of a row, its arrivals, and gauges of the load."""

from __future__ import annotations

from nona.report.inputs.arrival_sample import BINS, GAP_BINS, LARGEST_GAP, ArrivalSample, regularity
from nona.report.inputs.offered import load_text
from nona.ui.widgets.drawing.drawing import Node, colour, el
from nona.units import format_time

WIDTH, HEIGHT = 240, 54
DRAWN = "From the scenario's seed, as the first run simulates them."
REPLAYED = "From the trace, as the first run replays it."


def shares_picture(rate_share: float, load_share: float | None, number: int) -> Node:
    """Two bars: share of the queries, and share of the compute that they ask for."""
    bars = [_share("of the queries", rate_share, number)]
    if load_share is not None:
        bars.append(_share("of the compute they ask for", load_share, number))
    return el("div", "shares", *bars)


def _share(what: str, share: float, number: int) -> Node:
    return el(
        "div",
        "sharebar",
        el("div", "meter", el("i", ""), __w=f"{100 * share:.2f}%", __mc=colour(number)),
        el("span", "", el("b", "", f"{100 * share:.3g} %"), f" {what}"),
        role="img",
        aria_label=f"{100 * share:.3g} % {what}",
    )


def arrivals_picture(sample: ArrivalSample, number: int, origin: str = DRAWN) -> Node:
    """Counts over the first seconds, and the distribution of gaps beside that of a Poisson process.

    ``origin`` is a sentence on where the arrivals are from.
    """
    about = f"CV of the gaps in this sample {sample.cv:.2f}: {regularity(sample.cv)}."
    return el(
        "div",
        "arrivals",
        _figure(_counts(sample), f"arrivals in the first {format_time(sample.window_s)}", number),
        _figure(_gaps(sample), "gaps between them, 0 to 4 mean gaps; line: Poisson", number),
        el("p", "note", f"{about} {origin}".rstrip()),
    )


def _figure(shapes: list[Node], caption: str, number: int) -> Node:
    picture = el(
        "svg", "", *shapes, viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none", role="img",
        aria_label=caption,
    )  # fmt: skip
    return el("div", "spark", picture, el("span", "note", caption), __c=colour(number))


def _bars(heights: list[float]) -> str:
    """Bars from the ground up as one path; heights within 0 … 1."""
    step = WIDTH / len(heights)
    return "".join(
        f"M{i * step + 0.4:.2f},{HEIGHT}v{-h * (HEIGHT - 4):.2f}h{step - 0.8:.2f}V{HEIGHT}Z"
        for i, h in enumerate(heights)
        if h > 0
    )


def _counts(sample: ArrivalSample) -> list[Node]:
    most = max(int(sample.counts.max()), 1)
    return [el("path", "bars", d=_bars([c / most for c in sample.counts.tolist()] or [0.0] * BINS))]


def _gaps(sample: ArrivalSample) -> list[Node]:
    width = LARGEST_GAP / GAP_BINS
    poisson = [2.718281828459045 ** (-(i + 0.5) * width) for i in range(GAP_BINS)]
    most = max(float(sample.density.max()), 1.0)
    line = " ".join(
        f"{(i + 0.5) * WIDTH / GAP_BINS:.1f},{HEIGHT - p / most * (HEIGHT - 4):.1f}"
        for i, p in enumerate(poisson)
    )
    return [
        el("path", "bars", d=_bars([d / most for d in sample.density.tolist()])),
        el("polyline", "line", points=line),
    ]


def gauge(name: str, what: str, background: float, queries: float | None, otherwise: str = "") -> Node:
    """A bar with background and queries, the point of overload marked; ``otherwise`` where it is unknown."""
    own = queries or 0.0
    scale = max(1.25, (background + own) * 1.05)
    text = otherwise if queries is None else load_text(what, background, own)
    over = " over" if background + own >= 1 else ""
    return el(
        "div",
        f"gauge{over}",
        el("b", "", name),
        el(
            "div",
            "track",
            el("i", "bg", __w=f"{100 * background / scale:.2f}%"),
            el("i", "own", __w=f"{100 * own / scale:.2f}%", __x=f"{100 * background / scale:.2f}%"),
            el("i", "full", __x=f"{100 / scale:.2f}%"),
            *([] if over else [el("span", "limit", "100 %", __x=f"{100 / scale:.2f}%")]),
            role="img",
            aria_label=f"{name}: {text}",
        ),
        el("p", "", text),
    )
