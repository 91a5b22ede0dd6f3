"""How many jobs a run of an option takes: enough to see its queues, near saturation too.

Near saturation queues take long to grow, and a run that begins empty ends before jobs are late: the option
would seem to keep its targets. The time scale is the relaxation time, that of M/M/1 with the speed of the
whole cluster: 1/(√μ − √λ)². In it λ/(√μ − √λ)² = ρ/(1 − √ρ)² jobs arrive, whatever the rates. Several
servers take longer, so that this is a necessary condition only.

Source of the relaxation time: Abate and Whitt, Transient behavior of the M/M/1 queue: starting at the
origin, Queueing Systems 2, 1987.
"""

from __future__ import annotations

import math

from nona.planning.offers import Option
from nona.study.planning.bounds import Bounds
from nona.study.planning.question import MILLE

RELAXATIONS = 3  # that a run covers
MOST_JOBS = 50_000  # of a run that is lengthened


def least_jobs(utilization: float) -> float:
    """Jobs of a run that covers three relaxation times: 3ρ/(1 − √ρ)².

    >>> round(least_jobs(0.5)), round(least_jobs(0.95)), least_jobs(1.0)
    (17, 4445, inf)
    """
    slack = 1 - math.sqrt(min(max(utilization, 0.0), 1.0))
    return RELAXATIONS * utilization / slack**2 if slack > 0 else math.inf


def run_jobs(bounds: Bounds, option: Option, load: int) -> int:
    """Jobs of a run with ``load`` thousandths of the traffic: the scenario's, more near saturation."""
    asked = bounds.question.scenario.simulation.jobs
    needed = least_jobs(utilization_of(bounds, option, load))
    return max(asked, math.ceil(min(needed, MOST_JOBS)))


def utilization_of(bounds: Bounds, option: Option, load: int) -> float:
    """The least utilisation that any scheduler can reach."""
    return bounds.background + (bounds.load(option) - bounds.background) * load / MILLE
