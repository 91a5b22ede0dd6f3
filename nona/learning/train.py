"""Train a policy: REINFORCE over drawn systems, with runs of the same arrivals as each other's baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nona import __version__
from nona.learning.adam import Adam
from nona.learning.episodes import drawn_system
from nona.learning.gradient import Graphs, gradient
from nona.learning.returns import advantages
from nona.learning.rollouts import Choices, Rollout, rolled_out
from nona.random_streams import RandomStreams
from nona.schedulers.base import NetworkView
from nona.schedulers.learned.card import Card, Trained
from nona.schedulers.learned.features import mean_work_s, task_features
from nona.schedulers.learned.network import BLIND_PAIR, LINK_PAIR, first_weights, network_of
from nona.schedulers.learned.ranges import Ranges
from nona.schedulers.learned.tables import learned_tables
from nona.system import System

Floats = NDArray[np.float64]
CURVE = 20  # points of the curve on the card
OnIteration = Callable[[int, float], None]


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """How a policy is trained.

    Attributes
    ----------
    sees_link
        Whether it sees the link's queue (N4), or only what a transfer takes alone (N1).
    iterations, rollouts, jobs
        Drawn systems; runs of each, with the same arrivals; jobs of a run, from an empty system, or three per
        executor where that is more.
    rate, last_rate
        Adam's step, falling geometrically from the first to the last iteration.
    entropy, last_entropy
        Weight of the policy's uncertainty in nats, likewise.
    window
        Mean works of a query for which a choice answers.
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
        return LINK_PAIR if self.sees_link else BLIND_PAIR

    @property
    def view(self) -> NetworkView:
        """What the policy sees of the network."""
        return NetworkView.N4 if self.sees_link else NetworkView.N1


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
            found = direction(system, weights, settings, runs, entropy)
            adam.step(weights, found, _between(settings.rate, settings.last_rate, done))
            curve[number] = np.mean([r.mean_jct_s for r in runs]) / mean_work_s(system)
            if on_iteration:
                on_iteration(number + 1, float(curve[number]))
    return weights, curve


def trained_file(settings: TrainSettings, on_iteration: OnIteration | None = None) -> Trained:
    """Train, and describe it: what ``nona train-decima`` writes."""
    weights, curve = trained(settings, on_iteration)
    parts = np.array_split(curve, min(CURVE, len(curve)))
    card = Card(
        version=__version__,
        sees_link=settings.sees_link,
        seed=settings.seed,
        iterations=settings.iterations,
        rollouts=settings.rollouts,
        jobs=settings.jobs,
        curve=tuple(round(float(p.mean()), 4) for p in parts),
        ranges=settings.ranges,
    )
    return Trained(card, weights)


def rollouts_of(system: System, weights: Floats, settings: TrainSettings) -> list[Rollout]:
    """Runs with the same arrivals, and draws of their own."""
    policy = learned_tables(system, network_of(weights, settings.pair))
    jobs, salts = max(settings.jobs, 3 * system.executors), range(1, settings.rollouts + 1)
    return [rolled_out(system, policy, settings.view, jobs, salt) for salt in salts]


def direction(
    system: System, weights: Floats, settings: TrainSettings, runs: Sequence[Rollout], entropy: float
) -> Floats:
    """The gradient of one iteration, per choice, of length at most 1."""
    unit_s = mean_work_s(system)
    graphs = Graphs(
        tuple(q.tasks.dag for q in system.queries),
        tuple(task_features(system, q, unit_s) for q in system.queries),
    )
    better = advantages(runs, settings.window * unit_s)
    choices = _together([r.choices for r in runs])
    if not len(choices.end):
        return np.zeros_like(weights)
    found = gradient(weights, settings.pair, graphs, choices, np.concatenate(better), entropy)
    found /= len(choices.end)
    return found / max(1.0, float(np.linalg.norm(found)))


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
