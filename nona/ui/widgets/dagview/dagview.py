"""Python's side of the DAG view: plain data in; the selection, the step and what was asked for out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import streamlit as st

from nona.ui.loaded.layout import NODE_HEIGHT, NODE_WIDTH, Layout
from nona.ui.widgets.component import declare

# One script, in this order: the parts know each other by their names alone.
SCRIPTS = ("icons", "scene", "camera", "looks", "room", "player", "finder", "keys", "picture", "view")
_component = declare(Path(__file__).parent, "dagview", *SCRIPTS)
SEQUENTIAL = 100  # a tone from here on is a step of the theme's sequential scale
STEPS = 10


@dataclass(frozen=True, slots=True)
class Node:
    """A box: its id, its label, its tooltip, and a tone for every mode of colouring.

    A tone is an index into the theme's categorical colours, or ``SEQUENTIAL`` + a step of its scale.
    A block stands for ``count`` operators, whose names and kinds are ``inside``; ``around`` says
    whether the node lies in a block that can be shut.
    """

    id: str
    label: str
    tip: str = ""
    tones: tuple[int, ...] = (0,)
    count: int = 1
    inside: tuple[str, ...] = ()
    around: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow between two nodes by their numbers; ``level`` in 0…1 is its width when that is shown."""

    source: int
    target: int
    tip: str = ""
    level: float = 0.0


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to colour: its name, its legend (text, tone), and the ends of its scale if it has one."""

    name: str
    legend: tuple[tuple[str, int], ...] = ()
    scale: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """A playback step: ``target`` joins ``source``, for ``reason``."""

    source: int
    target: int
    reason: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The user's input in the view: the id of the selected node, the step shown."""

    selected: str | None
    step: int


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked of the view: a verb (``open``, ``shut``, ``all``, ``none``), a node's id, when."""

    verb: str
    node: str
    when: int


@dataclass(frozen=True, eq=False)
class Drawing:
    """A graph as the view draws it.

    ``layouts`` are for a wide and for a narrow panel. ``blocks`` says whether there are modules to open
    and shut, ``expandable`` whether all may be open at once.
    """

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    layouts: tuple[Layout, Layout]
    modes: tuple[Mode, ...]
    steps: tuple[Merge, ...] = ()
    what: str = "operators"
    blocks: bool = False
    expandable: bool = False

    @cached_property
    def json(self) -> Mapping[str, Any]:
        """What is sent to the browser, made once; ``sig`` changes when, and only when, the drawing has to."""
        wide, narrow = self.layouts
        data: dict[str, Any] = {
            "name": self.name,
            "what": self.what,
            "nodes": [[n.id, n.label, n.tip, n.count, list(n.tones)] for n in self.nodes],
            "wide": _places(wide),
            "narrow": _places(narrow),
            "edges": [[e.source, e.target, e.tip, round(e.level, 3)] for e in self.edges],
            "steps": [[s.source, s.target, s.reason] for s in self.steps],
            "modes": [
                {"name": m.name, "legend": [list(x) for x in m.legend], "scale": m.scale} for m in self.modes
            ],
            "inside": {str(i): _prefixed(n.inside) for i, n in enumerate(self.nodes) if n.inside},
            "around": [n.around for n in self.nodes],
            "size": [NODE_WIDTH, NODE_HEIGHT],
            "blocks": self.blocks,
            "all": self.expandable,
        }
        data["sig"] = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
        return data


def _places(layout: Layout) -> list[list[int]]:
    return [[round(x) for x in layout.x], [round(y) for y in layout.y], list(layout.column)]


def _prefixed(names: Sequence[str]) -> list[str]:
    """What all names begin with, then the rest of each.

    >>> _prefixed(["layer.1/conv", "layer.1/relu"])
    ['layer.1/', 'conv', 'relu']
    """
    first, last = min(names), max(names)
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return [first[:shared], *(n[shared:] for n in names)]


def dag_view(
    key: str,
    drawing: Drawing,
    notice: str = "",
    pick: tuple[str, int] | None = None,
    answered: int = 0,
    on_change: Callable[[], None] | None = None,
) -> Seen:
    """Draw the graph, down to the end of the window; returns what is selected and which step is shown.

    ``pick`` selects a node from here: its id, and a number that is new each time; ``answered`` is when
    the last request was made that is answered by now, see :func:`asked`.
    """
    react = on_change or (lambda: None)
    sent = {**drawing.json, "notice": notice, "pick": list(pick) if pick else None}
    sent["answered"] = answered
    state = _component(
        key=key, data=sent, on_selected_change=react, on_step_change=react, on_ask_change=react
    )
    step = state.get("step")
    return Seen(state.get("selected"), min(int(step), len(drawing.steps)) if step is not None else 0)


def asked(key: str) -> Request | None:
    """The user's last request in the view ``key``."""
    held = st.session_state.get(key)
    found = held.get("ask") if held is not None else None
    if not found or len(found) != 3:
        return None
    verb, node, when = found
    return Request(str(verb), str(node), int(when))
