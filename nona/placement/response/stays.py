"""A second opinion on a placement: the response with whole stays on its paths.

The usual paths draw every visit to a resource by itself. That loses what the visits of one job to one
server have to do with each other. Where a short visit comes first and the long one after it, as when
a job's first task waits for an input from another server, the jobs that were ahead in the queue are ahead
again when they come back with their long visits: all of them wait longer than visits at random moments do.
Paths of classes whose arrivals are not Poisson hold whole stays (all visits of a job to one server, at the
instants of a walked job). A gamma process whose gaps have the coefficient of variation 1 is a Poisson
process, so written in that way a class with Poisson arrivals gets such paths, too.

It takes about five times as long. On few servers it is too high: a stay there is a large share of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.placement import SubGraphPlacement
from nona.placement.response.predict import SAMPLES, predict_response
from nona.placement.response.times import Response
from nona.system import Arrivals, System


def predict_by_stays(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    *,
    shares: NDArray[np.float64] | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Response:
    """:func:`~nona.placement.response.predict_response` with whole stays on the paths of all classes.

    Raises
    ------
    PlacementError
        As there.

    Examples
    --------
    One task on one executor that is busy half of the time waits half a service (M/D/1):

    >>> from nona.contraction.task_graph import TaskGraph
    >>> from nona.decomposition.dominators import decompose
    >>> from nona.system import QueryClass, Stream
    >>> tasks = TaskGraph.from_edges("one", [1.0])
    >>> query = QueryClass("q", tasks, decompose(tasks.dag), 0.5)
    >>> zero = np.zeros(1, dtype=np.int64)
    >>> system = System(zero, zero, ("gpu",), 1e9, 0.0, "fifo", Stream(), Stream(), (query,))
    >>> bool(abs(predict_by_stays(system, [[]]).mix.mean_s - 1.5) < 0.05)
    True
    """
    renewal = tuple(
        replace(q, arrivals=Arrivals("gamma", cv=1.0)) if q.arrivals.process == "poisson" else q
        for q in system.queries
    )
    return predict_response(
        replace(system, queries=renewal), queries, shares=shares, samples=samples, seed=seed
    )
