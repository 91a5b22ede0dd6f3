"""The study "split or batch": AlpaServe's two models on two GPUs, with and without batches.

One GPU holds either model. They are dedicated, a GPU to each model; or both models are cut in two stages of
equal length, each on its GPU (a pipeline, also with stages that take a tenth longer: what splitting costs);
or both GPUs hold both models and a query goes to the shorter queue.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nona import __version__
from nona.results.document import UNKNOWN, Estimate
from nona.results.studies import BreakEven, SplitAbout, SplitCase, SplitStudy
from nona.schedulers.base import Scheduler
from nona.schedulers.registry import get_scheduler
from nona.simulation.agreement import chain, query_of, system_of
from nona.simulation.known_systems import bind_to
from nona.simulation.run import RunOptions, simulate_run
from nona.statistics import mean_interval
from nona.study.settings import check_least, choice, command_line
from nona.study.shipped import now_text, rounded_result
from nona.system import Arrivals, Batching, System

DIGITS = 5
FIXED_S, EACH_S = 1.8874e-3, 0.1438e-3  # of a step: ResNet-50 on a V100 in fp16, as Inoue (2021) fits it
OVERHEAD = 1.1
LOADS = (0.2, 0.5, 0.8, 1.0, 1.2, 1.5, 1.8)
# B, coefficient of variation of the gaps, queries per second of each model
CASES = (
    (1, 1.0, (200.0, 200.0)),
    (1, 1.0, (80.0, 320.0)),
    (8, 1.0, (900.0, 900.0)),
    (8, 1.0, (2000.0, 2000.0)),
    (8, 1.0, (800.0, 3200.0)),
    (32, 1.0, (2000.0, 2000.0)),
    (8, 3.0, (2000.0, 2000.0)),
    (32, 3.0, (2000.0, 2000.0)),
)
_DRAWS = 16  # of two queues: it is hardly ever the same one that is drawn all the time
_TOGETHER_S = 1e-6  # a delay by which the members of a step, which arrive at one instant, are seen together


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """Size of the study: ``replications`` runs of ``jobs`` of each case and arrangement."""

    jobs: int = choice(200_000, "queries measured per run", least=1000)
    replications: int = choice(10, "independent runs of each case and arrangement", least=2)
    seed: int = choice(0, "seed of all runs")

    def __post_init__(self) -> None:
        check_least(self)


def split_study(
    settings: SplitSettings | None = None,
    *,
    engine: str = "auto",
    on_progress: Callable[[float, str], None] = lambda fraction, text: None,
) -> SplitStudy:
    """Run the study; numbers are rounded to :data:`DIGITS` significant digits.

    ``on_progress`` hears the share that is done, and of what; what it raises ends the work and comes out.
    """
    chosen, begin = settings or SplitSettings(), time.perf_counter()
    cases = []
    for number, (size, cv, rates) in enumerate(CASES):
        estimates = []
        for place, arrangement in enumerate((_dedicated, _pipeline, _slower_pipeline, _replicated)):
            done = (number + place / 4) / len(CASES)
            on_progress(done, f"steps of {size}, {arrangement.__name__.strip('_').replace('_', ' ')}")
            estimates.append(_jct(*arrangement(size, cv, rates, chosen.seed), chosen, engine))
        dedicated, pipeline, slower, replicated = estimates
        cases.append(
            SplitCase(
                batch=size,
                cv=cv,
                rates=rates,
                dedicated=dedicated,
                pipeline=pipeline,
                slower=slower,
                replicated=replicated,
            )
        )
    about = SplitAbout(
        command=command_line("split-or-batch", chosen),
        version=__version__,
        made=now_text(),
        seed=chosen.seed,
        jobs=chosen.jobs,
        replications=chosen.replications,
        seconds=time.perf_counter() - begin,
        fixed_s=FIXED_S,
        each_s=EACH_S,
    )
    theory = tuple(break_even(load) for load in LOADS)
    return rounded_result(SplitStudy(about=about, theory=theory, cases=tuple(cases)), DIGITS)


def break_even(load: float) -> BreakEven:
    """Return what splitting gains without batches, and may cost; ``load`` is λD < 2 of two models together.

    Mean times over D, Poisson arrivals: dedicated 1 + r/(2(2 - r)), pipeline 1 + r/(4(2 - r)). They are equal
    where all stages take α times as long, or the slowest stage takes β/2 of D.

    >>> even = break_even(1.2)
    >>> round(even.gain, 3), round(even.overhead, 4), round(even.uneven, 4)
    (1.273, 1.1379, 1.1926)

    Source: Z. Li et al., AlpaServe, OSDI 2023, section 3, and its published code.
    """
    r = load
    root = math.sqrt(64 - 96 * r + 56 * r**2 - 12 * r**3 + r**4)
    return BreakEven(
        load=r,
        gain=(1 + r / (2 * (2 - r))) / (1 + r / (4 * (2 - r))),
        overhead=(-8 + r**2 + root) / (3 * (r**2 - 2 * r)),
        uneven=(r - math.sqrt(8 - 4 * r + r**2)) / (r - 2),
    )


Rates = tuple[float, float]
Arranged = tuple[System, Scheduler]


def _dedicated(size: int, cv: float, rates: Rates, seed: int) -> Arranged:
    return _system(size, cv, rates, seed, (1.0,)), bind_to([0], [1])


def _pipeline(size: int, cv: float, rates: Rates, seed: int) -> Arranged:
    return _system(size, cv, rates, seed, (0.5, 0.5)), bind_to([0, 1], [0, 1])


def _slower_pipeline(size: int, cv: float, rates: Rates, seed: int) -> Arranged:
    return _system(size, cv, rates, seed, (0.5 * OVERHEAD, 0.5 * OVERHEAD)), bind_to([0, 1], [0, 1])


def _replicated(size: int, cv: float, rates: Rates, seed: int) -> Arranged:
    return _system(size, cv, rates, seed, (1.0,)), get_scheduler("jsq-d")


def _system(size: int, cv: float, rates: Rates, seed: int, stages: tuple[float, ...]) -> System:
    """Two GPUs of a server each, on a link that takes no time; ``stages`` are shares of a model's time."""
    step_s = (FIXED_S + EACH_S * np.arange(1, size + 1))[:, None, None] * np.array([stages])
    batching = Batching(step_s, "delay", _TOGETHER_S) if size > 1 else None
    arrivals = Arrivals() if cv == 1.0 else Arrivals("gamma", cv=cv)
    queries = [
        query_of(chain(name, step_s[0, 0].tolist(), 1.0), rate)
        for name, rate in zip("ab", rates, strict=True)
    ]
    batched = [replace(q, arrivals=arrivals, batching=batching) for q in queries]
    return system_of(batched, executors=2, capacity=1e15, seed=seed)


def _jct(system: System, scheduler: Scheduler, settings: SplitSettings, engine: str) -> Estimate:
    """The mean completion time; unknown where there is no steady state."""
    prepared = scheduler.prepare(system, None, {} if scheduler.name != "jsq-d" else {"d": _DRAWS})
    means = []
    for replication in range(settings.replications):
        options = RunOptions(jobs=settings.jobs, replication=replication, engine=engine)
        records = simulate_run(system, scheduler, prepared, options)
        if records.state == "overloaded":
            return UNKNOWN
        means.append(float(records.completion_time_s.mean()))
    return mean_interval(means).estimate
