"""Which tasks of a model stay together over this cluster's link, why, and what that may cost."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from nona.decomposition.subgraph import VIRTUAL
from nona.hardware.cluster import Cluster
from nona.placement.coarsening.steps import CONDITION, NAME
from nona.report.inputs.coarsening import Glued, glue_headline
from nona.study import glued_model
from nona.study.network import placement_link
from nona.ui.loaded.loading import Loaded
from nona.ui.loaded.shelf import fetch
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table
from nona.ui.widgets.tiles import tiles
from nona.units import format_bandwidth, format_time, quantity_text

SHARES = {"nothing": 0.0, "1 %": 0.01, "2 %": 0.02, "5 %": 0.05, "10 %": 0.1}
_KEY = "coarsening-share"


@dataclass(frozen=True, slots=True)
class Lost:
    """Which of :data:`SHARES` may be lost."""

    share: str = "nothing"


def glued_of(state: AppState, loaded: Loaded) -> Glued:
    """The coarsening of the model over this scenario's link, with the share that was chosen."""
    link = placement_link(Cluster.from_spec(state.scenario.cluster))
    share = SHARES[state.choices.of(Lost).share]
    return fetch(
        ("glued", loaded.key, link, share),
        lambda: glued_model(loaded.prepared, link, share=share),
        "Finding which tasks stay together",
    )


def shown_steps(state: AppState, loaded: Loaded) -> Glued | None:
    """The coarsening, if the scenario's rule is the one that plays its steps after the contraction's."""
    return glued_of(state, loaded) if state.scenario.contraction == NAME else None


def link_words(state: AppState) -> tuple[str, ...]:
    """The options of ``nona contract`` for this scenario's link and the chosen share."""
    link = placement_link(Cluster.from_spec(state.scenario.cluster))
    capacity, latency = quantity_text(link.speed, "bandwidth"), quantity_text(link.latency_s, "time")
    words = ["--capacity", str(capacity), "--latency", str(latency)]
    share = state.choices.of(Lost).share
    return (*words, *(() if share == "nothing" else ("--share", share.replace(" ", ""))))


def stays_together(state: AppState, loaded: Loaded) -> None:
    """The permitted loss, the result in a sentence and figures, and every sub-graph."""
    _pick_share(state)
    glued = glued_of(state, loaded)
    st.markdown(f"##### {glue_headline(glued)}")
    st.caption(
        f"An edge {CONDITION} Bytes become seconds over {format_bandwidth(glued.link.speed)} with "
        f"{format_time(glued.link.latency_s)} latency; compute times are those of {plain(glued.device)}."
    )
    tiles(
        [
            ("Interior tasks", f"{glued.interior_tasks:,}", "Tasks between two cut tasks, all sub-graphs."),
            (
                "Groups",
                f"{glued.interior_units:,}",
                "Groups of them that may leave the root's and the sink's server.",
            ),
            (
                "Joins",
                f"{glued.steps:,}",
                f"The rule {NAME} plays and lists these steps after the contraction's.",
            ),
            (
                "Lost at most",
                format_time(glued.bound_s),
                "Per query, at any fixed waits at link and servers; a second of link load counts as one "
                "second.",
            ),
            ("Share", f"{100 * glued.bound_share:.2g} %", "Of the interiors' time on one server."),
        ]
    )
    if glued.interior_tasks:
        alt = "Every sub-graph with its tasks, the groups left of them, and the most that is lost"
        table(_frame(glued), "coarsening", alt)


def _pick_share(state: AppState) -> None:
    def choose() -> None:
        state.choices.keep(Lost(st.session_state[_KEY]))

    st.select_slider(
        "May be lost",
        tuple(SHARES),
        state.choices.of(Lost).share,
        key=_KEY,
        on_change=choose,
        help="Share of each sub-graph's time on one server; a higher share keeps more short tasks together.",
    )


def _frame(glued: Glued) -> pd.DataFrame:
    ids = [t.id for t in glued.contracted.tasks]
    rows: list[dict[str, object]] = []
    for s, c, local in zip(glued.decomposition.subgraphs, glued.coarsenings, glued.local_s, strict=True):
        if s.interior:
            rows.append(
                {
                    "sub-graph": len(rows) + 1,
                    "root": "(start)" if s.root == VIRTUAL else ids[s.root],
                    "sink": "(end)" if s.sink == VIRTUAL else ids[s.sink],
                    "interior tasks": len(s.interior),
                    "groups": c.interior_units,
                    "on one server µs": 1e6 * local,
                    "lost at most µs": 1e6 * c.bound_s(1.0),
                }
            )
    return pd.DataFrame(rows)
