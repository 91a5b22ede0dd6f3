"""Schedulers that are known to be overloaded before they run: a short run that says so too is enough.

Their queues grow without end, so that a run costs the more the longer it is, and no mean comes out of it.
What is known is checked: a scheduler that is not overloaded in its short runs gets those that it asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nona.simulation.experiments.precision import Precision
from nona.simulation.run import RunOptions
from nona.simulation.sizes import auto_warmup
from nona.simulation.statistics.warmup import Warmup
from nona.simulation.workload.arrivals import effective_rate
from nona.study.simulating.replicated import Found, Runner
from nona.system import System

SHORT_JOBS = 4000


def certain_overload(
    system: System, names: Sequence[str], predicted: Mapping[str, float | None]
) -> tuple[str, ...]:
    """The schedulers without a steady state: by their prediction, or whatever they do.

    ``predicted`` is scheduler → predicted mean JCT in seconds, ``None`` or infinite without a steady state.
    The executors are overloaded under every scheduler where the least load that they can be offered, every
    task on the class that is quickest with it, is their capacity or more.
    """
    compute = system.background_compute
    work = sum(
        effective_rate(q.arrivals, q.rate) * float(q.tasks.compute_s.min(axis=0).sum())
        for q in system.queries
    )
    if compute.rate * compute.mean + work / system.executors >= 1:
        return tuple(names)
    return tuple(n for n in names if n in predicted and not math.isfinite(predicted[n] or math.nan))


def short_runs(runner: Runner, names: Sequence[str], options: RunOptions, count: int) -> Found:
    """Short runs of these schedulers, as many as asked for; only those that are overloaded in all of them.

    Each says why it was not run longer. Progress is reported as that of no work.
    """
    chosen = [(s, p) for s, p in runner.chosen if s.name in names]
    if not chosen or options.jobs <= SHORT_JOBS:
        return {}
    short = replace(options, jobs=SHORT_JOBS, warmup=None)
    found = replace(runner, chosen=chosen).run(short, count, 0.0, 0.0)
    why = (
        f"Stopped after {SHORT_JOBS:,} of {options.jobs:,} jobs: as predicted, there is no steady state, and "
        "more jobs would only lengthen the queues."
    )
    return {
        name: tuple(replace(r, state_reason=f"{r.state_reason} {why}") for r in runs)
        for name, runs in found.items()
        if all(r.state == "overloaded" for r in runs)
    }


def with_stopped_warmup(warmup: Warmup, jobs: int, stopped: Found) -> Warmup:
    """The warm-up that pilot runs of the ``stopped`` schedulers too would have given: they have no cut."""
    if not stopped or warmup.rule != "mser":
        return warmup
    return replace(warmup, jobs=max(warmup.jobs, auto_warmup(jobs)))


def with_stopped_precision(precision: Precision | None, stopped: Found) -> Precision | None:
    """The precision with the ``stopped`` schedulers among the overloaded ones, which have none."""
    if precision is None or not stopped:
        return precision
    relative = {**precision.relative, **dict.fromkeys(stopped, math.nan)}
    return replace(precision, relative=relative, overloaded=(*precision.overloaded, *stopped))
