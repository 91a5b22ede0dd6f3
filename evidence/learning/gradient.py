"""The gradient of a policy's log-probabilities, and Adam's steps along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidence.learning.rollouts import Choices
from nona.core.arrays import Floats, Ints
from nona.models.graph.dag import Dag
from nona.queries.schedulers.learned.network import (
    SLOPE,
    WIDTH,
    Embedding,
    Layer,
    PolicyNetwork,
    embed,
    leaky,
    network_of,
)


@dataclass(frozen=True, slots=True)
class Graphs:
    """The query classes as the network sees them: their graphs, and the features (T, 3) of their tasks."""

    dags: tuple[Dag, ...]
    features: tuple[Floats, ...]


def back(layer: Layer, given: Layer, x: Floats, upper: Floats) -> Floats:
    """Add to ``given`` the gradient of a layer with inputs ``x``, from that of its outputs; that of ``x``."""
    given.weight[:] += x.T @ upper
    given.bias[:] += upper.sum(axis=0)
    lower: Floats = upper @ layer.weight.T
    return lower


def _bent(y: Floats, upper: Floats) -> Floats:
    """Return the gradient before the bend, from the outputs ``y`` after it."""
    return np.where(y > 0, upper, SLOPE * upper)


def _two_back(network: PolicyNetwork, given: PolicyNetwork, name: str, x: Floats, upper: Floats) -> Floats:
    """Back through ``name``1 and ``name``2, each followed by a bend; the pass is made again."""
    one, two = getattr(network, f"{name}1"), getattr(network, f"{name}2")
    hidden = leaky(one(x))
    upper = back(two, getattr(given, f"{name}2"), hidden, _bent(leaky(two(hidden)), upper))
    return back(one, getattr(given, f"{name}1"), x, _bent(hidden, upper))


def _embed_back(
    network: PolicyNetwork,
    given: PolicyNetwork,
    dag: Dag,
    features: Floats,
    made: Embedding,
    upper: Embedding,
) -> None:
    """Add the gradient of :func:`~nona.queries.schedulers.learned.network.embed` from that of its results."""
    inputs = np.concatenate([features, made.task], axis=1)
    task = upper.task + _two_back(network, given, "job", inputs, upper.job)[:, features.shape[1] :]
    for v in dag.topological_order():
        below = list(dag.successors[v])
        if below:
            sums = _two_back(network, given, "outer", made.successors[v : v + 1], task[v : v + 1])
            task[below] += _two_back(
                network, given, "inner", made.task[below], np.repeat(sums, len(below), axis=0)
            )
    prepared = leaky(network.prepare(features))
    back(network.prepare, given.prepare, features, _bent(prepared, task))


def gradient(
    weights: Floats, pair: int, graphs: Graphs, choices: Choices, advantage: Floats, entropy: float
) -> Floats:
    """Return the gradient of Σ advantage · log p(taken) + entropy · H(p) over the choices, H in nats."""
    network, derivative = network_of(weights, pair), np.zeros_like(weights)
    given = network_of(derivative, pair)
    embeddings = [embed(network, d, x) for d, x in zip(graphs.dags, graphs.features, strict=True)]
    task, job = (np.concatenate([getattr(m, part) for m in embeddings]) for part in ("task", "job"))
    of, members = _jobs(graphs, choices)
    x = np.concatenate([task[choices.task], (members @ job)[of], choices.features], axis=1)
    one = leaky(network.score1(x))
    two = leaky(network.score2(one))
    slope = _slopes(network.score3(two)[:, 0], choices, advantage, entropy)[:, None]
    upper = back(network.score3, given.score3, two, slope)
    upper = back(network.score2, given.score2, one, _bent(two, upper))
    upper = back(network.score1, given.score1, x, _bent(one, upper))
    by_task = _sums(choices.task, upper[:, :WIDTH], len(task))
    by_job = members.T @ _sums(of, upper[:, WIDTH : 2 * WIDTH], len(members))
    at = 0
    for dag, features, m in zip(graphs.dags, graphs.features, embeddings, strict=True):
        part = slice(at, at + len(dag))
        _embed_back(network, given, dag, features, m, Embedding(by_task[part], by_job[part], m.successors))
        at += len(dag)
    return derivative


def _jobs(graphs: Graphs, choices: Choices) -> tuple[Ints, Floats]:
    """Return the different sets of open tasks: the set of each candidate, and (sets, T) who is in it."""
    first = np.cumsum([0, *(len(d) for d in graphs.dags)])
    query = np.searchsorted(first, choices.task, side="right") - 1
    _, example, of = np.unique(
        choices.open_tasks * len(graphs.dags) + query, return_index=True, return_inverse=True
    )
    members = np.zeros((len(example), int(first[-1])))
    for row, (q, bits) in enumerate(zip(query[example], choices.open_tasks[example].tolist(), strict=True)):
        for t in range(len(graphs.dags[q])):
            members[row, first[q] + t] = bits >> t & 1
    return of, members


def _sums(of: Ints, values: Floats, size: int) -> Floats:
    """Return sums of rows by number."""
    return np.stack([np.bincount(of, weights=column, minlength=size) for column in values.T], axis=1)


def _slopes(score: Floats, choices: Choices, advantage: Floats, entropy: float) -> Floats:
    """Return the gradient of the sum in :func:`gradient` with respect to each candidate's score."""
    begin = np.concatenate([[0], choices.end[:-1]])
    choice = np.repeat(np.arange(len(begin)), choices.end - begin)
    highest = np.maximum.reduceat(score, begin)
    shifted = np.exp(score - highest[choice])
    p = shifted / np.add.reduceat(shifted, begin)[choice]
    log_p = np.log(np.maximum(p, 1e-300))
    uncertainty = -np.add.reduceat(p * log_p, begin)
    slope = -p * (advantage[choice] + entropy * (log_p + uncertainty[choice]))
    slope[choices.taken] += advantage
    return slope


class Adam:
    """Ascends; ``step`` changes the weights in place. Kingma and Ba (ICLR 2015), algorithm 1.

    >>> weights, adam = np.zeros(1), Adam(1)
    >>> adam.step(weights, np.array([3.0]), 0.1)
    >>> round(float(weights[0]), 6)
    0.1
    """

    def __init__(self, size: int, mean_decay: float = 0.9, square_decay: float = 0.999) -> None:
        self.mean, self.square = np.zeros(size), np.zeros(size)
        self.decays, self.steps = (mean_decay, square_decay), 0

    def step(self, weights: Floats, gradient: Floats, rate: float) -> None:
        """One step of length about ``rate`` in each weight."""
        self.steps += 1
        a, b = self.decays
        self.mean = a * self.mean + (1 - a) * gradient
        self.square = b * self.square + (1 - b) * gradient**2
        mean = self.mean / (1 - a**self.steps)
        square = self.square / (1 - b**self.steps)
        weights += rate * mean / (np.sqrt(square) + 1e-8)
