"""When a call cannot be in time any more, whatever is done for it."""

from __future__ import annotations

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.sharing.times import least_times


def least_left_s(system: ServerlessSystem) -> tuple[float, ...]:
    """(Q,) Seconds that a call which waits in a queue needs at least, in the order of ``system.queues``.

    Formula: the longest path from the queue's stage to the end, each stage at its least mean time over
    configurations and invokers; no waits, transfers, cold starts or set-up.
    """
    fastest = least_times(system)[0].min(axis=1).tolist()
    found: list[float] = []
    for app in system.applications:
        left = [0.0] * app.stages
        for stage in reversed(app.dag.topological_order()):
            behind = max((left[v] for v in app.dag.successors[stage]), default=0.0)
            left[stage] = fastest[app.function[stage]] + behind
        found += left
    return tuple(found)
