"""What instances are made with, and the records that they leave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nona.serverless.engine.events import Instance
from nona.serverless.engine.tables import Tables
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.run import Instances


def padded(system: ServerlessSystem) -> list[list[tuple[int, ...]]]:
    """``padded(system)[f][c][n − 1]``: the configuration whose time n jobs take on an instance of c.

    That with the least batch that holds them, on the same vCPUs and vGPUs, among those that the function
    has a time for; c itself at most.
    """
    space, known = system.space, np.isfinite(system.time_s)
    size: dict[tuple[int, int], list[int]] = {}
    for number, c in enumerate(space.configurations):  # in increasing order of batches
        size.setdefault((c.vcpus, c.vgpus), []).append(number)
    every = []
    for row in known:
        of_function = []
        for number, c in enumerate(space.configurations):
            same = [n for n in size[c.vcpus, c.vgpus] if row[n] or n == number]
            of_function.append(
                tuple(next(n for n in same if space[n].batch >= jobs) for jobs in range(1, c.batch + 1))
            )
        every.append(of_function)
    return every


def instance_records(tables: Tables, every: Sequence[Instance], of_batch: Sequence[int]) -> Instances:
    """The instances in arrays; ``of_batch``: the instance of each batch."""
    return Instances(
        application=np.array([tables.application[i.queue] for i in every], dtype=np.int64),
        stage=np.array([tables.stage[i.queue] for i in every], dtype=np.int64),
        invoker=np.array([i.invoker for i in every], dtype=np.int64),
        gpu=np.array([i.lease.gpu for i in every], dtype=np.int64),
        configuration=np.array([i.configuration for i in every], dtype=np.int64),
        slots=np.array([i.lease.slots for i in every], dtype=np.int64),
        started_s=np.array([i.started_s for i in every], dtype=np.float64),
        ready_s=np.array([i.ready_s for i in every], dtype=np.float64),
        ended_s=np.array([i.ended_s for i in every], dtype=np.float64),
        cold=np.array([i.cold for i in every], dtype=np.bool_),
        container=np.array([i.container for i in every], dtype=np.int64),
        forced=np.array([i.forced for i in every], dtype=np.bool_),
        of_batch=np.array(of_batch, dtype=np.int64),
    )
