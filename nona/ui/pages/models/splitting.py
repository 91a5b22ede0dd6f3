"""The rule of contraction, and the most that splitting could gain, for the model on the page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.contraction.rules import COST_AWARE, RULES, rule_choices
from nona.hardware.cluster import Cluster
from nona.placement.coarsening.steps import CONDITION, base_rule
from nona.placement.enumeration.idle_spans import IdleSpan, idle_spans
from nona.study.network import placement_link
from nona.ui.loaded.loading import Loaded
from nona.ui.loaded.shelf import fetch
from nona.ui.pages.models.views import contraction_headline
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import choice, plain
from nona.ui.widgets.tiles import tiles
from nona.units import format_bandwidth, format_time


def idle_of(state: AppState, loaded: Loaded) -> tuple[IdleSpan, ...]:
    """The spans of the model's sub-graphs on this scenario's servers and links, without other load."""
    cluster = Cluster.from_spec(state.scenario.cluster)
    link, servers, prepared = placement_link(cluster), cluster.servers, loaded.prepared
    return fetch(
        ("idle", loaded.key, link, servers),
        lambda: idle_spans(prepared.tasks, prepared.decomposition, link, servers),
        "Finding the best split",
    )


def pick_rule(state: AppState) -> None:
    """The button that names the rule; behind it the choice, and what each edge must satisfy."""
    box = st.popover(
        f"Rule: **{plain(state.scenario.contraction)}**",
        icon=":material/rule:",
        help="When two operators may become one task.",
    )
    with box:
        choice(state, "Rule", ("contraction",), rule_choices(), "When two operators may become one task.")
        _conditions(state)


def _conditions(state: AppState) -> None:
    rule = RULES[base_rule(state.scenario.contraction)]
    st.caption(f"**{plain(rule.name)}**: an edge {rule.condition}")
    if state.scenario.contraction == COST_AWARE:
        st.caption(f"Then, for this cluster's link: an edge {CONDITION}")


def headline(state: AppState, loaded: Loaded, spans: Sequence[IdleSpan]) -> None:
    """Say what contraction left to distribute, show it in figures, and say when two tasks may merge."""
    link = placement_link(Cluster.from_spec(state.scenario.cluster))
    what = "link" if link.route is None else "path of links"
    first, second = contraction_headline(
        loaded, spans, f"this cluster's {format_bandwidth(link.speed)} {what}"
    )
    st.markdown(f"**{plain(first)}**")
    if second:
        st.markdown(plain(second))
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    after_s = contracted.dag.critical_path(contracted.sum_over_tasks(costed.compute_s))[0]
    most_s = costed.total_compute_s - costed.critical_path_s
    tiles(
        [
            ("Operators", f"{len(contracted.graph.operators):,}", "Nodes of the model graph."),
            ("Tasks", f"{len(contracted.tasks):,}", "What the planner places: merged operators."),
            ("Steps", f"{len(contracted.steps):,}", "Merges, each allowed by the rule."),
            ("Sub-graphs", f"{len(spans):,}", "Parts of the model whose tasks could run in parallel."),
            (
                "Longest chain",
                format_time(after_s),
                f"Before: {format_time(costed.critical_path_s)}. Contraction must not make it longer.",
            ),
            (
                "Saved at most",
                format_time(most_s),
                f"In sequence it takes {format_time(costed.total_compute_s)}; no split takes less than the "
                "longest chain.",
            ),
        ]
    )
    _conditions(state)
