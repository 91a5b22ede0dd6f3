"""What policies choose from: configurations that can serve a stage, and how long a stage then takes."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from nona.scenario.late import LATE
from nona.serverless.model.application import Application
from nona.serverless.model.arrivals import LEAST_NOISE
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.sharing.pools import holdable
from nona.serverless.sharing.times import crowded_seconds

Floats = NDArray[np.float64]


def usable(system: ServerlessSystem, function: int) -> tuple[int, ...]:
    """Numbers of the configurations that have a time for the function and that some invoker holds.

    The smallest one is always among them. In increasing order.
    """
    possible = np.isfinite(system.time_s[function]) & holdable(system)
    possible[system.space.smallest] = True
    return tuple(int(n) for n in np.flatnonzero(possible))


def transfer_s(system: ServerlessSystem, application: Application, stage: int) -> Floats:
    """(C,) Seconds in which a full batch's inputs arrive from elsewhere when nothing is in the way.

    Formula: latency + batch · bytes / bandwidth, 0 without bytes. A later stage may find its inputs on its
    own invoker, which is faster; whether there will be room for it is not known when it is planned.
    """
    given = application.input_bytes[stage]
    if given <= 0:
        return np.zeros(len(system.space))
    latency_s, bandwidth = system.remote_path
    return np.asarray(latency_s + system.space.batch * given / bandwidth, dtype=np.float64)


def profiled(system: ServerlessSystem) -> tuple[Floats, Floats]:
    """(F, C) mean seconds of a batch as sharing leaves them on a full GPU, and US dollars a job at those."""
    time_s = system.cpu_s + crowded_seconds(system)
    return time_s, system.job_cost_at(time_s)


def profile_s(system: ServerlessSystem, application: Application) -> Floats:
    """(S, C) Seconds that policies plan with: a stage's transfer, and its time at a percentile of the noise.

    Formula: transfer + time · max(0.1, 1 + z(p) · noise), z(p) the normal quantile of
    ``profile_percentile``. Every policy that plans with a profile takes this one; those that model the
    noise themselves aim at the same percentile.
    """
    z = NormalDist().inv_cdf(system.profile_percentile / 100)
    factor = max(LEAST_NOISE, 1 + z * system.noise)
    time_s = profiled(system)[0]
    stages = enumerate(application.function)
    return np.array([transfer_s(system, application, s) + time_s[f] * factor for s, f in stages])


def too_late(system: ServerlessSystem, function: int, most: int) -> tuple[int, ...]:
    """The ``most`` best configurations of the smallest batch for jobs that nothing keeps in time.

    The cheapest or the fastest, as ``dispatch.late`` says.
    """
    numbers = usable(system, function)
    batch, (time_s, cost) = system.space.batch, (of[function] for of in profiled(system))
    least = min(batch[n] for n in numbers)
    alone = (n for n in numbers if batch[n] == least)
    if not LATE.find(system.dispatch.late).fastest:
        return tuple(sorted(alone, key=lambda n: (cost[n], time_s[n], n))[:most])
    return tuple(sorted(alone, key=lambda n: (time_s[n], system.price_per_s[n], n))[:most])
