"""Python's side of the DAG view: plain data in, the selected node and the playback step out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from nona.ui.layout import NODE_HEIGHT, NODE_WIDTH, Layout

_HERE = Path(__file__).parent
_HTML = '<div class="dagview" data-testid="dagview"></div>'
_component = st.components.v2.component(
    "nona_dagview",
    html=_HTML,
    css=(_HERE / "dagview.css").read_text(encoding="utf-8"),
    js=(_HERE / "dagview.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class Node:
    """A box: its id, its label, its colour (an index into the theme's chart colours), its tooltip."""

    id: str
    label: str
    colour: int
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """A playback step: ``target`` joins ``source``, for ``reason``."""

    source: int
    target: int
    reason: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reader of the view did: the id of the selected node, the step shown."""

    selected: str | None
    step: int


def view_data(
    nodes: Sequence[Node],
    edges: Sequence[tuple[int, int]],
    layout: Layout,
    steps: Sequence[Merge] = (),
    height: int = 560,
    legend: Sequence[tuple[str, int]] = (),
) -> dict[str, Any]:
    """What is sent to the browser; ``sig`` changes when, and only when, the drawing has to."""
    data: dict[str, Any] = {
        "nodes": [
            [n.id, n.label, round(x), round(y), c, n.colour, n.tip]
            for n, x, y, c in zip(nodes, layout.x, layout.y, layout.column, strict=True)
        ],
        "edges": [list(e) for e in edges],
        "steps": [[s.source, s.target, s.reason] for s in steps],
        "legend": [list(entry) for entry in legend],
        "size": [NODE_WIDTH, NODE_HEIGHT],
        "height": height,
    }
    data["sig"] = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    return data


def dag_view(key: str, data: dict[str, Any], on_change: Callable[[], None] | None = None) -> Seen:
    """Draw the graph; returns what is selected and which step is shown."""
    react = on_change or (lambda: None)
    state = _component(key=key, data=data, on_selected_change=react, on_step_change=react)
    step = state.get("step")
    return Seen(state.get("selected"), min(int(step), len(data["steps"])) if step is not None else 0)
