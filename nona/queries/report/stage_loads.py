"""Load of each stage on its instances, and the stage that fills them: the bottleneck of a served workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nona.core.tables import COUNT, SHARE, TIME, Column, FilledTable, Table, percent_text
from nona.core.text import join_words
from nona.queries.results import StageLoad
from nona.queries.system import QueryClass, System

ABOUT = (
    "Load: the part of its GPUs, or processes, that a stage needs in full batches, with queries spread "
    "evenly. Loads of stages on the same GPUs add up; from 100 % on queues grow without end. A scheduler "
    "that sends more to some servers fills these earlier."
)


def stage_loads(system: System, per_s: Mapping[str, float]) -> tuple[StageLoad, ...]:
    """Return the load of each stage that has instances of its own.

    Parameters
    ----------
    system : System
        The system.
    per_s : mapping of str to float
        Query class → queries per second.

    Returns
    -------
    tuple of StageLoad
        In the order of the workload and of its tasks; empty where no stage has instances of its own.
    """
    pools, queries = system.pools, {q.name: q for q in system.queries}
    if pools is None:
        return ()
    of_stage: dict[tuple[str, str], list[int]] = {}
    for row, stage, pool in pools.stages:
        if stage:
            of_stage.setdefault((row, stage), []).append(pool)
    of_task = [q.name for q in system.queries for _ in range(len(q.tasks))]  # tasks numbered through
    found = []
    for (row, stage), numbers in of_stage.items():
        own, instances = queries[row], np.flatnonzero(np.isin(pools.pool, numbers))
        task = own.tasks.task_ids.index(stage)
        joining = np.flatnonzero(np.isin(pools.joins, numbers).any(axis=1))
        arriving = sum(per_s[of_task[t]] for t in joining)
        gpus = sorted({int(gpu) for gpu in pools.gpu[instances] if gpu < system.executors})
        kinds = pools.kind[gpus or instances].tolist()
        seconds = own.load_s[kinds, task] if gpus else [_host_s(own, kind, task) for kind in kinds]
        found.append(
            StageLoad(
                row=row,
                stage=stage,
                instances=len(instances),
                gpus=tuple(gpus),
                alone_s=float(own.tasks.compute_s[kinds[0], task]),
                load=arriving / sum(1.0 / max(float(s), 1e-12) for s in seconds),
            )
        )
    return tuple(found)


def _host_s(query: QueryClass, kind: int, task: int) -> float:
    """Seconds of a process that a query takes in full batches; it takes none of an executor."""
    rule = query.batching_of(task)
    members = 1 if rule is None else rule.max_batch
    return float(query.step_s[min(members, len(query.step_s)) - 1, kind, task]) / members


STAGES = Table[StageLoad](
    "",
    (
        Column("model", lambda s: s.row),
        Column("stage", lambda s: s.stage, decides=True),
        Column("runs on", lambda s: _places(s), decides=True),
        Column("instances", lambda s: s.instances, COUNT, decides=True),
        Column("one query alone", lambda s: s.alone_s, TIME, decides=True),
        Column("load", lambda s: s.load, SHARE, decides=True, help=ABOUT),
    ),
)


def _places(stage: StageLoad) -> str:
    if not stage.gpus:
        return "the host"
    return "1 GPU or slice" if len(stage.gpus) == 1 else f"{len(stage.gpus):,} GPUs or slices"


def stage_rows(stages: Sequence[StageLoad]) -> FilledTable:
    """Return the stages in their order."""
    return STAGES.fill(stages)


def stage_finding(stages: Sequence[StageLoad]) -> str:
    """Name the fullest GPUs or processes, and the stage that takes most of them.

    >>> read = StageLoad(row="m", stage="read", instances=2, gpus=(0, 1), alone_s=0.01, load=0.3)
    >>> find = read.model_copy(update={"stage": "find", "load": 0.2})
    >>> scan = read.model_copy(update={"stage": "scan", "gpus": (), "load": 0.1})
    >>> stage_finding([read, find, scan])
    'Bottleneck: the GPUs of read and find, 50.0 % full in full batches; read takes 60.0 % of that.'
    >>> stage_finding([scan])
    'Bottleneck: the processes of scan, 10.0 % full.'
    """
    shared = {gpu: [s for s in stages if gpu in s.gpus] for gpu in {g for s in stages for g in s.gpus}}
    groups = [*shared.values(), *([s] for s in stages if not s.gpus)]
    if not groups:
        return ""
    fullest = max(groups, key=lambda group: sum(s.load for s in group))
    whole, most = sum(s.load for s in fullest), max(fullest, key=lambda s: s.load)
    names = join_words([s.stage for s in sorted(fullest, key=lambda s: -s.load)])
    of = f"the GPUs of {names}" if most.gpus else f"the processes of {names}"
    share = f"; {most.stage} takes {percent_text(most.load / whole)} of that" if len(fullest) > 1 else ""
    batches = " in full batches" if most.gpus else ""
    return f"Bottleneck: {of}, {percent_text(whole)} full{batches}{share}."
