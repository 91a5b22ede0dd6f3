"""Simulation: choose schedulers, run them on the same arrivals, compare with confidence intervals."""

import streamlit as st

from nona.report.figures_parts import parts_figure
from nona.report.figures_simulation import (
    ecdf_figure,
    executor_figure,
    gantt_figure,
    hit_rate_figure,
    jct_figure,
    jct_over_time_figure,
    utilisation_figure,
)
from nona.ui.expert_views import expert_table
from nona.ui.job_panel import job_panel, result_of
from nona.ui.link_views import busiest_links_panel, core_alone_note
from nona.ui.simulation_views import (
    checks_panel,
    downloads,
    live_chart,
    overload_warnings,
    pick_schedulers,
    provenance_caption,
    results_table,
    scheduler_notes,
)
from nona.ui.statistics_views import (
    differences_panel,
    precision_fields,
    statistics_notes,
    warmup_panel,
)
from nona.ui.what_if import what_if
from nona.ui.widgets import count
from nona.ui.workspace import current

state = current()
pick_schedulers(state)
columns = st.columns(3)
with columns[0]:
    count(state, "Jobs measured per run", ("simulation", "jobs"), 1, 100_000_000, "All models together.")
with columns[1]:
    count(state, "Replications", ("simulation", "replications"), 1, 1000, "Independent runs; 2 or more.")
with columns[2]:
    count(state, "Seed", ("seed",), 0, 2**53 - 1, "The same seed gives the same result, bit for bit.")
precision_fields(state)
scheduler_notes(state)
expert_table(state)
what_if(state)
job_panel(state, "simulate", "Run the simulation", "simulation", live_chart)

data = result_of(state, "simulate", "simulation")
if data is None:
    st.caption("Every scheduler sees the same arrivals and the same service times.")
    st.stop()
report = data["report"]
found = report["schedulers"]
overload_warnings(found)
st.dataframe(results_table(found, data["predicted"]), hide_index=True, key="results")
core_alone_note(state)
provenance_caption(data)
statistics_notes(report)
checks_panel(report)
downloads(state)

left, right = st.columns(2)
with left:
    st.subheader("Mean completion time")
    st.plotly_chart(jct_figure(found), key="jct", alt="Mean JCT of each scheduler with its interval")
with right:
    st.subheader("SLO hit rate")
    st.plotly_chart(hit_rate_figure(found), key="hits", alt="SLO hit rate of each scheduler")

differences_panel(data["differences"])
warmup_panel(data["warmup"])

st.subheader("Distribution of completion times")
models = [*data["slo_s"], *(["all"] if len(data["slo_s"]) > 1 else [])]
model = st.selectbox("Model", models, key="ecdf-model", persist_state="session")
states = {name: s["state"] for name, s in found.items()}
st.plotly_chart(
    ecdf_figure(data["ecdf"], model, data["slo_s"].get(model), states),
    key="ecdf",
    alt="Share of jobs done within a time",
)
st.subheader("What they consist of")
st.plotly_chart(parts_figure(found, model), key="parts", alt="Mean JCT of each scheduler by its parts")

left, right = st.columns(2)
with left:
    st.subheader("Over time")
    st.plotly_chart(
        jct_over_time_figure(data["over_time"], states), key="over-time", alt="Mean JCT over arrival time"
    )
with right:
    st.subheader("Utilisation")
    st.plotly_chart(utilisation_figure(found), key="utilisation", alt="Utilisation of executors and link")

st.subheader("The first jobs, task by task")
one = st.selectbox("Scheduler", list(data["gantt"]), key="gantt-scheduler", persist_state="session")
if one:
    st.plotly_chart(gantt_figure(data["gantt"][one]), key="gantt", alt="Tasks and messages of the first jobs")
    st.plotly_chart(executor_figure(data["load"][one]), key="executors", alt="Utilisation of every executor")
    busiest_links_panel(data["load"][one]["links"])
