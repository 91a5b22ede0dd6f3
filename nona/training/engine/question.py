"""The problem that a policy is asked, from the state of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nona.allocation.policies.problem import Allocation, Carried, EntityShare, Floats, Ints, Problem
from nona.training.engine.hooks import Hooks
from nona.training.model.rates import Rates
from nona.training.model.state import State
from nona.training.model.system import TrainingSystem

NO_ENTITY = -1
Flags = NDArray[np.bool_]


class Questioner:
    """Builds problems of one run; types without free GPUs are left out of them."""

    def __init__(self, system: TrainingSystem, rates: Rates, hooks: Hooks, replication: int) -> None:
        self._system, self._rates, self._hooks = system, rates, hooks
        self._seed = system.seed + 7919 * replication
        self._entities = _entities(system)
        number = {e.name: i for i, e in enumerate(self._entities)}
        self._entity = np.array([number.get(j.entity, NO_ENTITY) for j in system.jobs])
        self._workers = np.array([j.workers for j in system.jobs], float)
        self._weights = np.array([j.weight for j in system.jobs], float)
        self._slo_s = np.array([np.nan if j.slo_s is None else j.slo_s for j in system.jobs])

    def problem(
        self, state: State, jobs: Sequence[int], gpus: Floats, carried: Allocation | None, call: int
    ) -> tuple[Problem, Flags]:
        """The problem, and (J,) which types it knows; ``gpus``: those that no job holds."""
        rows, kinds = np.asarray(jobs, np.int64), gpus > 0
        types = tuple(t for t, there in zip(self._system.cluster.types, kinds, strict=True) if there)
        believed = self._hooks.believed(jobs, self._rates.alone[rows])[:, kinds]
        pairs, pair_rates = self._pairs(jobs, kinds)
        prices = self._system.cluster.prices
        problem = Problem(
            types=types,
            gpus=gpus[kinds],
            names=tuple(self._system.jobs[i].name for i in jobs),
            workers=self._workers[rows],
            weights=self._weights[rows],
            rates=believed,
            remaining=state.remaining[rows],
            elapsed_s=state.now - state.arrival_s[rows],
            isolated_s=state.isolated_s[rows],
            slo_s=state.admitted_s[rows] + self._slo_s[rows] - state.now,
            prices=np.array([prices.get(t, 1.0) for t in types]),
            entities=self._entities,
            entity=self._entity[rows],
            pairs=pairs,
            pair_rates=pair_rates,
            carried=_carried(carried, jobs, kinds),
            seed=self._seed * 1_000_003 + call,
        )
        return problem, kinds

    def _pairs(self, jobs: Sequence[int], kinds: Flags) -> tuple[Ints, Floats]:
        if not self._system.space_sharing or len(jobs) < 2:
            return np.empty((0, 2), np.int64), np.empty((0, int(kinds.sum()), 2))
        pairs, rates = self._rates.pairs(jobs)
        numbers = [(jobs[a], jobs[b]) for a, b in pairs.tolist()]
        return pairs, self._hooks.believed_pairs(jobs, numbers, rates)[:, kinds]


def _entities(system: TrainingSystem) -> tuple[EntityShare, ...]:
    """Those given, then those that jobs name besides."""
    known = {e.name for e in system.entities}
    named = dict.fromkeys(j.entity for j in system.jobs if j.entity and j.entity not in known)
    return (*system.entities, *(EntityShare(name) for name in named))


def _carried(answer: Allocation | None, jobs: Sequence[int], kinds: Flags) -> Carried | None:
    """The last answer, given in job numbers over all types, in the problem's numbers."""
    if answer is None:
        return None
    place = {job: i for i, job in enumerate(jobs)}
    kept = [r for r, row in enumerate(answer.rows) if all(job in place for job in row)]
    rows = tuple(tuple(place[job] for job in answer.rows[r]) for r in kept)
    return Carried(rows, answer.shares[kept][:, kinds])
