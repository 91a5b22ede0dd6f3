"""Components of our own, declared by their folder; drawings, and panels of a run as it goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

COMPONENTS = Path(__file__).parent.parent / "components"
_SHARED, _STYLE = (COMPONENTS / f"elements.{kind}" for kind in ("js", "css"))


def declare(name: str, *scripts: str, why: str) -> Any:
    """Declare the component of the folder ``name``: its style, and its scripts, which import each other.

    ``why`` says what neither an element of Streamlit nor a chart of plotly does; without a reason there is
    no component. The scripts follow ``elements.js`` and ``elements.css``, in the order given, and make one
    module; by default there is one, ``name.js``. The component's root is an element of class ``name``.
    """
    folder = COMPONENTS / name
    files = [_SHARED, *(folder / f"{script}.js" for script in scripts or (name,))]
    return st.components.v2.component(
        f"nona_{name}",
        html=f'<div class="{name}" data-testid="{name}"></div>',
        css="\n".join(f.read_text(encoding="utf-8") for f in (_STYLE, folder / f"{name}.css")),
        js="\n".join(file.read_text(encoding="utf-8") for file in files),
    )


Node = str | list[Any]
_drawing_component = declare("drawing", why="Streamlit strips SVG and classes from HTML")
COLOURS = 10  # chart colours of the theme, --c0 … --c9
SHADES = 10  # steps of the theme's sequential scale, --s0 … --s9


def el(tag: str, kind: str = "", *children: Node | None, **attributes: object) -> Node:
    """Return an element: its tag, its class, what is in it; ``None`` among the children is left out.

    Underscores in names of attributes stand for dashes; two in front make a CSS variable.

    >>> el("div", "bar", "half", role="img", aria_label="half full", __w="50%")
    ['div', {'class': 'bar', 'role': 'img', 'aria-label': 'half full', '--w': '50%'}, ['half']]
    """
    named = {k.replace("_", "-"): str(v) for k, v in attributes.items() if v is not None}
    return [tag, {**({"class": kind} if kind else {}), **named}, [c for c in children if c is not None]]


def _tree_data(nodes: Sequence[Node]) -> dict[str, Any]:
    """Return the data for the browser; ``sig`` changes when, and only when, the picture does."""
    tree = list(nodes)
    return {"tree": tree, "sig": hashlib.sha256(json.dumps(tree).encode()).hexdigest()[:16]}


def draw(key: str, *nodes: Node) -> None:
    """Draw the elements; no event comes back."""
    _drawing_component(key=key, data=_tree_data(nodes))


def colour(number: int) -> str:
    """Return the theme's chart colour of that number, as a value for CSS.

    >>> colour(11)
    'var(--c1)'
    """
    return f"var(--c{number % COLOURS})"


def shade(share: float) -> str:
    """Return the step of the theme's sequential scale for a share in 0…1, as a value for CSS.

    >>> shade(0.0), shade(0.55), shade(1.0)
    ('var(--s0)', 'var(--s5)', 'var(--s9)')
    """
    return f"var(--s{min(SHADES - 1, max(0, int(SHADES * share)))})"


Points = Sequence[tuple[float, float]]  # both within 0 … 1
WIDTH, HEIGHT = 100, 26


class PolicyLine(NamedTuple):
    """A policy so far; ``numbers`` as texts, none before it has started."""

    name: str
    colour: str
    curve: Points
    numbers: Sequence[str]


def panel(title: str, now: str, alt: str, *inside: Node | None) -> Node:
    """Return a framed part; ``now`` stands beside its title, ``alt`` says what is seen."""
    heading = el("h4", "", f"{title} ", el("span", "note", now))
    return el("div", "panel", heading, *inside, role="img", aria_label=alt)


def policies_panel(note: str, alt: str, headings: Sequence[str], rows: Sequence[PolicyLine]) -> Node:
    """Return a row for each policy: its curve under the first of the ``headings``, then its numbers."""
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
