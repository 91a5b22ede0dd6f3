"""The arrivals of a row of the workload, with the part of its trace that it replays.

A row may replay a window of a trace, and rows may divide one trace among them: by shares, where each
arrival goes to one row at random, whatever the seed, or by the value in a column. All that a row leaves
out is left out before the simulation, so that every scheduler and every engine sees the same instants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.scenario.schema import Scenario
from nona.scenario.workload import ArrivalsSpec
from nona.simulation.workload.trace_rows import Where
from nona.system import Arrivals

Instants = NDArray[np.float64]
ReadTrace = Callable[[str, Where | None], Instants]
"""Gives the instants of the trace of that name (s, sorted), all or those of some rows."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a trace in seconds from its first row."""

    start_s: float
    length_s: float


def recorded_s(times: Instants) -> float:
    """Seconds that a trace covers: to its last arrival, and one mean gap more.

    >>> recorded_s(np.array([0.0, 1.0, 2.0]))
    3.0
    """
    gap = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 0.0
    return float(times[-1] + gap)


def window_of(spec: ArrivalsSpec, times: Instants) -> Window:
    """The part that a row replays of a trace with these instants.

    Raises
    ------
    SimulationError
        When it begins after the trace has ended, or the trace has no length.
    """
    whole = recorded_s(times)
    if not spec.start < whole:
        raise SimulationError(
            f"Trace {spec.trace!r}: start={spec.start:g} s is not within its {whole:.6g} s; start earlier."
        )
    rest = whole - spec.start
    return Window(spec.start, rest if spec.length is None else min(spec.length, rest))


def row_arrivals(scenario: Scenario, index: int, read: ReadTrace) -> Arrivals:
    """The arrival process of row ``index`` of the workload.

    Raises
    ------
    SimulationError
        When its trace cannot be read, or no arrival lies in the part that it replays.
    """
    spec = scenario.workload[index].arrivals
    times: Instants = np.zeros(0)
    window, group = Window(0.0, 0.0), ""
    if spec.trace is not None:
        times = read(spec.trace, None)
        if spec.divided:
            window = window_of(spec, times)
            group = f"{len(times)} {window.start_s:g} {window.length_s:g}"  # not its name: files are renamed
            times = _inside(_part(scenario, index, read), window, scenario.labels[index], spec)
        times = times / spec.speed if spec.speed != 1.0 else times
    return Arrivals(
        process=spec.process,
        cv=spec.cv,
        burst_factor=spec.burst_factor,
        burst_fraction=spec.burst_fraction,
        burst_mean_s=spec.burst_mean,
        times_s=tuple(times.tolist()),
        scale_to_rate=spec.scale_to_rate,
        period_s=window.length_s / spec.speed,
        trace=group,
    )


def _part(scenario: Scenario, index: int, read: ReadTrace) -> Instants:
    """The instants that are the row's, in the whole trace."""
    row, name = scenario.workload[index], scenario.workload[index].arrivals.trace or ""
    if row.arrivals.column is not None:
        return read(name, (row.arrivals.column, row.arrivals.value or row.label))
    times = read(name, None)
    if row.arrivals.share is None:
        return times
    same = [r.arrivals.share or 0.0 for r in scenario.workload if r.arrivals.trace == name]
    before = sum(r.arrivals.trace == name for r in scenario.workload[:index])
    low = sum(same[:before])
    drawn = RandomStreams(0).generator("shares of a trace").random(len(times))
    return times[(drawn >= low) & (drawn < low + row.arrivals.share)]


def _inside(times: Instants, window: Window, label: str, spec: ArrivalsSpec) -> Instants:
    """The instants in the window, from its start."""
    found = times[(times >= window.start_s) & (times < window.start_s + window.length_s)] - window.start_s
    if not len(found):
        which = f" with {spec.value or label!r} in column {spec.column!r}" if spec.column else ""
        raise SimulationError(
            f"Trace {spec.trace!r}: the row {label!r} replays no arrival{which} from {window.start_s:g} s "
            f"on, {window.length_s:g} s long; choose another part."
        )
    return np.asarray(found, dtype=np.float64)
