"""Points with markers as inline SVG, on two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nona.report.html.parts import escape
from nona.report.html.svg_axes import log_ticks, scale_over, ticks
from nona.report.html.svg_charts import ROW, WIDTH, framed, text_at

Shape = Literal["circle", "cross", "diamond"]


@dataclass(frozen=True, slots=True)
class Point:
    """A point with what a pointer over it shows, its marker, and what is written beside it."""

    x: float
    y: float
    told: str
    shape: Shape
    colour: str
    label: str = ""


def points(
    found: Sequence[Point],
    axis: str,
    upright: str,
    alt: str,
    legend: Sequence[tuple[str, Shape]],
    rule: tuple[float, str] | None = None,
) -> str:
    """Points over an axis from 0 and a logarithmic one, with a horizontal ``rule`` (place, name)."""
    top, left = 8 + ROW, 64
    low = top + 280
    marks = ticks(max((p.x for p in found), default=1.0), 6)
    heights = [p.y for p in found if p.y > 0 and math.isfinite(p.y)] + ([rule[0]] if rule else [])
    levels = log_ticks(min(heights, default=0.1), max(heights, default=1.0))
    at, up = scale_over(marks, left, WIDTH - 40), scale_over(levels, low, top + 6, log=True)
    body = []
    for i, (name, shape) in enumerate(legend):
        begin = float(WIDTH - 110 * (len(legend) - i))
        body += [_marker(begin, 14, shape, "currentColor", name), text_at(begin + 12, 18, name)]
    for level in levels:
        body.append(f'<path class="g" d="M{left} {up(level):.1f}H{WIDTH - 24}"/>')
        body.append(text_at(left - 6, up(level) + 4, f"{level:.4g}", "end", "q"))
    body.append(text_at(left, top - 2, upright, "start", "q"))
    if rule:
        y = up(rule[0])
        body.append(
            f'<path class="s" stroke-dasharray="6 4" stroke-width="1.5" d="M{left} {y:.1f}H{WIDTH - 24}"/>'
        )
        body.append(text_at(WIDTH - 26, y - 5, rule[1], "end", "st"))
    for p in found:
        x, y = at(p.x), up(p.y)
        body.append(_marker(x, y, p.shape, p.colour, p.told))
        if p.label:
            right = x > WIDTH / 2
            body.append(
                text_at(x + (-10 if right else 10), y + 18, p.label, "end" if right else "start", "st")
            )
    return framed(body, marks, at, low, axis, alt, top)


def _marker(x: float, y: float, shape: Shape, colour: str, told: str) -> str:
    r = 5.5
    path = {
        "circle": f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        "cross": f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}",
        "diamond": f"M{x:.1f} {y - r:.1f}l{r} {r} {-r} {r} {-r} {-r}z",
    }[shape]
    fill = escape(colour) if shape == "circle" else "none"
    return (
        f'<path fill="{fill}" stroke="{escape(colour)}" stroke-width="2" d="{path}">'
        f"<title>{escape(told)}</title></path>"
    )
