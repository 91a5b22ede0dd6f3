"""A static split of an application's SLO over its stages, for policies that know no workflows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.serverless.model.application import Application
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.choices import profile_s, usable


def split(application: Application, weight: NDArray[np.float64]) -> tuple[float, ...]:
    """(S,) Seconds of the SLO for each stage, in proportion to ``weight`` along paths.

    Formula: share(s) = SLO · w(s) / W(s), where W(s) is the weight of the heaviest path through s. The
    shares along a path p add up to SLO · Σ w(s)/W(s) ≤ SLO · Σ w(s)/w(p) = SLO; on the heaviest path they
    are the SLO. ``weight``: (S,) above 0.

    Source: Kannan et al., GrandSLAm, EuroSys 2019: slack in proportion to stages' times, on chains; the
    heaviest path through a stage is our extension to DAGs.
    """
    before, after = application.dag.predecessors, application.dag.successors
    head, tail = weight.copy(), weight.copy()
    for s in range(application.stages):
        head[s] += max((head[u] for u in before[s]), default=0.0)
    for s in reversed(range(application.stages)):
        tail[s] += max((tail[v] for v in after[s]), default=0.0)
    shares = application.slo_s * weight / (head + tail - weight)
    return tuple(float(x) for x in shares)


def static_shares(system: ServerlessSystem, application: Application) -> tuple[float, ...]:
    """(S,) Seconds of the SLO for each stage, in proportion to its mean time over its configurations."""
    rows = zip(profile_s(system, application), application.function, strict=True)
    mean = [float(row[list(usable(system, f))].mean()) for row, f in rows]
    return split(application, np.array(mean))
