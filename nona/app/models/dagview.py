"""The DAG view: node positions, and Python's side of the component.

Deep networks are strips a hundred times taller than wide. Their ranks are cut into columns that
are read like a page: top to bottom, then the next column; cuts prefer ranks of a single node.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import streamlit as st

from nona.app.widgets.components import declare
from nona.core.errors import GraphError
from nona.models.graph.dag import Dag, transitive_reduction
from nona.models.graph.guard import ChildLimits, GuardedWorker

NODE_WIDTH, NODE_HEIGHT = 104.0, 30.0
RANK_STEP, COLUMN_GAP = 54.0, 64.0
DOT_NODES, DOT_DENSITY = 1500, 2.5
DOT_LIMIT_S = 6.0
WIDE = 1.3  # width over height of a wide panel
MARGINS = 90.0, 70.0  # pixels that the view leaves around a drawing
TRIED = 24


@dataclass(frozen=True, slots=True)
class Layout:
    """Centre and column of every node, in pixels, y downwards; ``engine`` is ``dot`` or ``layers``."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    column: tuple[int, ...]
    engine: str


def lay_out(dag: Dag, aspect: float = WIDE, limit_s: float = DOT_LIMIT_S) -> Layout:
    """Lay out ``dag`` for a panel of the given width over height.

    Graphviz does it in a child process within ``limit_s`` seconds; graphs that are too large or
    too dense for it, and those that it fails on, get longest-path layers.

    >>> lay_out(Dag.from_edges(3, [(0, 1), (1, 2)]), limit_s=0).y
    (0.0, 54.0, 108.0)
    """
    ranks, engine = _ranked(dag, limit_s)
    return _fitted(ranks, len(dag), aspect, engine)


def lay_out_both(dag: Dag, limit_s: float = DOT_LIMIT_S) -> tuple[Layout, Layout]:
    """For a wide panel, in columns, and for a narrow one, in a single column; ranked once.

    >>> [set(found.column) for found in lay_out_both(Dag.from_edges(40, zip(range(39), range(1, 40))), 0)]
    [{0, 1, 2, 3}, {0}]
    """
    ranks, engine = _ranked(dag, limit_s)
    return _fitted(ranks, len(dag), WIDE, engine), _wrap(ranks, len(dag), 1, engine)


def _ranked(dag: Dag, limit_s: float) -> tuple[list[list[tuple[int, float]]], str]:
    places = None
    if limit_s > 0 and len(dag) <= DOT_NODES:
        edges = list(transitive_reduction(dag).edges())  # ranks need no others, and dot is slow with many
        if len(edges) <= DOT_DENSITY * len(dag) + 20:
            places = _dot(len(dag), edges, limit_s)
    return (_layers(dag), "layers") if places is None else (_ranks(*places), "dot")


def _dot(n: int, edges: Sequence[tuple[int, int]], limit_s: float) -> tuple[list[float], list[float]] | None:
    try:
        with GuardedWorker(ChildLimits(wall_s=limit_s)) as worker:
            return worker.lay_out(n, edges)
    except GraphError:
        return None


def _ranks(x: Sequence[float], y: Sequence[float]) -> list[list[tuple[int, float]]]:
    scale = (NODE_WIDTH + 18) / (1.45 * 72)
    rows: dict[int, list[tuple[int, float]]] = {}
    for v, (across, down) in enumerate(zip(x, y, strict=True)):
        rows.setdefault(round(down), []).append((v, across * scale))
    return [rows[k] for k in sorted(rows)]


def _layers(dag: Dag) -> list[list[tuple[int, float]]]:
    """Longest-path layers, ordered within by the mean position of their neighbours (a few sweeps)."""
    levels = dag.levels()
    rows: list[list[int]] = [[] for _ in range(max(levels) + 1)]
    for v in dag.topological_order():
        rows[levels[v]].append(v)
    step = NODE_WIDTH + 18
    place = {v: (i - (len(row) - 1) / 2) * step for row in rows for i, v in enumerate(row)}
    for sweep in range(4):
        near = dag.predecessors if sweep % 2 == 0 else dag.successors
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = {v: sum(place[u] for u in near[v]) / len(near[v]) if near[v] else place[v] for v in row}
            row.sort(key=lambda v: (wanted[v], v))
            middle = sum(wanted.values()) / len(row)
            for i, v in enumerate(row):
                place[v] = middle + (i - (len(row) - 1) / 2) * step
    return [[(v, place[v]) for v in row] for row in rows]


