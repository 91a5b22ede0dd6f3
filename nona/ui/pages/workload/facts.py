"""Cost, offered load and arrivals of the Workload page's rows. Cached, so that clicks are quick."""

from __future__ import annotations

import json
from pathlib import PurePath

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from nona.errors import NonaError
from nona.hardware.cluster import Cluster
from nona.report.inputs.arrival_sample import ArrivalSample, arrival_sample
from nona.report.inputs.offered import Offered, offered_load
from nona.scenario.schema import Scenario
from nona.simulation.workload.arrivals import effective_rate
from nona.simulation.workload.trace_rows import Where, trace_columns
from nona.simulation.workload.trace_window import ReadTrace, row_arrivals
from nona.simulation.workload.traces import read_trace
from nona.sources.lookup import Sources
from nona.system import Arrivals
from nona.ui.pages.workload.row_costs import RowCost, row_cost
from nona.ui.session.state import AppState


def fastest(state: AppState, index: int) -> RowCost:
    """Row ``index`` on the kind of executor that runs it fastest; raises :class:`NonaError`."""
    classes = Cluster.from_spec(state.scenario.cluster).classes
    return min((row_cost(state, index, name) for name in classes), key=lambda c: (c.total_s, c.critical_s))


def arrivals_of(state: AppState, index: int) -> Arrivals:
    """The arrivals of row ``index`` with its trace read; raises :class:`NonaError` if that cannot be."""
    return _arrivals(_key(state, index), index, state.scenario, _reader(state))


def rate_of(state: AppState, index: int) -> float:
    """Mean queries per second of row ``index``: its own, or those of the trace that it replays."""
    return effective_rate(arrivals_of(state, index), state.scenario.workload[index].rate)


def rates_of(state: AppState) -> list[float] | None:
    """:func:`rate_of` every row; ``None`` while one of them cannot be read."""
    try:
        return [rate_of(state, i) for i in range(len(state.scenario.workload))]
    except NonaError:
        return None  # its row says what is wrong with it


def trace_of(state: AppState, name: str) -> NDArray[np.float64]:
    """All instants of an uploaded trace; raises :class:`NonaError` for one that cannot be read."""
    return _reader(state)(name, None)


def columns_of(state: AppState, name: str) -> dict[str, tuple[str, ...]]:
    """Columns by which an uploaded trace can be divided, with their values."""
    return _columns(_mark(state, name), name, state.uploads.sources)


def _reader(state: AppState) -> ReadTrace:
    def read(name: str, where: Where | None) -> NDArray[np.float64]:
        return _trace(_mark(state, name), name, where, state.uploads.sources)

    return read


def _mark(state: AppState, name: str) -> str:
    """What distinguishes an upload from all others, without reading it: a large one is drawn from often."""
    if name not in state.uploads.names():
        state.uploads.sources.read(name)  # says that it is missing
    about = (state.uploads.folder / name).stat()
    return f"{state.uploads.folder} {about.st_mtime_ns} {about.st_size}"


@st.cache_resource(max_entries=32, show_spinner="Reading the trace")
def _trace(mark: str, name: str, where: Where | None, _sources: Sources) -> NDArray[np.float64]:
    return read_trace(_sources.read(name), PurePath(name).name, where)


@st.cache_resource(max_entries=16, show_spinner=False)
def _columns(mark: str, name: str, _sources: Sources) -> dict[str, tuple[str, ...]]:
    return trace_columns(_sources.read(name), PurePath(name).name)


def _key(state: AppState, index: int) -> str:
    """All that the arrivals of a row depend on."""
    rows = state.scenario.workload
    name = rows[index].arrivals.trace
    content = _mark(state, name) if name else ""
    shares = [row for row in rows if row.arrivals.trace == name] if name else [rows[index]]
    return json.dumps([content, [r.arrivals.model_dump(mode="json") for r in shares], rows[index].label])


@st.cache_resource(max_entries=64, show_spinner=False)
def _arrivals(key: str, index: int, _scenario: Scenario, _read: ReadTrace) -> Arrivals:
    return row_arrivals(_scenario, index, _read)


def sample_of(state: AppState, index: int) -> ArrivalSample:
    """The arrivals of row ``index`` as the first run simulates them; raises :class:`NonaError`."""
    row, arrivals = state.scenario.workload[index], arrivals_of(state, index)
    key = f"{index} {_key(state, index)}"
    return _sample(key, row.rate, state.scenario.seed, state.scenario.labels[index], arrivals)


@st.cache_resource(max_entries=256, show_spinner=False)
def _sample(key: str, rate: float, seed: int, name: str, _arrivals: Arrivals) -> ArrivalSample:
    return arrival_sample(_arrivals, rate, seed, name)


def offered(state: AppState) -> Offered | None:
    """The load that the mix offers; ``None`` where a model or the cluster is not valid."""
    scenario, rates = state.scenario, rates_of(state)
    if rates is None:
        return None
    try:
        cluster = Cluster.from_spec(scenario.cluster)
        indices = range(len(scenario.workload))
        seconds = {name: [row_cost(state, i, name).total_s for i in indices] for name in cluster.classes}
    except NonaError:
        return None  # each row says what is wrong with it
    return offered_load(rates, seconds, len(cluster.executors), scenario.background.compute.utilization)
