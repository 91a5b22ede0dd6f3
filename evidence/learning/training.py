"""REINFORCE over systems drawn from ranges, with runs of the same arrivals as baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from evidence.learning.gradient import Adam, Graphs, gradient
from evidence.learning.rollouts import Choices, Rollout, advantages, rolled_out
from nona import __version__
from nona.core.arrays import Floats
from nona.core.random_streams import RandomStreams
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import decompose
from nona.queries.schedulers.base import NetworkView
from nona.queries.schedulers.learned import network
from nona.queries.schedulers.learned.card import Ranges, TrainedPolicy, TrainingCard
from nona.queries.schedulers.learned.choose import learned_tables
from nona.queries.system import BackgroundStream, QueryClass, System

WORK_S = 0.02  # mean seconds of a query: the features know no unit, so that one is enough
CAPACITY = 1e9


def drawn_system(ranges: Ranges, rng: np.random.Generator) -> System:
    """Return a system of these ranges.

    >>> system = drawn_system(Ranges(servers=(4, 4)), np.random.default_rng(1))
    >>> system.servers, system.total_rate > 0
    (4, True)
    """
    servers = _log_between(ranges.servers, rng)
    each = int(rng.integers(ranges.executors_per_server[0], ranges.executors_per_server[1] + 1))
    executors = servers * each
    slow = float(rng.uniform(*ranges.speed)) if rng.random() < 0.5 else 1.0
    classes = np.repeat((np.arange(servers) >= servers // 2).astype(np.int64), each) * (slow > 1)
    load = float(rng.uniform(*ranges.load))
    crossing = float(np.exp(rng.uniform(*np.log(ranges.crossing))))
    transfer = crossing / (load * executors)
    number = int(rng.integers(ranges.queries[0], ranges.queries[1] + 1))
    graphs = [_graph(f"q{k}", ranges, transfer, slow, rng) for k in range(number)]
    shares = rng.dirichlet(np.full(number, 2.0))
    weights = np.bincount(classes, minlength=2)[: 2 if slow > 1 else 1] / executors
    background = float(rng.uniform(*ranges.background)) * (1 - load)
    return System(
        executor_server=np.repeat(np.arange(servers), each),
        executor_class=classes,
        class_names=("fast", "slow")[: len(weights)],
        capacity=CAPACITY,
        latency_s=0.0,
        discipline="fifo",
        background_compute=BackgroundStream(background / (0.5 * WORK_S), 0.5 * WORK_S, 1.0),
        background_network=_link_background(float(rng.uniform(*ranges.link)), transfer),
        queries=tuple(
            QueryClass(g.name, g, decompose(g.dag), _rate(g, load * share, executors, weights))
            for g, share in zip(graphs, shares.tolist(), strict=True)
        ),
        seed=int(rng.integers(2**31)),
    )


def _log_between(bounds: tuple[int, int], rng: np.random.Generator) -> int:
    return round(float(np.exp(rng.uniform(*np.log(bounds)))))


def _rate(graph: TaskGraph, load: float, executors: int, weights: Floats) -> float:
    """Return the rate at which a query class takes ``load`` of the executors' time."""
    return float(load * executors / (weights @ graph.compute_s).sum())


def _link_background(share: float, transfer: float) -> BackgroundStream:
    """Messages of others as large as those of the queries on average take ``share`` of the link."""
    size = transfer * WORK_S * CAPACITY / 4
    return BackgroundStream(share * CAPACITY / size, size, 1.0)


def _graph(name: str, ranges: Ranges, transfer: float, slow: float, rng: np.random.Generator) -> TaskGraph:
    """Return a chain, a fork and join, or a random graph, each task with an edge from an earlier one."""
    n = int(rng.integers(ranges.tasks[0], ranges.tasks[1] + 1))
    kind = int(rng.integers(3))
    pairs: set[tuple[int, int]] = set()
    for v in range(1, n):
        if kind == 0:
            pairs.add((0 if v < n - 1 else int(rng.integers(0, n - 1)), v))
        elif kind == 1:
            pairs.add((int(rng.integers(max(0, v - 3), v)), v))
        else:
            before = rng.choice(v, size=min(v, int(rng.integers(1, 4))), replace=False)
            pairs |= {(int(u), v) for u in before}
    if kind == 0:
        pairs |= {(v, n - 1) for v in range(1, n - 1)}
    time_s = rng.lognormal(0.0, 0.7, n)
    time_s *= WORK_S * float(rng.uniform(0.3, 1.7)) / time_s.sum()
    size = rng.lognormal(0.0, 0.7, len(pairs))
    size *= transfer * float(time_s.sum()) * CAPACITY / max(float(size.sum()), 1e-300)
    times = np.array([time_s, slow * time_s] if slow > 1 else [time_s])
    return TaskGraph.from_edges(
        name, times, [(u, v, float(b)) for (u, v), b in zip(sorted(pairs), size, strict=True)]
    )


