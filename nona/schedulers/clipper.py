"""``clipper``: the largest batch of a replica grows while queries are in time, and shrinks when late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nona.placement.result import Placement
from nona.registry import Look
from nona.schedulers.base import BatchLimits, NetworkView, Prepared, Scheduler
from nona.schedulers.least_loaded import decide, executor_works
from nona.system import System


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    ones = np.ones((len(system.queries), system.executors), dtype=np.int64)
    return Prepared(executor_works(system), 1, batches=BatchLimits(ones, adapts=True))


SCHEDULER = Scheduler(
    name="clipper",
    kind="bind",
    family="practice",
    network_view=NetworkView.N0,
    summary="Least-loaded; the largest batch grows by 1 while queries are in time, and shrinks when late.",
    source=(
        "Crankshaw et al.: Clipper: A Low-Latency Online Prediction Serving System, NSDI 2017 (recollected)"
    ),
    adaptation=(
        "The largest batch of a task on an executor begins at 1; after a batch whose oldest query is within "
        "its SLO it grows by 1, up to the row's max_batch, after another it falls to 0.9 of it. A query "
        "without an SLO is always in time. Clipper looks at the latency of a container; here that is the "
        "query's time so far. Which replica: as least-loaded. Without batching in the scenario it is "
        "least-loaded."
    ),
    decide=decide,
    build=_build,
    reads_queues=True,
    takes_lists=True,
    look=Look("#b4572b", "longdash", "bowtie"),
)
