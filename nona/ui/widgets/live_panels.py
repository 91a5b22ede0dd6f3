"""Panels of a run as it goes on: its policies with their curves, small charts, who has what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nona.ui.widgets.components import Node, el

Points = Sequence[tuple[float, float]]  # both within 0 … 1
WIDTH, HEIGHT = 100, 26


class PolicyLine(NamedTuple):
    """A policy so far; ``numbers`` as texts, none before it has started."""

    name: str
    colour: str
    curve: Points
    numbers: Sequence[str]


def panel(title: str, now: str, alt: str, *inside: Node | None) -> Node:
    """A framed part; ``now`` stands beside its title, ``alt`` says what is seen."""
    heading = el("h4", "", f"{title} ", el("span", "note", now))
    return el("div", "panel", heading, *inside, role="img", aria_label=alt)


def policies_panel(note: str, alt: str, headings: Sequence[str], rows: Sequence[PolicyLine]) -> Node:
    """A row for each policy: its curve under the first of the ``headings``, then its numbers."""
    cells = [el("span", "note"), *(el("span", "note", text) for text in headings)]
    for row in rows:
        kind = "" if row.numbers else "waiting"
        cells.append(el("b", kind, el("i", "dot", __c=row.colour), row.name))
        cells.append(curves((row.colour, row.curve)))
        cells += [el("span", f"number {kind}", text) for text in row.numbers or ["–"] * (len(headings) - 1)]
    return panel("Policies so far", note, alt, el("div", "policies", *cells, __n=len(headings) - 1))


def curves(*lines: tuple[str, Points]) -> Node:
    """Lines of (colour, points) in one small picture, without axes."""
    drawn = [el("polyline", "line", points=_corners(points), __c=colour) for colour, points in lines]
    return el("svg", "curve", *drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none")


def _corners(points: Points) -> str:
    return " ".join(f"{WIDTH * x:.2f},{HEIGHT - 1 - (HEIGHT - 2) * y:.2f}" for x, y in points)
