"""Inference jobs in a training cluster: replicas on different servers that keep a rate and an SLO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nona.errors import NonaError
from nona.study.training.jobs import GivenJob
from nona.study.training.rates import RateBook
from nona.training.model.job import Job
from nona.training.workload.replicas import MOST_LOAD, SLO_SHARE, choose_replicas, replica_capacity
from nona.units import format_time


@dataclass(frozen=True, slots=True)
class Served:
    """The jobs that an inference job becomes, one per type of GPU, and what to say about them."""

    jobs: tuple[Job, ...]
    note: str


def enter_inference(given: GivenJob, book: RateBook) -> Served | None:
    """The job's replicas on the cheapest GPUs that serve its rate; ``None`` with a problem where none do.

    A job becomes one job per type of GPU in use, each with its replicas and its part of the queries. Servers
    have GPUs of one type, so that replicas of two types never share one. μ of a replica is what the job gives
    in ``throughputs``, or what the cost layer says of its model.
    """
    job, servers = given.job, {g: len(nodes) for g, nodes in book.cluster.nodes.items()}
    try:
        speed = _queries_per_s(given, book)
    except NonaError as error:
        book.problems.append(f"{given.place}: {error}")
        return None
    capacity = {gpu: replica_capacity(mu, job.latency_slo_s) for gpu, mu in speed.items()}
    chosen = choose_replicas(job.rate, job.workers, capacity, servers, book.cluster.prices)
    if chosen is None:
        book.problems.append(f"{given.place}: {_refusal(job, speed, capacity, servers)}")
        return None
    total = sum(capacity[gpu] * count for gpu, count in chosen.items())
    jobs = []
    for gpu, count in chosen.items():
        name = job.name if len(chosen) == 1 else f"{job.name} on {gpu}"
        part = job.rate * capacity[gpu] * count / total
        held = replace(job, name=name, workers=count, rate=part)
        jobs.append(book.hold(held, gpu))
    return Served(tuple(jobs), _note(job, chosen, speed))


def _queries_per_s(given: GivenJob, book: RateBook) -> dict[str, float]:
    """μ, queries per second of a replica, by GPU."""
    types = book.cluster.types
    if given.rates:
        return {gpu: given.rates.get(gpu, 0.0) for gpu in types}
    return {gpu: book.modelled.queries_per_s(gpu, given.job.model) for gpu in types}


def _refusal(
    job: Job, speed: Mapping[str, float], capacity: Mapping[str, float], servers: Mapping[str, int]
) -> str:
    if job.rate <= 0:
        return "rate must be above 0; give the queries per second."
    if job.workers > sum(servers[gpu] for gpu, mu in speed.items() if mu > 0):
        return (
            f"workers={job.workers} replicas need as many servers that can serve it; add servers or lower it."
        )
    fastest = max(speed, key=lambda gpu: speed[gpu])
    if max(capacity.values()) <= 0:
        return (
            f"latency_slo={job.latency_slo_s:g} s cannot be kept: a query takes "
            f"{1 / max(speed[fastest], 1e-12):.3g} s on {fastest} without any wait; raise it."
        )
    return (
        f"{job.workers} replicas cannot serve {job.rate:g} queries/s: one on {fastest} may get "
        f"{capacity[fastest]:.3g} queries/s; raise workers, lower rate, or add faster GPUs."
    )


def _note(job: Job, chosen: Mapping[str, int], speed: Mapping[str, float]) -> str:
    held = ", ".join(f"{count} × {gpu} ({speed[gpu]:.3g} queries/s each)" for gpu, count in chosen.items())
    left = sum(speed[gpu] * count for gpu, count in chosen.items()) - max(speed[gpu] for gpu in chosen)
    without = "still" if left >= job.rate else "not"
    limit = "" if job.latency_slo_s is None else format_time(job.latency_slo_s)
    slo = limit and f", {100 * SLO_SHARE:.0f} % of queries within {limit}"
    return (
        f"{job.name}: {job.rate:g} queries/s on {held}, at most {100 * MOST_LOAD:.0f} % busy{slo}; "
        f"without one server it could {without} serve them all."
    )
