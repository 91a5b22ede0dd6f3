"""``tiresias``: query classes fall through queues by attained service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.queries.schedulers.base import NetworkView
from nona.queries.schedulers.flows.allotter import (
    ExecutorClaims,
    RoundQuestion,
    flow_scheduler,
    single_claims,
)


class _Standing(NamedTuple):
    """Standing of m jobs in the queues.

    ``queue`` (m,) counts from 0; of one queue's jobs that of the lowest ``place`` (m,) is first.
    ``attained_s`` (m,) are worker-seconds, ``executed_s`` and ``waited_s`` (m,) seconds with and without
    workers, all since the job last joined queue 0.
    """

    queue: Ints
    place: Ints
    attained_s: Floats
    executed_s: Floats
    waited_s: Floats


def joined(jobs: int) -> _Standing:
    """Return new jobs, in order, in queue 0."""
    none = np.zeros(jobs)
    return _Standing(np.zeros(jobs, np.int64), np.arange(jobs), none, none, none)


def moved(
    before: _Standing, served_s: Floats, running: Bools, length_s: float, limits: Floats, promote: float
) -> _Standing:
    """Return the standing ``length_s`` seconds later: discretised 2D-LAS (Gu et al., NSDI 2019, section 3).

    A job whose attained service has reached the limit of its queue goes to the tail of the next one. With
    ``promote`` κ above 0 a job below queue 0 that has run and then waited κ times as long as it ran joins
    queue 0 again. Of jobs that move at once the lowest number is first.

    >>> limits = np.array([10.0, 50.0])
    >>> after = moved(joined(2), np.array([12.0, 3.0]), np.array([True, True]), 1.0, limits, 0.0)
    >>> after.queue.tolist(), in_order(after).tolist()
    ([1, 0], [1, 0])
    """
    attained = before.attained_s + served_s
    executed = before.executed_s + length_s * running
    waited = before.waited_s + length_s * (~running & (executed > 0))
    demoted = (before.queue < len(limits)) & (attained >= np.append(limits, np.inf)[before.queue])
    promoted = (before.queue > 0) & (promote > 0) & (executed > 0) & (waited >= promote * executed)
    queue = np.where(promoted, 0, before.queue + (demoted & ~promoted))
    place = before.place.copy()
    new = np.flatnonzero(demoted | promoted)
    place[new] = before.place.max(initial=-1) + 1 + np.arange(len(new))
    again = np.where(promoted, 0.0, 1.0)
    return _Standing(queue, place, attained * again, executed * again, waited * again)


def in_order(standing: _Standing) -> Ints:
    """(m,) Numbers of the jobs in the order in which they are served."""
    return np.lexsort((standing.place, standing.queue))


def take_in_order(order: Ints, needs: Floats, rates: Floats, workers: Ints) -> Floats:
    """Return the workers (m, J) of jobs that take free ones in ``order``, their fastest types first.

    ``needs``: (m,) steps/s. ``rates``, ``workers``: (m, J) steps/s of a job on one worker of each type; (J,)
    workers of each type.
    """
    taken, free = np.zeros(rates.shape), workers.astype(float)
    for job in order:
        left = float(needs[job])
        for kind in np.argsort(-rates[job], kind="stable"):
            if rates[job, kind] > 0 and left > 0:
                taken[job, kind] = min(free[kind], left / rates[job, kind])
                free[kind] -= taken[job, kind]
                left -= taken[job, kind] * rates[job, kind]
    return taken


@dataclass(frozen=True, slots=True)
class AskTiresias:
    """Discretised 2D-LAS with two ``limits`` in executor-seconds and the knob ``promote``."""

    limits: tuple[float, float]
    promote: float

    def __call__(self, question: RoundQuestion, memory: _Standing | None) -> tuple[ExecutorClaims, Any]:
        """Return the claims by attained service, and the queues of the flows."""
        standing = moved(
            memory or joined(len(question.cluster.rates)),
            question.last_round.service_s.sum(axis=1),
            question.owned > 0,
            question.last_round.length_s,
            np.array(self.limits),
            self.promote,
        )
        taken = take_in_order(
            in_order(standing), question.needs, question.knowledge.rates, question.cluster.counts
        )
        return single_claims(taken), standing


def _policy(options: Mapping[str, Any]) -> AskTiresias:
    first, second = options["limit_1_s"], options["limit_2_s"]
    if second < first:
        raise SimulationError(
            f"Scheduler 'tiresias': option limit_2_s={second!r} must be at least limit_1_s, {first!r}; "
            "change it."
        )
    return AskTiresias((first, second), options["promote"])


SCHEDULER = flow_scheduler(
    _policy,
    {
        "limit_1_s": PolicyOption(3250.0, "executor-seconds at which a flow falls to the second queue"),
        "limit_2_s": PolicyOption(7200.0, "executor-seconds at which it falls to the third"),
        "promote": PolicyOption(0.0, "a flow returns after waiting this many times what it had; 0: never"),
    },
    name="tiresias",
    network_view=NetworkView.N0,
    summary="Serves the query classes that have had the least service first: three queues, two limits.",
    source=(
        "Gu, Chowdhury, Shin, Zhu, Jeon, Qian, Liu and Guo: Tiresias: A GPU Cluster Manager for "
        "Distributed Deep Learning, NSDI 2019, section 3. Queues and limits are those of its public simulator"
    ),
    adaptation=(
        "Attained service is executor-seconds of a class's queries. In the queues' order each class takes "
        "what its work needs, its fastest executors first. It takes less where less is left; the public "
        "simulator would let it wait."
    ),
    look=ChartStyle("#b0305f", "solid", "diamond-cross"),
)
