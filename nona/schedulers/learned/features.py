"""What the learned schedulers know of a system: times in units of a query's mean work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.system import QueryClass, System

Floats = NDArray[np.float64]
SCALE = 10.0  # a tenth of a query's work is where log(1 + 10 x) bends


def mean_work_s(system: System) -> float:
    """Mean seconds of all tasks of a query, over classes by rate and over executors: the unit of time."""
    work = [float((system.class_weights @ q.tasks.compute_s).sum()) for q in system.queries]
    rates = [q.rate for q in system.queries]
    return float(np.average(work, weights=rates if sum(rates) > 0 else None)) or 1.0


def task_features(system: System, query: QueryClass, unit_s: float) -> Floats:
    """(T, 3): log(1 + 10 time), log(1 + 10 transfer of what it makes), log(1 + successors)."""
    tasks = query.tasks
    time_s = system.class_weights @ tasks.compute_s
    out = np.bincount(tasks.tensor_source, weights=tasks.tensor_bytes, minlength=len(tasks))
    successors = [len(s) for s in tasks.dag.successors]
    columns = (SCALE * time_s / unit_s, SCALE * out / system.capacity / unit_s, successors)
    features: Floats = np.log1p(np.array(columns, dtype=float).T)
    return features
