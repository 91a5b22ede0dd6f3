"""``spark-fifo``: jobs in order of arrival, as many executors as they can use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.registry import Look
from nona.schedulers.base import NetworkView, Ready, Scheduler, View, WithoutTables, home_or_free


def decide(now: float, view: View, ready: Ready, tables: Any, u: Any, out: NDArray[Any]) -> bool:
    """The first ready task of the oldest job; where its last predecessor ran, if that is free."""
    if ready.n == 0:
        return False
    return home_or_free(view, ready, int(np.argmin(ready.job)), u[0], out)


SCHEDULER = Scheduler(
    name="spark-fifo",
    kind="pick",
    family="practice",
    network_view=NetworkView.N0,
    summary="Serves jobs in order of arrival, each with as many executors as it can use.",
    source=(
        "SparkAgent of decima-sim, the simulator of Mao et al.: Learning Scheduling Algorithms for Data "
        "Processing Clusters, SIGCOMM 2019; after Spark's FIFO scheduler"
    ),
    adaptation=(
        "No cap per job. A task prefers the executor on which its last predecessor ran; otherwise the "
        "free executor is drawn uniformly. Tasks here are single, not stages of many."
    ),
    decide=decide,
    build=WithoutTables("spark-fifo"),
    reads_queues=True,
    look=Look("#2b8fd6", "dash", "triangle-left"),
)
