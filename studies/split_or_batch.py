"""The study "split or batch": AlpaServe's two models on two GPUs, with and without batches.

One GPU holds either model. They are dedicated, a GPU to each model; or both models are cut in two stages of
equal length, each on its GPU (a pipeline, also with stages that take a tenth longer: what splitting costs);
or both GPUs hold both models and a query goes to the shorter queue.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from nona.study.settings import choice
from studies.arrangements import Pair, RunSize, dedicated_jct, mean_of, pipeline_jct, replicated_jct
from studies.known_systems import EACH_S, FIXED_S
from studies.provenance import Hear, check_least, made_by, rounded_result, unheard
from studies.results import BreakEven, SplitAbout, SplitCase, SplitStudy

DIGITS = 5
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


def _slower_jct(pair: Pair, size: RunSize) -> list[float]:
    return pipeline_jct(replace(pair, halves=(0.5 * OVERHEAD, 0.5 * OVERHEAD)), size)


_ARRANGEMENTS = (
    ("dedicated", dedicated_jct),
    ("pipeline", pipeline_jct),
    ("slower pipeline", _slower_jct),
    ("replicated", replicated_jct),
)


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
    on_progress: Hear = unheard,
) -> SplitStudy:
    """Run the study; numbers are rounded to :data:`DIGITS` significant digits."""
    chosen, begin = settings or SplitSettings(), time.perf_counter()
    runs = RunSize(chosen.jobs, chosen.replications, chosen.seed, engine)
    cases = []
    for number, (size, cv, rates) in enumerate(CASES):
        estimates = []
        steps = FIXED_S + EACH_S * np.arange(1, size + 1, dtype=np.float64)
        for place, (name, arrangement) in enumerate(_ARRANGEMENTS):
            on_progress((number + place / 4) / len(CASES), f"steps of {size}, {name}")
            estimates.append(mean_of(arrangement(Pair(steps, rates, cv), runs)))
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
    about = SplitAbout.like(
        chosen,
        **made_by("split-or-batch", chosen),
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
