"""``tetris``: the ready task and the free executor that fit each other best, network cards included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.look import Look
from nona.options import number
from nona.placement.result.placement import Placement
from nona.schedulers.base import NetworkView, Prepared, Ready, Scheduler, View
from nona.schedulers.options import check_options
from nona.schedulers.picking.packing import Ints, Packing, best_executors, progress, work_left_s
from nona.schedulers.picking.packing_tables import packing_of
from nona.system import System

SPAN = 1 << 40  # above the number of any job, so that what a job holds decides before its arrival
OPTIONS = {"fairness": 0.25, "barrier": 0.9, "remote_penalty": 0.1}


def neediest(ready: Ready, fairness: float) -> int:
    """The greatest key (executors held, then order of arrival) among the ⌈(1 − f)·J⌉ neediest jobs."""
    keys = np.sort(ready.job_running * SPAN + ready.job)
    jobs = 1
    for i in range(1, len(keys)):
        if keys[i] != keys[i - 1]:
            jobs += 1
    wanted = max(1, int(np.ceil((1.0 - fairness) * jobs)))
    seen, at = 1, 0
    while seen < wanted:
        at += 1
        if keys[at] != keys[at - 1]:
            seen += 1
    return int(keys[at])


def best_task(view: View, ready: Ready, t: Packing, into: Ints) -> int:
    """The entry of highest a − ε·p among those that may start; −1: there is none.

    a: the best alignment of the task with a free executor on which it fits; p: the work left of its job;
    ε: the mean of a over the mean of p. Tasks of a stage that is nearly done come before others.
    ``into`` has room for all executors.
    """
    limit = neediest(ready, t.fairness)
    fit, left = np.full(ready.n, -1.0), np.zeros(ready.n)
    last, sum_fit, sum_left = False, 0.0, 0.0
    for i in range(ready.n):
        if ready.job_running[i] * SPAN + ready.job[i] > limit:
            continue
        fit[i], _ = best_executors(view, ready, i, t, into)
        if fit[i] < 0:
            continue
        near_end = progress(ready, i, t) >= t.barrier
        if near_end and not last:  # what came before does not count
            fit[:i] = -1.0
            last, sum_fit, sum_left = True, 0.0, 0.0
        if last and not near_end:
            fit[i] = -1.0
            continue
        left[i] = work_left_s(ready, i, t)
        sum_fit, sum_left = sum_fit + fit[i], sum_left + left[i]
    share = sum_fit / sum_left if sum_left > 0 else 0.0
    best, highest = -1, 0.0
    for i in range(ready.n):
        if fit[i] >= 0 and (best < 0 or fit[i] - share * left[i] > highest):
            best, highest = i, fit[i] - share * left[i]
    return best


def decide(now: float, view: View, ready: Ready, tables: Packing, u: Any, out: NDArray[Any]) -> bool:
    """The task of :func:`best_task`, on the free executor that it fits best; of equals one is drawn."""
    if ready.n == 0:
        return False
    executors = np.empty(len(view.queue_length), np.int64)
    best = 0 if ready.n == 1 else best_task(view, ready, tables, executors)
    if best < 0:
        return False
    _, equal = best_executors(view, ready, best, tables, executors)
    if equal == 0:
        return False
    out[0] = best
    out[1] = executors[int(u[0] * equal)]
    return True


def prepare(system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
    """Demands of each task; options from 0 to 1: ``fairness``, 0.25 by default, ``barrier``, 0.9, and
    ``remote_penalty``, 0.1."""
    check_options("tetris", options, known=OPTIONS)
    given = {**OPTIONS, **options}
    knobs = [number("Scheduler 'tetris'", given, name, most=1.0) for name in OPTIONS]
    return Prepared(packing_of(system, *knobs), 1)


SCHEDULER = Scheduler(
    name="tetris",
    kind="pick",
    family="heuristic",
    network_view=NetworkView.N3,
    summary="Packs: the task whose demands align best with a free executor and cards that are not promised.",
    source=(
        "Grandl, Ananthanarayanan, Kandula, Rao and Akella: Multi-Resource Packing for Cluster Schedulers "
        "(Tetris), SIGCOMM 2014, section 3 (recollected; there is no public code)"
    ),
    adaptation=(
        "Dimensions are the executor, its memory and both network cards; a task needs of a card the bytes "
        "that it reads from other servers over its own time, until it is complete. It waits where a card "
        "would be promised more than it has, unless nothing is. A stage is the tasks of equal depth in the "
        "query; a job is needier the fewer executors it holds; remaining work is modelled seconds. Where "
        "cards are not given, each is as fast as the link. It knows nothing of the link's queue."
    ),
    decide=decide,
    prepare=prepare,
    reads_queues=True,
    look=Look("#4f7d3a", "dash", "diamond-wide"),
)
