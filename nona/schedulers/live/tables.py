"""Tables of ``nona-live``: task graphs, the plan's configurations, and what waits are to be expected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Expected(NamedTuple):
    """What is expected to happen while a job of one of Q query classes runs.

    Link: ``link_load`` and ``link_wait_s``, its utilisation and wait by background; ``senders``, queries per
    second that may be split, each of which waits for what is sent before it.

    Executors: ``load`` and ``wait_s``, utilisation by background and the wait behind it; ``query_load``
    and ``query_wait_s``, by queries, and what is left of a job when a task comes; ``busy_load``, work that
    comes per second where work waits; ``crowding``, how much more of the queries' work meets the few tasks
    bound to an idle executor; ``wanted_rate``, executors that arriving queries take per second;
    ``burst_s`` and ``burst_wanted`` (Q,), work per executor and executors of the queries that follow at once.

    ``margin``: by what share of the query's time splitting must be better where executors are scarce.
    """

    link_load: float
    link_wait_s: float
    senders: float
    load: float
    wait_s: float
    query_load: float
    query_wait_s: float
    busy_load: float
    crowding: float
    wanted_rate: float
    burst_s: Floats
    burst_wanted: Floats
    margin: float


class LiveTables(NamedTuple):
    """Q query classes, K executor classes, N tasks, G sub-graphs, C configurations, S servers.

    x[i]…x[i+1] delimits the i-th row. Tasks have their number in their query class; where tables are
    over all N tasks, the task t of query class q stands at ``tasks[q]`` + t.

    Query classes: ``tasks`` (Q+1,), ``graphs`` (Q+1,), ``first`` (Q,) the task at the head, −1 where
    virtual; ``work_s`` (Q·K,) seconds of all tasks, ``inf`` where the model does not fit; ``others`` (Q,)
    how many servers beside the first are looked at; ``near`` (Q,) how many more executors of the first.

    Tasks: ``time_s`` (N·K,); ``inputs`` (N+1,) delimits ``source`` (the task that makes the input),
    ``tensor`` and ``size_bytes``; ``back_bytes`` (N,) is the least that comes back from a server where
    the task runs.

    Sub-graphs: ``order`` (G+1,) delimits ``task``, interior and sink in order of earliest start;
    ``configurations`` (G+1,); ``labels`` (C,) is where the labels of a configuration start in ``label``,
    one for each task of ``task``: 0 is the root's executor, 1, 2, … others.

    Network: ``rack`` (S,); ``rack_s`` and ``core_s`` (S,) seconds per byte on the way within the rack and
    beyond; ``latency_s``; ``core_bytes_s``, the link's capacity; ``price_s`` per byte; ``live``: 1 where the
    link's queue is read.

    ``expected``: what will happen while the job runs. ``quota`` (Q,): share of the jobs that may be split.

    ``most_tasks``, ``most_tensors``, ``most_slots``: sizes of the working arrays.
    """

    tasks: Ints
    graphs: Ints
    first: Ints
    work_s: Floats
    others: Ints
    near: Ints
    time_s: Floats
    inputs: Ints
    source: Ints
    tensor: Ints
    size_bytes: Floats
    back_bytes: Floats
    order: Ints
    task: Ints
    configurations: Ints
    labels: Ints
    label: Ints
    rack: Ints
    rack_s: Floats
    core_s: Floats
    latency_s: float
    core_bytes_s: float
    price_s: float
    live: int
    expected: Expected
    quota: Floats
    classes: int
    most_tasks: int
    most_tensors: int
    most_slots: int
