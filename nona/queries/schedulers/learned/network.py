"""The weights, and the pass of the graph network over the features of a query's tasks.

For a task v with features x_v, from the last tasks to the first::

    x'_v = prepare(x_v)
    e_v  = x'_v + outer(Σ inner(e_u) over the successors u of v)    (outer only where there are some)
    s_v  = job([x_v, e_v])

A ready task v of a job, on executor e, has the score ``score([e_v, Σ s_t, p, g])``: t are the tasks of
the job that are not complete, p describes task and executor, g the state. ``prepare`` is one layer,
``inner``, ``outer`` and ``job`` are two, ``score`` three; all layers but the last are followed by
y ↦ max(y, y/5). After Mao et al. (SIGCOMM 2019), section 5.1, whose scores are of tasks alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from nona.core.arrays import Floats
from nona.models.graph.dag import Dag
from nona.queries.system import QueryClass, System

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


NODE, STATE = 3, 4  # features of a task, and of the state
BLIND_PAIR, LINK_PAIR = 6, 8  # features of a task on an executor: without and with the link's queue
HIDDEN, WIDTH = 16, 8
SLOPE = 0.2
LAYERS = ("prepare", "inner1", "inner2", "outer1", "outer2", "job1", "job2", "score1", "score2", "score3")


@cache
def _shapes(pair: int) -> tuple[tuple[int, int], ...]:
    """Return (inputs, outputs) of each of :data:`LAYERS`, with ``pair`` features of a task on an executor."""
    scored = WIDTH + WIDTH + pair + STATE
    return (
        (NODE, WIDTH),
        *((WIDTH, HIDDEN), (HIDDEN, WIDTH)) * 2,
        *((NODE + WIDTH, HIDDEN), (HIDDEN, WIDTH)),
        *((scored, HIDDEN), (HIDDEN, WIDTH), (WIDTH, 1)),
    )


def size(pair: int) -> int:
    """Return the number of weights.

    >>> size(BLIND_PAIR), size(LINK_PAIR)
    (1497, 1529)
    """
    return sum((n + 1) * m for n, m in _shapes(pair))


@dataclass(frozen=True, slots=True)
class Layer:
    """y = x·``weight`` + ``bias``: (inputs, outputs) and (outputs,)."""

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        """Return the layer's output for ``x``."""
        y: Floats = x @ self.weight + self.bias
        return y


@dataclass(frozen=True, slots=True)
class PolicyNetwork:
    """The layers as views of one vector of weights, so that what changes the vector changes them."""

    prepare: Layer
    inner1: Layer
    inner2: Layer
    outer1: Layer
    outer2: Layer
    job1: Layer
    job2: Layer
    score1: Layer
    score2: Layer
    score3: Layer


def network_of(weights: Floats, pair: int) -> PolicyNetwork:
    """Return the layers of a vector of :func:`size` weights.

    >>> network_of(np.zeros(size(6)), 6).score3.weight.shape
    (8, 1)
    """
    layers, at = [], 0
    for n, m in _shapes(pair):
        weight = weights[at : at + n * m].reshape(n, m)
        layers.append(Layer(weight, weights[at + n * m : at + (n + 1) * m]))
        at += (n + 1) * m
    return PolicyNetwork(*layers)


def leaky(x: Any) -> Any:
    """max(x, x/5), element by element.

    >>> leaky(np.array([-1.0, 2.0])).tolist()
    [-0.2, 2.0]
    """
    return np.maximum(x, SLOPE * x)


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedding of a query's T tasks.

    (T, 8) of the task, (T, 8) of the task for its job, and on the way to them (T, 8): the sum over the
    successors.
    """

    task: Floats
    job: Floats
    successors: Floats


def embed(network: PolicyNetwork, dag: Dag, features: Floats) -> Embedding:
    """Embed a graph whose tasks have ``features`` (T, 3)."""
    task = leaky(network.prepare(features))
    sums = np.zeros_like(task)
    for v in reversed(dag.topological_order()):
        if dag.successors[v]:
            below = task[list(dag.successors[v])]
            sums[v] = leaky(network.inner2(leaky(network.inner1(below)))).sum(axis=0)
            task[v] += leaky(network.outer2(leaky(network.outer1(sums[v]))))
    inputs = np.concatenate([features, task], axis=1)
    return Embedding(task, leaky(network.job2(leaky(network.job1(inputs)))), sums)