def _fitted(ranks: Sequence[Sequence[tuple[int, float]]], n: int, aspect: float, engine: str) -> Layout:
    """In as many columns as make it largest in a panel of the given width over height."""
    across = [x for row in ranks for _, x in row]
    width = max(across) - min(across) + NODE_WIDTH + COLUMN_GAP
    usual = max(1, round(math.sqrt(len(ranks) * RANK_STEP * aspect / width)))
    tried = sorted({max(1, usual + k) for k in range(-TRIED // 2, TRIED + 1)}, key=lambda c: abs(c - usual))
    layouts = (_wrap(ranks, n, columns, engine) for columns in tried[:TRIED])
    return max(layouts, key=lambda layout: _zoom(layout, aspect))


def _zoom(layout: Layout, aspect: float) -> float:
    """By how much a panel of height 1 and width ``aspect`` could enlarge the layout."""
    width = max(layout.x) - min(layout.x) + NODE_WIDTH + MARGINS[0]
    height = max(layout.y) - min(layout.y) + NODE_HEIGHT + MARGINS[1]
    return min(aspect / width, 1 / height)


def _wrap(ranks: Sequence[Sequence[tuple[int, float]]], n: int, columns: int, engine: str) -> Layout:
    per = max(8, math.ceil(len(ranks) / columns))
    x, y, column = [0.0] * n, [0.0] * n, [0] * n
    left, begin, number = 0.0, 0, 0
    while begin < len(ranks):
        end = _cut(ranks, begin, per)
        inside = [p for row in ranks[begin:end] for _, p in row]
        for r, row in enumerate(ranks[begin:end]):
            for v, place in row:
                x[v], y[v], column[v] = left + place - min(inside), r * RANK_STEP, number
        left += max(inside) - min(inside) + NODE_WIDTH + COLUMN_GAP
        begin, number = end, number + 1
    return Layout(tuple(x), tuple(y), tuple(column), engine)


def _cut(ranks: Sequence[Sequence[tuple[int, float]]], begin: int, per: int) -> int:
    """Return the end of the column that starts at ``begin``: near ``per`` ranks, where few nodes are."""
    if len(ranks) - begin <= per * 1.3:
        return len(ranks)
    candidates = range(begin + max(1, per - per // 4), min(len(ranks), begin + per + per // 8) + 1)
    return min(candidates, key=lambda c: (len(ranks[c - 1]) + len(ranks[c]), abs(c - begin - per)))


# One script, in this order: the parts know each other by their names alone.
SCRIPTS = [
    "icons",
    "scene",
    "camera",
    "looks",
    "room",
    "player",
    "finder",
    "keys",
    "picture",
    "minimap",
    "view",
]
_component = declare("dagview", *SCRIPTS, why="no graph of theirs has blocks to open, steps to play, keys")
SEQUENTIAL = 100  # a tone from here on is a step of the theme's sequential scale
STEPS = 10


@dataclass(frozen=True, slots=True)
class ViewNode:
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


class ViewEdge(NamedTuple):
    """An arrow between two nodes by their numbers; ``level`` in 0…1 is its width when that is shown."""

    source: int
    target: int
    tip: str = ""
    level: float = 0.0


class ColourMode(NamedTuple):
    """A way to colour: its name, its legend (text, tone), and the ends of its scale if it has one."""

    name: str
    legend: tuple[tuple[str, int], ...] = ()
    scale: tuple[str, str] | None = None


class Merge(NamedTuple):
    """A playback step: ``target`` joins ``source``, for ``reason``."""

    source: int
    target: int
    reason: str


@dataclass(frozen=True, slots=True)
class ViewInput:
    """The user's input in the view: the id of the selected node, the step shown."""

    selected: str | None
    step: int


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A request of the user: a verb (``open``, ``shut``, ``all``, ``none``), a node's id, a time."""

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
    nodes: tuple[ViewNode, ...]
    edges: tuple[ViewEdge, ...]
    layouts: tuple[Layout, Layout]
    modes: tuple[ColourMode, ...]
    steps: tuple[Merge, ...] = ()
    what: str = "operators"
    blocks: bool = False
    expandable: bool = False

    @cached_property
    def json(self) -> Mapping[str, Any]:
        """The data for the browser, made once; ``sig`` changes when, and only when, the drawing has to."""
        wide, narrow = self.layouts
        data: dict[str, Any] = {
            "name": self.name,
            "what": self.what,
            "nodes": [(n.id, n.label, n.tip, n.count, n.tones) for n in self.nodes],
            "wide": _places(wide),
            "narrow": _places(narrow),
            "edges": self.edges,
            "steps": self.steps,
            "modes": [mode._asdict() for mode in self.modes],
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
    """Return the common beginning of all names, then the rest of each.

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
) -> ViewInput:
    """Draw the graph, down to the end of the window; returns what is selected and which step is shown.

    ``pick`` selects a node from here: its id, and a number that is new each time; ``answered`` is when
    the last request was made that is answered by now, see :func:`last_request`.
    """
    react = on_change or (lambda: None)
    sent = {**drawing.json, "notice": notice, "pick": list(pick) if pick else None}
    sent["answered"] = answered
    state = _component(
        key=key, data=sent, on_selected_change=react, on_step_change=react, on_ask_change=react
    )
    step = state.get("step")
    return ViewInput(state.get("selected"), min(int(step), len(drawing.steps)) if step is not None else 0)


def last_request(key: str) -> ViewRequest | None:
    """Return the user's last request in the view ``key``."""
    view_state = st.session_state.get(key)
    request = view_state.get("ask") if view_state is not None else None
    if not request or len(request) != 3:
        return None
    verb, node, when = request
    return ViewRequest(str(verb), str(node), int(when))
