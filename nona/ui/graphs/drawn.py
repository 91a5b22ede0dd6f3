"""Graphs as drawn in this session: open modules, requests, the selected node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import streamlit as st

from nona.graph.structure.blocks import BlockGraph, Cut, Modules
from nona.ui.graphs.data import EXPANDED, Facts, block_ids, drawn_graph, enclosing, graph_drawing
from nona.ui.graphs.facts import operator_facts, operator_modules, task_facts, task_modules
from nona.ui.loaded.loading import Loaded, layouts_of
from nona.ui.loaded.shelf import fetch
from nona.ui.session.state import AppState
from nona.ui.widgets.dagview.dagview import Drawing, Merge, Request, Seen, asked, dag_view


@dataclass(frozen=True, slots=True)
class Drawings:
    """The session's views by key: their cuts (by key and content), last requests, and picked nodes."""

    cuts: Mapping[tuple[str, str], Cut] = field(default_factory=dict)
    asked: Mapping[str, Request] = field(default_factory=dict)
    picks: Mapping[str, tuple[str, int]] = field(default_factory=dict)


def drawn(state: AppState, key: str, mark: str, made: tuple[Facts, Modules]) -> Seen:
    """Draw a graph by its modules, open or closed as the user chose; ``mark`` names its content."""
    facts, modules = made
    held = state.choices.of(Drawings)
    cut = held.cuts.get((key, mark), modules.usual)
    notice = ""
    request = asked(key)
    if request and request != held.asked.get(key):
        held = replace(held, asked={**held.asked, key: request})
        wanted = requested(facts, modules, cut, request)
        count = len(drawn_graph(facts, modules, wanted).blocks)
        if count > EXPANDED:
            notice = f"That would draw {count:,} boxes, more than {EXPANDED:,}: collapse another block first."
        else:
            cut = wanted
            held = replace(held, cuts={**held.cuts, (key, mark): cut})
        state.choices.keep(held)
    drawing = _drawing(mark, facts, modules, cut)
    answered = held.asked[key].when if key in held.asked else 0
    return dag_view(key, drawing, notice, held.picks.get(key), answered)


def played(state: AppState, key: str, mark: str, facts: Facts, steps: Sequence[Merge]) -> Seen:
    """Draw every operator separately, with the steps of the contraction to play."""
    bare = Modules(((),) * len(facts.ids), Cut(1), Cut(1))

    def make() -> Drawing:
        graph = drawn_graph(facts, bare, bare.usual)
        return graph_drawing(facts, bare, bare.usual, graph, layouts, steps)

    layouts = layouts_of(facts.dag)
    drawing = fetch(("played", mark, key, facts.name), make, "Drawing the graph")
    return dag_view(key, drawing, "", state.choices.of(Drawings).picks.get(key))


def _drawing(mark: str, facts: Facts, modules: Modules, cut: Cut) -> Drawing:
    graph = _blocks(mark, facts, modules, cut)
    layouts = layouts_of(graph.dag)
    key = ("drawn", mark, facts.what, cut)
    return fetch(key, lambda: graph_drawing(facts, modules, cut, graph, layouts), "Drawing the graph")


def _blocks(mark: str, facts: Facts, modules: Modules, cut: Cut) -> BlockGraph:
    key = ("blocks", mark, facts.what, cut)
    return fetch(key, lambda: drawn_graph(facts, modules, cut), "Grouping the graph")


def requested(facts: Facts, modules: Modules, cut: Cut, request: Request) -> Cut:
    """The cut after a request."""
    verb, own = request.verb, request.node
    if verb == "all":
        return Cut(1 + max(map(len, modules.paths)))
    if verb == "none":
        return modules.shortest
    graph = drawn_graph(facts, modules, cut)
    block = dict(zip(block_ids(facts, graph), graph.blocks, strict=True)).get(own)
    if block is None:
        return cut
    if verb == "open":
        return cut.open(block.path) if block.path else cut
    around = enclosing(modules.paths, cut, block)
    return cut if around is None else cut.shut_module(around)


def pick(state: AppState, key: str, node: str) -> None:
    """Select a node of the view ``key`` from here, as a click there would."""
    drawings = state.choices.of(Drawings)
    _, before = drawings.picks.get(key, ("", 0))
    state.choices.keep(replace(drawings, picks={**drawings.picks, key: (node, before + 1)}))
    held = st.session_state.get(key)
    if held is not None:
        held["selected"] = node


def operators_of(loaded: Loaded) -> tuple[Facts, Modules]:
    """The operators of a model and their modules, found once."""
    return fetch(
        ("operators", loaded.key),
        lambda: (operator_facts(loaded), operator_modules(loaded)),
        "Reading the names",
    )


def tasks_of(loaded: Loaded) -> tuple[Facts, Modules]:
    """The tasks of a model and their modules, found once."""
    return fetch(
        ("tasks", loaded.key), lambda: (task_facts(loaded), task_modules(loaded)), "Reading the names"
    )


def members_of(
    state: AppState, key: str, mark: str, made: tuple[Facts, Modules], own: str
) -> tuple[int, ...]:
    """The nodes that a drawn box of the view ``key`` stands for; none when there is no such box."""
    facts, modules = made
    cut = state.choices.of(Drawings).cuts.get((key, mark), modules.usual)
    graph = _blocks(mark, facts, modules, cut)
    return next(
        (b.members for b, i in zip(graph.blocks, block_ids(facts, graph), strict=True) if i == own), ()
    )


def boxes(state: AppState, key: str, mark: str, made: tuple[Facts, Modules]) -> int:
    """How many boxes the view ``key`` draws."""
    facts, modules = made
    cut = state.choices.of(Drawings).cuts.get((key, mark), modules.usual)
    return len(_blocks(mark, facts, modules, cut).blocks)
