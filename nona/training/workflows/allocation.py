"""One question to one policy."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import numpy as np

from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem, EntityShare
from nona.allocation.registry import get_policy
from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.options import Options
from nona.scenario.training_question import QuestionSpec
from nona.training.results import AllocatedRow, AllocateReport


def _problem_of(question: QuestionSpec) -> AllocationProblem:
    """Return the question as a policy gets it: without types that have no GPUs.

    Deadlines in seconds from now.

    Jobs are in order of the file. An entity that is named by jobs only has weight 1 and shares fairly.
    """
    types = tuple(sorted(t for t, count in question.workers.items() if count))
    jobs, number = question.jobs, {job.name: i for i, job in enumerate(question.jobs)}
    entities = [EntityShare(n, e.weight, e.policy) for n, e in question.entities.items()]
    stated = {e.name for e in entities}
    entities += [EntityShare(n) for n in dict.fromkeys(j.entity for j in jobs) if n and n not in stated]
    team = {e.name: i for i, e in enumerate(entities)}
    rates = [[p.throughputs.get(t, (0.0, 0.0)) for t in types] for p in question.pairs]
    return AllocationProblem(
        types=types,
        gpus=_floats(question.workers[t] for t in types),
        names=tuple(number),
        workers=_floats(j.workers for j in jobs),
        weights=_floats(j.weight for j in jobs),
        rates=np.array([[j.throughputs.get(t, 0.0) for t in types] for j in jobs], np.float64),
        remaining=_floats(np.nan if j.remaining_steps is None else j.remaining_steps for j in jobs),
        elapsed_s=_floats(j.elapsed for j in jobs),
        isolated_s=_floats(j.isolated_elapsed for j in jobs),
        slo_s=_floats(np.nan if j.slo is None else j.slo - j.elapsed for j in jobs),
        prices=_floats(question.prices.get(t, 0.0) for t in types),
        entities=tuple(entities),
        entity=np.array([team.get(j.entity, -1) for j in jobs], np.int64),
        pairs=np.array([[number[n] for n in p.jobs] for p in question.pairs], np.int64).reshape(-1, 2),
        pair_rates=np.array(rates, np.float64).reshape(len(rates), len(types), 2),
    )


def _floats(values: Iterable[float]) -> Floats:
    return np.fromiter(values, np.float64)


def answer(question: QuestionSpec, name: str, options: Options | None = None) -> AllocateReport:
    """Ask the policy called ``name``, and report shares, throughputs, objective and its bound.

    Raises ``SimulationError`` for an unknown policy or option, and for what the policy needs and the question
    lacks.
    """
    policy, chosen = get_policy(name), dict(options or {})
    if chosen.get("space_sharing") and not policy.space_sharing:
        raise SimulationError(
            f"Policy {name!r} cannot put two jobs on the same GPUs; leave out --space-sharing."
        )
    problem = _problem_of(question)
    _check(policy, problem)
    allocate = policy.prepare(chosen)
    started = perf_counter()
    allocation = allocate(problem)
    return report_of(policy, problem, allocation, perf_counter() - started)


def report_of(
    policy: AllocationPolicy, problem: AllocationProblem, allocation: Allocation, seconds: float
) -> AllocateReport:
    """Build the report of ``nona training allocate``; rows of two jobs without any share are left out."""
    rows = [
        AllocatedRow(
            jobs=tuple(problem.names[i] for i in row),
            shares=dict(zip(problem.types, shares.tolist(), strict=True)),
        )
        for row, shares in zip(allocation.rows, allocation.shares, strict=True)
        if len(row) == 1 or shares.any()
    ]
    rates = throughputs(problem, allocation)
    return AllocateReport.from_fields(
        allocation,
        policy=policy.name,
        allocation=tuple(rows),
        throughputs=dict(zip(problem.names, rates.tolist(), strict=True)),
        warnings=(*_too_large(problem), *allocation.warnings),
        seconds=seconds,
    )


def throughputs(problem: AllocationProblem, allocation: Allocation) -> Floats:
    """(m,) steps/s of each job, over the rows that hold it; a pair's rates are looked up either way round."""
    beside: dict[tuple[int, int], Floats] = {}
    for (a, b), rates in zip(problem.pairs.tolist(), problem.pair_rates, strict=True):
        beside[a, b], beside[b, a] = rates[:, 0], rates[:, 1]
    total = np.zeros(problem.jobs)
    for row, shares in zip(allocation.rows, allocation.shares, strict=True):
        if len(row) == 1:
            total[row[0]] += problem.rates[row[0]] @ shares
        else:
            a, b = row
            total[a] += beside[a, b] @ shares
            total[b] += beside[b, a] @ shares
    return total


def _check(policy: AllocationPolicy, problem: AllocationProblem) -> None:
    asked = ~np.isnan(problem.slo_s) if policy.needs_steps == "all jobs with an SLO" else True
    missing = np.flatnonzero(asked & np.isnan(problem.remaining))
    if policy.needs_steps and len(missing):
        raise SimulationError(
            f"Policy {policy.name!r} looks at the time left, but job {problem.names[missing[0]]!r} has no "
            f"remaining_steps; add it to {policy.needs_steps}."
        )
    free = [t for t, price in zip(problem.types, problem.prices, strict=True) if price <= 0]
    if policy.needs_prices and free:
        raise SimulationError(
            f"Policy {policy.name!r} divides by prices, but type {free[0]!r} has none above 0; "
            f"add it to prices."
        )


def _too_large(problem: AllocationProblem) -> list[str]:
    most = problem.gpus.max()
    return [
        f"Job {name!r} asks for {workers:g} GPUs at a time, but no type has more than {most:g}: "
        f"its shares cannot be used."
        for name, workers in zip(problem.names, problem.workers, strict=True)
        if workers > most
    ]
