"""A simulation of language engines as data, with what its charts need."""

from __future__ import annotations

import numpy as np

from nona.language.records import Run
from nona.results.document import number
from nona.results.language import EngineStep, LanguageRun, RequestPoint
from nona.scenario.schema import Scenario
from nona.study.language.simulation import LanguageResult
from nona.study.outcome import about_scenario

STEPS = 120  # of the engine with the longest one
TRACED = 1500  # of each engine, among which it is looked for
POINTS = 600  # requests of each router


def language_outcome(scenario: Scenario, result: LanguageResult, made: str) -> LanguageRun:
    """All displayed data; ``made`` is the date as text."""
    return LanguageRun(
        about=about_scenario(scenario, scenario, made),
        report=result.report,
        rows=scenario.language_labels,
        steps={name: _steps(runs[0]) for name, runs in result.runs.items()},
        requests={name: _points(runs[0]) for name, runs in result.runs.items()},
    )


def _steps(run: Run) -> tuple[EngineStep, ...]:
    """The steps around the longest one, from 0 s on, while those of all engines are known."""
    trace = run.trace
    if not len(trace):
        return ()
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
    return tuple(
        EngineStep(**step | {"begin_s": step["begin_s"] - begin_s, "end_s": step["end_s"] - begin_s})
        for step in steps
    )


def _points(run: Run) -> tuple[RequestPoint, ...]:
    """Evenly taken from the measured requests."""
    numbers = run.measured
    chosen = numbers[np.linspace(0, len(numbers) - 1, min(POINTS, len(numbers))).astype(int)]
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
