"""Cost, offered load and arrivals of the Workload page's rows. Cached, so that clicks are quick."""

from __future__ import annotations

import hashlib
from dataclasses import astuple
from pathlib import PurePath

import streamlit as st

from nona.errors import NonaError
from nona.hardware.cluster import Cluster
from nona.report.inputs.arrival_sample import ArrivalSample, arrival_sample
from nona.report.inputs.offered import Offered, offered_load
from nona.scenario.schema import ArrivalsSpec
from nona.simulation.workload.arrivals import effective_rate
from nona.simulation.workload.traces import read_trace
from nona.system import Arrivals
from nona.ui.pages.workload.row_costs import RowCost, row_cost
from nona.ui.session.state import AppState


def fastest(state: AppState, index: int) -> RowCost:
    """Row ``index`` on the kind of executor that runs it fastest; raises :class:`NonaError`."""
    classes = Cluster.from_spec(state.scenario.cluster).classes
    return min((row_cost(state, index, name) for name in classes), key=lambda c: (c.total_s, c.critical_s))


def arrivals_of(state: AppState, spec: ArrivalsSpec) -> Arrivals:
    """The process with its trace read; raises :class:`NonaError` for a trace that cannot be."""
    times: tuple[float, ...] = ()
    if spec.trace:
        data = state.uploads.sources.read(spec.trace)
        times = trace_times(hashlib.sha256(data).hexdigest(), PurePath(spec.trace).name, data)
    return Arrivals(
        spec.process,
        spec.cv,
        spec.burst_factor,
        spec.burst_fraction,
        spec.burst_mean,
        times,
        spec.scale_to_rate,
    )


@st.cache_resource(max_entries=16, show_spinner="Reading the trace")
def trace_times(digest: str, name: str, _data: bytes) -> tuple[float, ...]:
    """The instants of a trace (s), kept by content."""
    return tuple(read_trace(_data, name).tolist())


def sample_of(state: AppState, index: int) -> ArrivalSample:
    """The arrivals of row ``index`` as the first run simulates them; raises :class:`NonaError`."""
    row = state.scenario.workload[index]
    arrivals = arrivals_of(state, row.arrivals)
    digest = hashlib.sha256(repr(astuple(arrivals)).encode()).hexdigest()
    return _sample(digest, row.rate, state.scenario.seed, state.scenario.labels[index], arrivals)


@st.cache_resource(max_entries=256, show_spinner=False)
def _sample(digest: str, rate: float, seed: int, name: str, _arrivals: Arrivals) -> ArrivalSample:
    return arrival_sample(_arrivals, rate, seed, name)


def offered(state: AppState) -> Offered | None:
    """The load that the mix offers; ``None`` where a model or the cluster is not valid."""
    scenario = state.scenario
    try:
        cluster = Cluster.from_spec(scenario.cluster)
        indices = range(len(scenario.workload))
        rates = [effective_rate(arrivals_of(state, r.arrivals), r.rate) for r in scenario.workload]
        seconds = {name: [row_cost(state, i, name).total_s for i in indices] for name in cluster.classes}
    except NonaError:
        return None  # each row says what is wrong with it
    return offered_load(rates, seconds, len(cluster.executors), scenario.background.compute.utilization)
