"""Requests that follow queries: when each is sent, from a simulation of the tasks before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nona.cluster.topology import Topology
from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.experiments import do_nothing
from nona.language.system import LanguageSystem
from nona.queries.placement.result import Placement
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.simulation.sizes import auto_warmup
from nona.queries.simulation.steady_state import PILOT_FIRST
from nona.queries.system import BackgroundStream
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.placements import place
from nona.queries.workflows.placing import OnPlacing
from nona.queries.workflows.preparation import PreparedSystem, prepare
from nona.queries.workflows.rehearsal import Chosen
from nona.queries.workflows.simulation import beyond_capacity, chosen_schedulers
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario

MOST_QUERIES = 3_000_000
SAMPLED = 2000  # queries of which the messages are looked at
SPARE = 1.1  # over the expected number, as arrivals are random
OnShare = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class CoupledQueries:
    """The queries of a scenario under its first scheduler, run to learn when they send requests."""

    prepared: PreparedSystem
    placement: Placement | None

    @classmethod
    def prepare(
        cls,
        scenario: Scenario,
        sources: Sources,
        cache: PreparationCache | None = None,
        check: Callable[[], None] = do_nothing,
        on_progress: OnPlacing = do_nothing,
    ) -> CoupledQueries:
        """Prepare the queries, and solve their placement where the scheduler samples from one.

        ``cache``, ``check`` and ``on_progress`` are those of :func:`nona.queries.workflows.placements.place`.

        Raises ``SimulationError`` where their tasks are more than the executors can serve.
        """
        first = scenario.model_copy(update={"schedulers": scenario.schedulers[:1]})
        prepared, placement = prepare(first, sources, cache), None
        if get_scheduler(first.schedulers[0].name).needs_placement:
            placement = place(prepared, cache=cache, check=check, on_progress=on_progress)
        following = cls(prepared, placement)
        if beyond_capacity(prepared.system, following.scheduler, following.placement):
            raise following._overloaded()
        return following

    @property
    def scheduler(self) -> str:
        """Name of the scheduler that runs them."""
        return self.prepared.scenario.schedulers[0].name

    @cached_property
    def chosen(self) -> Chosen:
        """It with its tables."""
        return chosen_schedulers(self.prepared, self.placement, [self.scheduler])[0]

    def requests(
        self, system: LanguageSystem, count: int, replication: int, on_share: OnShare
    ) -> Mapping[int, tuple[Floats, Floats]]:
        """Class of queries → when each of its requests is sent, and how long before the query came.

        They cover the time in which ``count`` requests come to the engines.

        Raises ``SimulationError`` where the queries have no steady state, or too many come in that time.
        """
        queries = self.prepared.system.queries
        span_s = count / sum(row.rate for row in system.rows if not row.concurrency)
        jobs = math.ceil(SPARE * span_s * sum(query.rate for query in queries)) + 100
        if jobs > MOST_QUERIES:
            raise SimulationError(
                f"simulation.jobs: with {count:,} requests come {jobs:,} queries, over {MOST_QUERIES:,}; "
                "lower simulation.jobs, or leave out rows of tasks that no request follows."
            )
        scheduler, tables = self.chosen
        options = RunOptions(jobs, auto_warmup(jobs), replication, record_jobs=jobs)
        run = simulate_run(
            self.prepared.system, scheduler, tables, options, lambda progress: on_share(progress.fraction)
        )
        if run.state == "overloaded":
            raise self._overloaded()
        begin_s, end_s = run.window_s
        sent = {}
        for number in {row.after for row in system.rows if row.after is not None}:
            own = (run.query == number) & (run.completion_s <= end_s)  # later ones come with others' between
            order = np.argsort(run.completion_s[own], kind="stable")
            completion_s = run.completion_s[own][order]
            sent[number] = (completion_s - begin_s, completion_s - run.arrival_s[own][order])
        return sent

    def messages(self, links: Topology) -> tuple[BackgroundStream, ...]:
        """Return the messages of the queries on each link, as the first of a run of their own show them."""
        scheduler, tables = self.chosen
        options = RunOptions(SAMPLED, replication=PILOT_FIRST, timeline_jobs=SAMPLED)
        run = simulate_run(self.prepared.system, scheduler, tables, options)
        queries = self.prepared.system.queries
        sizes: list[list[float]] = [[] for _ in links.link_names]
        for m in run.timeline.messages if run.timeline else ():
            for link in links.path(m.source, m.destination):
                sizes[link].append(float(queries[m.query].tasks.tensor_bytes[m.tensor]))
        return tuple(_stream(of, sum(query.rate for query in queries)) for of in sizes)

    def _overloaded(self) -> SimulationError:
        return SimulationError(
            f"workload: under {self.scheduler} the tasks overload their executors, so requests that follow "
            "have no steady state; add servers for the tasks, or lower the rates."
        )


def _stream(sizes: list[float], rate: float) -> BackgroundStream:
    """Return the messages of these sizes, which ``SAMPLED`` queries at a rate sent."""
    if not sum(sizes):
        return BackgroundStream()
    mean = float(np.mean(sizes))
    return BackgroundStream(rate * len(sizes) / SAMPLED, mean, float(np.var(sizes)) / mean**2)
