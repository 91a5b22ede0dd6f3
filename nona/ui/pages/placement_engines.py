"""Placement of language models: engines of one GPU or of several, by the formula."""

from __future__ import annotations

import streamlit as st

from nona.errors import NonaError, ScenarioError
from nona.report.language.figures import sizes_figure, sizes_finding
from nona.report.language.tables import SIZES
from nona.study.language.sizes import engine_sizes, own_rate
from nona.tables import share_text
from nona.ui.pages.scenario_engines import prepared
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import picture, table
from nona.units import format_number


def engines_section(state: AppState) -> None:
    """A chart over the rate for the GPUs of a server with an engine; drawn at once, as it takes no run."""
    st.subheader("Engines of one GPU or of several?")
    st.caption(
        "The GPUs of one server, two at least: an engine on each, or engines that span several (tensor "
        "parallel). The formula's mean time per output token over the rate of all rows, in their mix. A line "
        "ends where engines or caches are full; budget and preemption are left out: simulate your choice."
    )
    groups = {
        f"{index + 1}: {max(2, group.gpus)} {group.gpu}": index
        for index, group in enumerate(state.scenario.cluster.servers)
        if group.engine is not None
    }
    names, study = list(groups), prepared(state)
    hint = "A group of servers with an engine; one GPU counts as two here."
    chosen = st.selectbox("Servers", names, key="engine-sizes", help=hint) if len(names) > 1 else names[0]
    group = groups[chosen or names[0]]
    try:
        if isinstance(study, ScenarioError):
            raise study
        curves = engine_sizes(state.scenario, state.uploads.sources, state.scenario.cluster.servers[group])
    except NonaError as error:
        st.warning(plain(str(error)), icon=":material/info:")
        return
    finding = sizes_finding(curves)
    st.markdown(f"**{plain(finding)}**")
    own = own_rate(study, group)
    alt = f"Time per output token over the rate; this scenario has {format_number(own)}/s. {finding}"
    picture(sizes_figure(curves, own), "engine-sizes-chart", alt)
    errors = {curve.gpus: curve.error for curve in curves if curve.error}
    if errors:
        worst = share_text(max(errors.values()))
        st.caption(
            f"Step times are off by up to {worst}; lines by as much at low rates, by more at high ones."
        )
    table(SIZES.of(curves), "engine-sizes-table", "Each size of engines: its fastest token, what it serves")
