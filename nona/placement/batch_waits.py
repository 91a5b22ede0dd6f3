"""What queries meet at executors that batch: waits, and the steps that they share with others.

An executor of class k runs work of several kinds, each in steps of its own, and background one by one. Whole
queries whose tasks run on are one kind each, of rate λ_j s_jk/n_k with steps Σ_v s_v(b). The queue of one
kind without background is solved (:mod:`~nona.placement.bulk_queue`); several are one executor in a short
simulation with Poisson arrivals, always with the same random numbers. Parts of a query on several executors
are more kinds with shorter steps: a visit is taken to wait as a whole query does, for about a round of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nona.arrays import Floats, Ints
from nona.placement.bulk_queue import bulk_queue
from nona.random_streams import RandomStreams
from nona.system import Batching, QueryClass, System

_ARRIVALS = 1 << 17  # of a simulation
WARM_UP = 1 / 16  # share of it that is left out


@dataclass(frozen=True, eq=False)
class Kind:
    """Equal work at an executor: rate (1/s), seconds (B,) of steps of 1, …, B and their scv, and the rule."""

    rate: float
    step_s: Floats
    scv: float = 0.0
    batching: Batching | None = None

    @property
    def delay_s(self) -> float:
        """How long less than a full step waits for others."""
        return self._rule.waits_s

    @property
    def waits_for_full(self) -> bool:
        """True where no other size is preferred."""
        return int(self.preferred.sum()) == len(self.step_s)

    @property
    def preferred(self) -> Ints:
        """(B,) The largest number up to b that starts without delay, 0 where there is none."""
        return self._rule.preferred_to

    @property
    def _rule(self) -> Batching:
        return self.batching or Batching(self.step_s)


@dataclass(frozen=True, eq=False)
class ExecutorVisits:
    """Visits to one executor, which come at ``time_s`` (n,), in any order, each with one task or several.

    Those of visit i begin at ``begin[i]``. Of each of all m tasks ``kind``, and ``after``: the number of the
    task with whose end it is ready, −1 where it is when the visit comes.
    """

    time_s: Floats
    kind: Ints
    begin: Ints
    after: Ints

    @classmethod
    def single(cls, time_s: Floats, kind: Ints) -> ExecutorVisits:
        """Visits of one task each."""
        number = np.arange(len(kind))
        return cls(time_s, kind, number, np.full(len(kind), -1))


def take_steps(
    kinds: Sequence[Kind], visits: ExecutorVisits, rng: np.random.Generator
) -> tuple[Floats, Floats, Ints]:
    """Simulate one executor: when the step of each task begins and ends, and how many are in it.

    These are ``nan`` and 0 where it never does. ``form_ahead`` is not in it.
    """
    from nona.placement.batch_steps import take_steps as compiled_steps  # it imports Numba

    order = np.argsort(visits.time_s, kind="stable")
    factor = np.ones(len(visits.kind))
    for k, it in enumerate(kinds):
        here = visits.kind == k
        if it.scv > 0:
            factor[here] = rng.gamma(1.0 / it.scv, it.scv, int(here.sum()))
    begin_s, end_s, members = compiled_steps(
        visits.time_s[order],
        visits.begin[order],
        np.append(visits.begin[1:], len(visits.kind))[order],
        visits.kind,
        visits.after,
        factor,
        np.cumsum([0, *(len(it.step_s) for it in kinds)]),
        np.array([it.delay_s for it in kinds]),
        np.concatenate([it.step_s for it in kinds]),
        np.concatenate([it.preferred for it in kinds]),
    )
    return begin_s, end_s, members


def kind_of(query: QueryClass, step_s: Floats, rate: float = 0.0) -> Kind:
    """Return the kind of the tasks with ``step_s`` (B, T), which run on; every task has a draw of its own."""
    full = step_s[-1]
    spread = float((full**2).sum() / full.sum() ** 2) if full.sum() > 0 else 0.0
    return Kind(rate, step_s.sum(axis=1), query.service_scv * spread, query.batching)


def background_kinds(system: System) -> tuple[Kind, ...]:
    """Return the background of an executor, where there is some."""
    stream = system.background_compute
    return (Kind(stream.rate, np.array([stream.mean]), stream.scv),) if stream.rate * stream.mean > 0 else ()


@dataclass(frozen=True, eq=False)
class Met:
    """The waits and steps that queries of each class meet at an executor of each class.

    ``wait_s`` (J, K): mean wait of a visit, 0 where none comes. ``sizes[j]`` (B, K): the probability that it
    is in a step of 1, …, B.
    """

    wait_s: Floats
    sizes: tuple[Floats, ...]


def met_at(system: System, shares: Floats) -> Met:
    """Return what queries meet under ``shares`` (J, K) of the executor classes, whatever their placement."""
    return _met(system, tuple(map(tuple, shares.tolist())))


@lru_cache(maxsize=64)
def _met(system: System, shares: tuple[tuple[float, ...], ...]) -> Met:
    queries, classes = system.queries, len(system.class_names)
    wait_s = np.zeros((len(queries), classes))
    sizes = tuple(np.zeros((len(q.step_s), classes)) for q in queries)
    for k, executors in enumerate(system.class_counts.tolist()):
        here = [j for j, q in enumerate(queries) if shares[j][k] * q.rate > 0]
        firsts = sorted({system.batched_with[j] for j in here})
        rates = dict.fromkeys(firsts, 0.0)
        for j in here:
            rates[system.batched_with[j]] += queries[j].rate * shares[j][k] / executors
        kinds = [kind_of(queries[first], queries[first].step_s[:, k], rate) for first, rate in rates.items()]
        met = dict(zip(firsts, _queues(kinds, background_kinds(system)), strict=True))
        for j in here:
            wait_s[j, k], sizes[j][:, k] = met[system.batched_with[j]]
    return Met(wait_s, sizes)


def _queues(kinds: Sequence[Kind], background: tuple[Kind, ...]) -> list[tuple[float, Floats]]:
    """Mean wait of each of ``kinds``, and the probabilities of being in a step of 1, …, B."""
    if not kinds:
        return []
    everything = (*kinds, *background)
    rate = sum(it.rate for it in everything)
    if sum(it.rate * it.step_s[-1] / len(it.step_s) for it in everything) >= 1.0:
        return [(math.inf, np.eye(len(it.step_s))[-1]) for it in kinds]
    if len(everything) == 1 and kinds[0].waits_for_full:
        alone = kinds[0]
        queue = bulk_queue(alone.rate, tuple(alone.step_s.tolist()), alone.delay_s, alone.scv)
        return [(queue.wait_s, queue.sizes * np.arange(1, len(queue.sizes) + 1) / queue.batch)]
    rng = RandomStreams(0).generator("batches")
    kind = rng.choice(len(everything), _ARRIVALS, p=[it.rate / rate for it in everything])
    time_s = np.cumsum(rng.exponential(1.0 / rate, _ARRIVALS)) if rate > 0 else np.zeros(_ARRIVALS)
    begin_s, _, number = take_steps(everything, ExecutorVisits.single(time_s, kind), rng)
    wait_s = begin_s - time_s
    kind[: int(WARM_UP * _ARRIVALS)] = -1
    results = []
    for k, it in enumerate(kinds):
        here = (kind == k) & (number > 0)
        sizes = np.bincount(number[here], minlength=len(it.step_s) + 1)[1:] / here.sum()
        results.append((float(wait_s[here].mean()), sizes))
    return results


def as_queries_see(system: System, shares: Floats | None) -> System:
    """Return the system with the times of tasks in the steps that queries are in under ``shares`` (J, K).

    Their ``batching`` stays: loads are those of full steps. Without any the system itself is returned.
    """
    if not system.batches:
        return system
    return _seen(system, tuple(map(tuple, (system.uniform_shares if shares is None else shares).tolist())))


@lru_cache(maxsize=64)
def _seen(system: System, shares: tuple[tuple[float, ...], ...]) -> System:
    queries = []
    for q, sizes in zip(system.queries, _met(system, shares).sizes, strict=True):
        if q.batching is not None:
            used = np.where(sizes.sum(axis=0) > 0, sizes, np.eye(len(sizes))[:, :1])
            times = (used[:, :, None] * q.batching.step_s).sum(axis=0)
            q = replace(q, tasks=replace(q.tasks, compute_s=times))
        queries.append(q)
    return replace(system, queries=tuple(queries))
