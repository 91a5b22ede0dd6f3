"""The uncertainty of a simulated mean, compared with prediction, idle bound and Little's law.

Five figures that know little of one another stand side by side: the prediction (Pollaczek–Khinchine on
mean loads), the simulated mean with its interval, the idle bound (no cluster is faster than its longest
chain of tasks), Little's law on the number of jobs in the system, and the load that is offered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from nona.results.estimate import Estimate
from nona.results.simulation.report import Resources, SchedulerResult, SimulationReport
from nona.results.simulation.sureness import Bottleneck, Sureness
from nona.simulation.workload.arrivals import effective_rate
from nona.system import System

WIDE = 0.5  # half-width over mean, from which a comparison says little


def idle_bound_s(system: System) -> float:
    """Mean over the query mix of the longest chain of tasks, each on its fastest executor.

    Formula: Σ_j λ_j · max over paths of Σ min over classes of p(v) / Σ_j λ_j. No scheduler's mean JCT
    is below it, for a chain's tasks run one after the other; with service draws of mean 1 neither, as
    the mean of a maximum is at least the maximum of the means (Jensen).
    """
    rates = np.array([effective_rate(q.arrivals, q.rate) for q in system.queries])
    used = np.unique(system.executor_class)
    chains = [
        q.tasks.dag.critical_path(q.tasks.compute_s[used].min(axis=0).tolist())[0] for q in system.queries
    ]
    return float(rates @ np.array(chains) / rates.sum())


def sureness_rows(
    report: SimulationReport, predicted: Mapping[str, float | None], idle_s: float | None
) -> list[Sureness]:
    """One row per scheduler of a simulation's report."""
    return [_row(name, s, predicted, idle_s) for name, s in report.schedulers.items()]


def _row(
    name: str, s: SchedulerResult, predicted: Mapping[str, float | None], idle_s: float | None
) -> Sureness:
    mean, span, half = s.jct_s.mean, s.jct_s.ci95, s.jct_s.half_width
    told = predicted.get(name)
    offered = (s.offered.compute, s.offered.network)
    return Sureness(
        scheduler=name,
        state=s.state,
        reason=s.state_reason,
        prediction="none" if name not in predicted else "overloaded" if told is None else "formula",
        predicted_s=told,
        jct_s=Estimate(mean=mean, ci95=span),
        relative_half_width=half / mean if half is not None and mean else None,
        error=told / mean - 1 if told is not None and mean else None,
        explained=None if told is None or span is None else span[0] <= told <= span[1],
        little_s=s.little_s,
        little_error=s.little_s / mean - 1 if s.little_s is not None and mean else None,
        idle_s=idle_s,
        over_idle=mean / idle_s if mean and idle_s else None,
        load=max((v for v in offered if v is not None), default=None),
        bottleneck=bottleneck(s.offered),
        replications=s.replications,
    )


def bottleneck(offered: Resources) -> Bottleneck:
    """The resource with the highest offered load.

    >>> bottleneck(Resources(compute=0.4, network=0.9))
    'link'
    """
    compute, network = (v if v is not None else -math.inf for v in (offered.compute, offered.network))
    return "link" if network > compute else "executors"


def sureness_headline(rows: Sequence[Sureness]) -> str:
    """The finding in a sentence: the largest prediction error, and the widest interval."""
    errors = [abs(r.error) for r in rows if r.error is not None]
    widths = [r.relative_half_width for r in rows if r.relative_half_width is not None]
    known = (
        f"means have intervals of at most ± {100 * max(widths):.1f} %" if widths else "means have no interval"
    )
    if all(r.state == "overloaded" for r in rows):
        return "Every scheduler is overloaded: there is no mean completion time."
    if not errors:
        return f"These schedulers have no prediction; the simulated {known}."
    found = f"The prediction is within {100 * max(errors):.1f} % of the simulation, whose {known}"
    if widths and max(widths) > WIDE:
        return f"{found}: too wide to judge it; take more jobs or replications."
    return f"{found}."
