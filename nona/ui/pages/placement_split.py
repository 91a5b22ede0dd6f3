"""Split or batch: two copies of a row's model on two GPUs, dedicated, split, replicated, with batches."""

from __future__ import annotations

import streamlit as st

from nona.hardware.cluster import Cluster
from nona.report.arrangements import POINTS, row_figure, row_finding, row_note
from nona.results.studies import RowArranged
from nona.ui.jobs.registry import Job
from nona.ui.pages.run_page import Run, run_area
from nona.ui.session.state import AppState
from nona.ui.tasks.desk import ArrangeAsked
from nona.ui.widgets.fields import plain
from nona.ui.widgets.results import picture, table

BATCHES = (1, 4, 8, 32)
GAPS = {"Poisson (CV 1)": 1.0, "bursty (CV 2)": 2.0, "very bursty (CV 3)": 3.0}
HINTS = {
    "arranged-batch": "The most queries that a GPU takes together; 1: one at a time.",
    "arranged-gaps": "Coefficient of variation of the gaps between arrivals.",
    "arranged-model": "The row of the workload; its own rate is not used, as the chart is over the rate.",
    "arranged-kind": "Executor class of both GPUs.",
}


def split_section(state: AppState) -> None:
    """Controls, and the chart of what they ask."""
    st.subheader("Split or batch?")
    st.caption(
        "Two copies of a model on two GPUs: a GPU for each (dedicated), both in halves over both (pipeline), "
        "or both on both (replicated)."
    )
    with st.grid(4, min_column_width=170):
        for key, label, options, first in _fields(state):
            st.selectbox(label, options, options.index(first), key=key, help=HINTS[key])
    run_area(state, split_run(state))


def _fields(state: AppState) -> list[tuple[str, str, list[str], str]]:
    """Key, label and options of each field, and where it stands until another is chosen."""
    labels = list(state.scenario.labels)
    model = _chosen("arranged-model", labels, labels[0])
    batching = state.scenario.batching_of(state.scenario.workload[labels.index(model)])
    own = 1 if batching is None else batching.max_batch
    classes = list(Cluster.from_spec(state.scenario.cluster).classes)
    return [
        ("arranged-model", "Model", labels, model),
        ("arranged-kind", "GPU", classes, classes[0]),
        ("arranged-batch", "Largest batch", [str(b) for b in sorted({own, *BATCHES})], str(own)),
        ("arranged-gaps", "Arrivals", list(GAPS), next(iter(GAPS))),
    ]


def _chosen(key: str, options: list[str], first: str) -> str:
    value = st.session_state.get(key)
    return value if value in options else first


def asked_now(state: AppState) -> ArrangeAsked:
    """The question in the fields."""
    model, executor, batch, gaps = (_chosen(key, options, first) for key, _, options, first in _fields(state))
    row = state.scenario.labels.index(model)
    return ArrangeAsked(row=row, executor=executor, batch=int(batch), cv=GAPS[gaps])


def split_run(state: AppState) -> Run[RowArranged]:
    """The run that answers it."""
    return Run(
        kind="arrange",
        label="Simulate the arrangements",
        of=RowArranged,
        live=_live,
        answer=lambda state, data: _answer(data),
        asked=asked_now(state),
        before="Simulates the three over eight rates. The answer is their mean JCT, and which one is fastest "
        "at which rate.",
        poll_s=0.3,
    )


def _live(job: Job) -> None:
    _chart(RowArranged.from_json(job.live), "arranged-live")


def _chart(data: RowArranged, key: str) -> None:
    finding = row_finding(data)
    st.markdown(f"**{plain(finding)}.**")
    alt = f"Mean JCT of three arrangements over the rate of each copy. {finding}"
    picture(row_figure(data), key=key, alt=alt)


def _answer(data: RowArranged) -> None:
    _chart(data, "arranged")
    st.caption(plain(row_note(data)))
    with st.expander("The numbers of this chart"):
        table(POINTS.of(data.points), "arranged-table", "Mean JCT of each arrangement at every rate")
