"""Batches of queries on the Scenario page: their fields, and what they do to the times of a row."""

from __future__ import annotations

import math

import streamlit as st

from nona.app.form import form, switch
from nona.app.models.loading import load_graph
from nona.app.pages.scenario.workload_facts import filled, row_cost
from nona.app.session.state import AppState
from nona.app.widgets.fields import plain
from nona.app.widgets.results import picture
from nona.core.errors import NonaError
from nona.models.cost.stated import by_law
from nona.models.report import batched_times, fit_text
from nona.queries.report.full_batches import gain_text, served_figure, times_figure
from nona.queries.workflows.rows import batching_warnings, memory_problem
from nona.scenario.rows import BatchingSpec

FIELDS = " ".join(BatchingSpec.model_fields)
BOUND = (
    "Latency bound: a query that just misses a batch waits until the batch ends, or for a longer delay. "
    "Then it runs in the next batch."
)


def batching_fold(state: AppState, index: int) -> None:
    """Draw the batching of a row: its fields, or what all rows have, and the times of batches."""
    scenario = state.scenario
    spec = scenario.batching_of(scenario.workload[index])
    # The title stays the same: an open fold with another title would shut.
    title = f"Batching of {plain(scenario.labels[index])}"
    with st.expander(title, icon=":material/stacks:" if spec else None):
        if switch(
            state,
            f"workload.{index}.batching",
            {},
            "To turn batching off for this row alone, set the batch to 1 query.",
        ):
            form(state, f"workload.{index}.batching", _fields(state, index), 4)
        elif spec:
            st.caption("This row uses *Batching of all rows*, below.")
        if spec:
            _batch_effects(state, index, spec)


def _fields(state: AppState, index: int) -> str:
    """List the fields that count for a row: what a query adds counts where its model's file gives no more."""
    row = state.scenario.workload[index]
    try:
        by_file = not by_law(load_graph(state, row.model, row.symbols))
    except NonaError:
        by_file = False  # the row says what is wrong with its model
    return FIELDS.replace("per_query", "") if by_file else FIELDS


def batching_of_all_rows(state: AppState) -> None:
    """Draw the batching of the rows that have none of their own."""
    if switch(state, "batching", {}):
        form(state, "batching", FIELDS, 4)


def _batch_effects(state: AppState, index: int, spec: BatchingSpec) -> None:
    """Draw the effects of a row's batching: memory, warnings, times and throughput by batch size."""
    scenario, label = state.scenario, state.scenario.labels[index]
    row = scenario.workload[index]
    if row.batch > 1:
        st.caption(
            f"Each query brings {row.batch:,} inputs (*Batch*): b queries compute {row.batch:,}·b together."
        )
    try:
        classes = scenario.cluster.build().classes
        names = list(classes)
        executor = names[0]
        if names[1:]:
            executor = st.selectbox("Times on", names, key=f"batches-on-{index}", width=260)
        cost = row_cost(state, index, executor)
        problem = memory_problem(label, spec, cost, classes)
        warnings = batching_warnings(spec, row.slo, load_graph(state, row.model, row.symbols))
    except NonaError:
        return  # the row says what is wrong with it
    if problem:
        st.error(plain(problem), icon=":material/memory:")
    for line in warnings:
        st.warning(plain(line), icon=":material/info:")
    times = batched_times(filled(spec, cost).tolist())
    delay_s = {"greedy": 0.0, "static": math.inf}.get(spec.starts, spec.delay)
    st.markdown(f"**{plain(gain_text(times))}**")
    with st.grid(2, min_column_width=260):
        picture(
            times_figure(times, row.slo, delay_s),
            f"batch-times-{index}",
            "Time and bound of latency by batch",
        )
        picture(served_figure(times), f"batch-served-{index}", "Queries served a second by batch")
    st.caption(plain(f"On {executor}: {fit_text(times)}. {BOUND}"))
