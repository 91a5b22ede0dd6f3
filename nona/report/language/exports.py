"""Files of a simulation of language engines: a row per request, and its steps for Perfetto."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nona.language.records import Run
from nona.report.simulations.timeline import Clock, process_names, thread_name, trace_of
from nona.results.language import EngineStep, LanguageRun
from nona.results.simulation_charts import Trace, TraceEvent

if TYPE_CHECKING:
    import pandas as pd


def request_table(
    runs: Mapping[str, Sequence[Run]], rows: Sequence[str], engines: Sequence[str]
) -> pd.DataFrame:
    """One row per measured request: router, replication, row, engine, instants and times (s), tokens.

    ``arrival_s`` is that of the request itself, ``before_s`` how long before the query came that it follows.
    A request that fits no engine, or is not complete, has no times.
    """
    import pandas as pd

    frames = [_frame(name, run, rows, engines) for name, of in runs.items() for run in of]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _frame(router: str, run: Run, rows: Sequence[str], engines: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    numbers, times, requests = run.measured, run.times, run.requests
    names = np.array([*engines, "none"], dtype=object)  # −1 takes the last
    _, ttft_s, tpot_s, e2e_s = run.request_times(numbers)
    return pd.DataFrame(
        {
            "router": router,
            "replication": run.window.replication,
            "model": np.array(rows, dtype=object)[requests.row[numbers]],
            "engine": names[times.engine[numbers]],
            "arrival_s": times.arrival_s[numbers],
            "before_s": requests.before_s[numbers],
            "input_tokens": requests.inputs[numbers],
            "output_tokens": requests.outputs[numbers],
            "ttft_s": ttft_s,
            "tpot_s": tpot_s,
            "e2e_s": e2e_s,
            "preemptions": times.preemptions[numbers],
        }
    )


MOST_EVENTS = 100_000


def language_trace(run: LanguageRun) -> Trace:
    """The steps of each router's chart as a Chrome trace: a thread per engine, KV as a counter."""
    events: list[TraceEvent] = []
    for pid, (router, steps) in enumerate(run.steps.items(), 1):
        events += process_names(pid, router)
        names = list(run.report.schedulers[router].engines)
        for engine in sorted({step.engine for step in steps}):
            events.append(thread_name((pid, engine + 1), names[engine]))
        for step in steps:
            events += _step(step, pid, names[step.engine])
    note = "Steps around the longest one of the first replication."
    return trace_of(events, {}, run.about.name, MOST_EVENTS, note)


def _step(step: EngineStep, pid: int, engine: str) -> Iterator[TraceEvent]:
    clock, place = Clock(0.0), (pid, step.engine + 1)
    kind = "prompts and tokens" if step.prefill and step.decodes else "prompts" if step.prefill else "tokens"
    sizes = {"prompt_tokens": step.prefill, "answers": step.decodes, "running": step.running}
    yield clock.slice(kind, "step", place, step.begin_s, step.end_s, sizes)
    at = clock.ns(step.begin_s) / 1000
    for name, value in (("KV tokens", step.kv), ("requests waiting", step.waiting)):
        yield TraceEvent(ph="C", name=f"{name}, {engine}", pid=pid, ts=at, args={name: value})
