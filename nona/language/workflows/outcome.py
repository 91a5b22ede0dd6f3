"""What pages and reports draw of a simulation: steps of the engines, the longest pause, some requests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.core.document import number
from nona.language.records import RouterReplication
from nona.language.results import EngineStep, LanguageRun, LongestPause, RequestPoint
from nona.language.workflows.simulation import LanguageResult
from nona.scenario.provenance import about_scenario
from nona.scenario.schema import Scenario

STEPS = 120  # of the engine with the longest one
TRACED = 1500  # of each engine, among which it is looked for
_POINTS = 600  # requests of each router


def language_outcome(scenario: Scenario, result: LanguageResult, made_at: str) -> LanguageRun:
    """Return a simulation's report with the data of its charts.

    Parameters
    ----------
    scenario : Scenario
        The scenario that was simulated.
    result : LanguageResult
        The result of :func:`simulate_language`.
    made_at : str
        The date, as text.

    Returns
    -------
    LanguageRun
        The report, and by router some steps and requests of the first replication.
    """
    charts = {name: steps_shown(runs[0]) for name, runs in result.runs.items()}
    return LanguageRun(
        about=about_scenario(scenario, scenario, made_at),
        report=result.report,
        rows=scenario.language_labels,
        steps={name: steps for name, (steps, _) in charts.items()},
        pauses={name: pause for name, (_, pause) in charts.items()},
        requests={name: _points(runs[0]) for name, runs in result.runs.items()},
    )


def steps_shown(run: RouterReplication) -> tuple[tuple[EngineStep, ...], LongestPause | None]:
    """Return the steps around the longest one, from 0 s on, and the longest pause among these.

    They go on while those of all engines are known.
    """
    trace = run.trace
    if not len(trace):
        return (), None
    longest = int(np.argmax(trace["end_s"] - trace["begin_s"]))
    own = np.flatnonzero(trace["engine"] == trace["engine"][longest])
    first = max(0, int(np.searchsorted(own, longest)) - STEPS // 3)
    begin_s = float(trace["begin_s"][own[first]])
    ends_s = [float(trace["end_s"][trace["engine"] == e].max()) for e in np.unique(trace["engine"])]
    until_s = min(
        [float(trace["end_s"][own[first : first + STEPS]].max()), *(e for e in ends_s if e > begin_s)]
    )
    shown = trace[(trace["begin_s"] >= begin_s) & (trace["begin_s"] < until_s)]
    names = trace.dtype.names or ()
    steps = (dict(zip(names, row, strict=True)) for row in shown.tolist())
    cells = tuple(
        EngineStep(**step | {"begin_s": step["begin_s"] - begin_s, "end_s": step["end_s"] - begin_s})
        for step in steps
    )
    return cells, _pause(run, shown, begin_s)


def _pause(run: RouterReplication, shown: NDArray[np.void], begin_s: float) -> LongestPause | None:
    """Return the longest pause of a request that lies within the steps shown, from ``begin_s`` on."""
    times = run.times
    inside = (times.gap_end_s - times.max_gap_s >= begin_s) & (times.gap_end_s <= shown["end_s"].max())
    if not inside.any():
        return None
    number = int(np.argmax(np.where(inside, times.max_gap_s, -1.0)))
    end_s, decoder = float(times.gap_end_s[number]), int(times.decoder[number])
    from_s = end_s - float(times.max_gap_s[number])
    engine = decoder if decoder >= 0 else int(times.engine[number])
    own = shown[shown["engine"] == engine]
    within = own[(own["begin_s"] >= from_s - 1e-12) & (own["end_s"] <= end_s + 1e-12)]
    return LongestPause(
        engine=engine,
        row=int(run.requests.row[number]),
        begin_s=from_s - begin_s,
        end_s=end_s - begin_s,
        steps=len(within),
        prefill=int(within["prefill"].sum()),
        preempted=bool(times.preemptions[number]),
    )


def _points(run: RouterReplication) -> tuple[RequestPoint, ...]:
    """Return up to ``_POINTS`` measured requests, evenly spaced in the order of arrival."""
    numbers = run.measured
    chosen = numbers[np.linspace(0, len(numbers) - 1, min(_POINTS, len(numbers))).astype(int)]
    columns = zip(
        run.requests.row[chosen].tolist(),
        *(column.tolist() for column in run.request_times(chosen)),
        run.times.preemptions[chosen].tolist(),
        strict=True,
    )
    return tuple(
        RequestPoint(
            row=row,
            arrival_s=arrival_s,
            ttft_s=number(ttft_s),
            tpot_s=number(tpot_s),
            e2e_s=number(e2e_s),
            preemptions=preemptions,
        )
        for row, arrival_s, ttft_s, tpot_s, e2e_s, preemptions in columns
    )
