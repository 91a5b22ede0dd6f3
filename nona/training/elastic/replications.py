"""Runs of several policies on several systems, in this process or in several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.core.experiments import Key, run_work
from nona.core.options import Options
from nona.training.elastic.engine import OnProgress, simulate_elastic
from nona.training.elastic.policy import ElasticPolicy
from nona.training.elastic.records import ElasticRecords, elastic_checks, measure_elastic
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.results import ElasticOutcome
from nona.training.elastic.system import ElasticCluster, ElasticSystem
from nona.training.elastic.workload import shipped_workload
from nona.training.metrics import PolicyReplication
from nona.training.replications import passed_on

ElasticRun = PolicyReplication[ElasticOutcome, ElasticRecords]


@dataclass(frozen=True, eq=False, slots=True)
class PolicyRun:
    """One policy, by its registered name, on one system."""

    system: ElasticSystem
    policy: str
    options: Options


@dataclass(frozen=True, eq=False, slots=True)
class ElasticWork:
    """Work that every process receives once; keys are (place of the piece, replication)."""

    pieces: tuple[PolicyRun, ...]
    reporting: bool
    keep: bool

    def run(self, key: Key, on_progress: OnProgress | None) -> ElasticRun:
        """Run one replication of a policy on a workload."""
        piece = self.pieces[key[0]]
        policy = ELASTIC.find(piece.policy)
        records = simulate_elastic(piece.system, policy, piece.options, key[1], on_progress)
        return PolicyReplication(
            outcome=measure_elastic(piece.system, records),
            checks=elastic_checks(piece.system, records),
            records=records if self.keep and not key[1] else None,
        )


def make_ready() -> None:
    """Compile what Pollux searches and fits, where need be."""
    system = ElasticSystem(ElasticCluster(4, 2), shipped_workload(1)[:1])
    simulate_elastic(system, ELASTIC["pollux"], {"population": 2, "generations": 2})


def replications_of(policy: ElasticPolicy, asked: int) -> int:
    """Return the number asked for if the policy draws random numbers, else 1: all would be equal."""
    return asked if policy.drawn else 1


def run_pieces(
    pieces: Sequence[PolicyRun],
    replications: int,
    *,
    workers: int = 1,
    keep: bool = True,
    on_progress: OnProgress | None = None,
) -> list[tuple[ElasticRun, ...]]:
    """Count the runs of each piece; policies that draw no random numbers have one.

    ``workers``: Processes; results do not depend on it.
    ``keep``: whether records of first replications are kept.
    ``on_progress``: gets the progress of each run; may raise to stop all.
    """
    counts = [replications_of(ELASTIC.find(piece.policy), replications) for piece in pieces]
    keys = [(i, r) for i, count in enumerate(counts) for r in range(count)]
    work = ElasticWork(tuple(pieces), on_progress is not None, keep)
    if workers > 1 and any(piece.policy == "pollux" for piece in pieces):
        make_ready()  # else each process would compile
    runs: Mapping[Key, ElasticRun] = run_work(work, keys, passed_on(on_progress), workers)
    return [tuple(runs[i, r] for r in range(count)) for i, count in enumerate(counts)]