CURVE = 20  # points of the curve on the card
OnIteration = Callable[[int, float], None]


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Settings of the training of a policy.

    ``sees_link``: True for a policy that sees the link's queue (N4); else it sees the time of a transfer
        alone (N1).
    ``iterations``, ``rollouts``, ``jobs``: drawn systems; runs of each, with the same arrivals; jobs of a
        run, from an empty system, or three per executor where that is more.
    ``rate``, ``last_rate``: Adam's step, falling geometrically from the first to the last iteration.
    ``entropy``, ``last_entropy``: weight of the policy's uncertainty in nats, likewise.
    ``window``: mean works of a query for which a choice answers.
    """

    sees_link: bool = True
    iterations: int = 1000
    rollouts: int = 8
    jobs: int = 100
    seed: int = 1
    rate: float = 1e-2
    last_rate: float = 5e-4
    entropy: float = 0.03
    last_entropy: float = 1e-4
    window: float = 4.0
    ranges: Ranges = field(default_factory=Ranges)

    @property
    def pair(self) -> int:
        """Features of a task on an executor."""
        return network.LINK_PAIR if self.sees_link else network.BLIND_PAIR

    @property
    def view(self) -> NetworkView:
        """The part of the network that the policy sees."""
        return NetworkView.N4 if self.sees_link else NetworkView.N1


def first_weights(rng: np.random.Generator, pair: int) -> Floats:
    """Weights before training: N(0, 2/inputs), the last layer a tenth of it, biases 0."""
    weights = np.zeros(network.size(pair))
    layers = network.network_of(weights, pair)
    for name in network.LAYERS:
        weight = getattr(layers, name).weight
        weight[:] = rng.normal(0.0, np.sqrt(2.0 / len(weight)), weight.shape)
    layers.score3.weight[:] *= 0.1
    return weights


def trained(settings: TrainSettings, on_iteration: OnIteration | None = None) -> tuple[Floats, Floats]:
    """The weights, and the training curve: (iterations,) the mean JCT of each iteration's runs over the
    mean work of a query there. The same settings give the same weights, bit for bit, on one kind of machine.
    """
    streams = RandomStreams(settings.seed)
    weights = first_weights(streams.generator("decima", "weights"), settings.pair)
    draws = streams.generator("decima", "systems")
    adam, curve = Adam(len(weights)), np.zeros(settings.iterations)
    with threadpool_limits(limits=1):  # sums of several threads differ in the last bit
        for number in range(settings.iterations):
            done = number / max(settings.iterations - 1, 1)
            system = drawn_system(settings.ranges, draws)
            runs = rollouts_of(system, weights, settings)
            entropy = _between(settings.entropy, settings.last_entropy, done)
            direction = _direction(system, weights, settings, runs, entropy)
            adam.step(weights, direction, _between(settings.rate, settings.last_rate, done))
            curve[number] = np.mean([r.mean_jct_s for r in runs]) / network.mean_work_s(system)
            if on_iteration:
                on_iteration(number + 1, float(curve[number]))
    return weights, curve


def make_ready() -> None:
    """Compile the policy that learns, where need be."""
    trained(TrainSettings(iterations=1, rollouts=2, jobs=1))


def trained_file(settings: TrainSettings, on_iteration: OnIteration | None = None) -> TrainedPolicy:
    """Train, and describe it: what ``nona train-decima`` writes."""
    weights, curve = trained(settings, on_iteration)
    parts = np.array_split(curve, min(CURVE, len(curve)))
    card = TrainingCard(
        version=__version__,
        sees_link=settings.sees_link,
        seed=settings.seed,
        iterations=settings.iterations,
        rollouts=settings.rollouts,
        jobs=settings.jobs,
        curve=tuple(round(float(p.mean()), 4) for p in parts),
        ranges=settings.ranges,
    )
    return TrainedPolicy(card, weights)


def rollouts_of(system: System, weights: Floats, settings: TrainSettings) -> list[Rollout]:
    """Run with the same arrivals, and draws of their own."""
    policy = learned_tables(system, network.network_of(weights, settings.pair))
    jobs, salts = max(settings.jobs, 3 * system.executors), range(1, settings.rollouts + 1)
    return [rolled_out(system, policy, settings.view, jobs, salt) for salt in salts]


def _direction(
    system: System, weights: Floats, settings: TrainSettings, runs: Sequence[Rollout], entropy: float
) -> Floats:
    """Return the gradient of one iteration, per choice, of length at most 1."""
    unit_s = network.mean_work_s(system)
    graphs = Graphs(
        tuple(q.tasks.dag for q in system.queries),
        tuple(network.task_features(system, q, unit_s) for q in system.queries),
    )
    better = advantages(runs, settings.window * unit_s)
    choices = _together([r.choices for r in runs])
    if not len(choices.end):
        return np.zeros_like(weights)
    direction = gradient(weights, settings.pair, graphs, choices, np.concatenate(better), entropy)
    direction /= len(choices.end)
    return direction / max(1.0, float(np.linalg.norm(direction)))


def _between(first: float, last: float, done: float) -> float:
    return math.exp((1 - done) * math.log(first) + done * math.log(last))


def _together(parts: Sequence[Choices]) -> Choices:
    """The choices of several runs as those of one."""
    before = np.cumsum([0, *(len(p.task) for p in parts)])[:-1]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(p, name) for p in parts])

    shift = np.repeat(before, [len(p.end) for p in parts])
    return Choices(
        end=joined("end") + shift,
        taken=joined("taken") + shift,
        time_s=joined("time_s"),
        task=joined("task"),
        open_tasks=joined("open_tasks"),
        features=joined("features"),
    )
