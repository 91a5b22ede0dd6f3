"""The cluster with its load: that of a run that has ended, and that of one that is going on."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from nona.hardware.cluster import Cluster
from nona.report.inputs.cluster_map import cluster_map, executor_rows
from nona.report.simulations.titles import executors_title
from nona.results.simulation.live import LiveRun
from nona.results.simulation.series import ResourceLoad
from nona.scenario.schema import Scenario
from nona.ui.pages.cluster.drawing import cluster_drawing
from nona.ui.session.state import AppState
from nona.ui.shell.job_panel import current_job
from nona.ui.shell.progress import beat
from nona.ui.widgets.fields import plain
from nona.ui.widgets.tables import table

KIND = "simulate"
POLL_S = 0.6


def cluster_result(scenario: Scenario, scheduler: str, load: ResourceLoad) -> None:
    """The cluster with every executor's and link's load under one scheduler, and the same as a table."""
    st.markdown(f"**{plain(f'{scheduler}: {executors_title(load.executors)}')}**")
    cluster_drawing(scenario, load, "cluster-result")
    with st.expander("Every executor as a table", icon=":material/table:"):
        rows = executor_rows(cluster_map(Cluster.from_spec(scenario.cluster), load))
        shares = [name for name in rows[0] if name.endswith("%")]
        formats = {name: st.column_config.NumberColumn(format="%.1f") for name in shares}
        alt = "Utilisation of every executor and of its server's card"
        table(pd.DataFrame(rows), "executor-loads", alt, column_config=formats)


def live_cluster(state: AppState) -> None:
    """While a simulation runs, the cluster with the load so far under the scheduler that is simulated now."""
    every_s = beat(current_job(state, KIND), POLL_S)
    if every_s is not None:
        st.fragment(_live, run_every=every_s)(state)


def _live(state: AppState) -> None:
    job = current_job(state, KIND)
    if job is None or not job.running or not job.live or job.fingerprint != state.fingerprint(KIND):
        return  # with another scenario on the page there is no cluster to draw the loads in
    live = LiveRun.from_json(job.live)
    if not live.loads:
        return
    # The run's text begins with the scheduler; those that ended keep their place in the order.
    name = next((n for n in live.loads if live.now.startswith(f"{n},")), list(live.loads)[-1])
    with st.container(border=True, key="live-cluster"):
        st.markdown(f"**{plain(f'The cluster so far under {name}')}**")
        cluster_drawing(state.scenario, live.loads[name], "cluster-live")
