"""Results of a placement: prediction, simulated times, configurations, search, working."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from nona.core.document import (
    UNKNOWN,
    Document,
    ErrorRange,
    Estimate,
    Figure,
    Interval,
    ModelFacts,
    Optional,
    RunResult,
)


class PlacedConfiguration(Document):
    """A partition of a sub-graph's interior over servers, by names of tasks.

    ``root_part`` is the index of the part on the root's server, −1: none; ``sink_part`` that of the part
    on the sink's server, −1: the sink stays on the root's server, as it does when both are equal.
    """

    parts: tuple[tuple[str, ...], ...]
    root_part: int
    sink_part: int
    probability: float

    @property
    def is_local(self) -> bool:
        """True where everything stays on the root's server."""
        return len(self.parts) <= (self.root_part == 0) and self.sink_part in (-1, self.root_part)


class SubgraphEnds(Document):
    """Root and sink of a sub-graph; ``None`` at the ends of the model."""

    root: str | None
    sink: str | None

    @property
    def title(self) -> str:
        """From where to where."""
        return f"{self.root or '(start)'} → {self.sink or '(end)'}"


class PlacedSubgraph(SubgraphEnds):
    """The configurations of one sub-graph."""

    configurations: tuple[PlacedConfiguration, ...]

    @property
    def has_interior(self) -> bool:
        """True where there is something to place between root and sink."""
        return any(part for c in self.configurations for part in c.parts)

    @property
    def split(self) -> float:
        """Probability that it does not stay on one server."""
        return float(sum(c.probability for c in self.configurations if not c.is_local))


class PredictedTimes(Document):
    """Mean JCT of one row of the workload by formula, seconds, and the parts of its longest path.

    The four parts follow the path that is longest in expectation and add up to ``jct_s``.
    """

    jct_s: Figure
    compute_s: Figure
    transfer_s: Figure
    network_wait_s: Figure
    server_wait_s: Figure


class PlacedModel(PredictedTimes):
    """The same with the configurations of its sub-graphs."""

    subgraphs: tuple[PlacedSubgraph, ...]


class ClassMemory(Document):
    """The weights on one executor of a class, by model; ``memory_bytes`` is ``None`` if unknown."""

    executor_class: str = Field(validation_alias="class", serialization_alias="class")
    executors: int
    memory_bytes: Figure
    weights_bytes: Mapping[str, float]
    resident_bytes: float
    free_bytes: Figure


class ModelMemory(Document):
    """The weights of one model, and how many executors hold them; a whole 0 where it states none."""

    weight_bytes: int | float
    replicas: int
    replicas_bytes: int | float


class MemoryReport(Document):
    """Weights by executor class and by model, and the total over the cluster."""

    classes: tuple[ClassMemory, ...]
    models: Mapping[str, ModelMemory]
    replicas_bytes: float


class PredictedClass(Document):
    """One executor class: how many executors, how busy each is, how long a visit waits there."""

    executor_class: str = Field(validation_alias="class", serialization_alias="class")
    executors: int
    utilization: float
    wait_s: Figure


class PredictedLink(Document):
    """The links of one role that are alike: a message crosses one of them with probability ``share``.

    ``capacity`` in bytes/s, ``utilization`` with background, ``wait_s`` the mean wait of a message there.
    The mean wait on its whole way is Σ share·wait_s.
    """

    name: str
    kind: str
    links: int
    share: float
    capacity: float
    utilization: float
    wait_s: Figure


class PredictedMix(Document):
    """The prediction for the whole mix, by formula; waits are of one message and of one visit.

    ``compute_utilization`` is the mean over all executors; ``classes`` has it for each class.
    ``congestion_price_s_per_byte`` is the increase of the mean JCT, times the total query rate,
    per byte/s of extra traffic: the marginal cost that one more byte causes to everyone.
    """

    jct_s: Figure
    network_wait_s: Figure
    server_wait_s: Figure
    network_utilization: float
    compute_utilization: float
    congestion_price_s_per_byte: Figure
    classes: tuple[PredictedClass, ...] = ()
    links: tuple[PredictedLink, ...] = ()

    @property
    def is_steady(self) -> bool:
        """Whether no link is overloaded; executors are checked before there is a prediction."""
        return self.network_utilization < 1.0

    @property
    def mean_s(self) -> float:
        """The mean JCT in seconds, ``inf`` where it is not known."""
        return math.inf if self.jct_s is None else self.jct_s


class Prediction(PredictedMix):
    """The same with the times of each row of the workload."""

    queries: tuple[PredictedTimes, ...] = ()


class SimulatedTimes(Document):
    """Simulated completion times in seconds.

    ``ci95``: of the mean; ``misses``: share of the jobs beyond their SLO, ``None`` without any, and its
    interval, which placements that were saved before do not have.
    """

    mean: Figure
    ci95: Interval
    p50: Figure
    p95: Figure
    p99: Figure
    misses: Figure
    misses_ci95: Interval = None


class SimulatedModel(SimulatedTimes):
    """The same of one row of the workload, with its SLO."""

    slo_s: Figure


class SimulatedPlacement(SimulatedTimes):
    """The same of the whole mix, and of each row of the workload.

    All by random numbers that no choice has seen. ``jobs``: jobs behind the figures; ``candidates``:
    placements that were compared, 1 where none was. ``lead``: how much better this one was than the nearest
    of those it raced with, as a share of its mean (of the jobs, where SLOs were the objective), with its
    standard error; ``None`` without another. ``steady``: all jobs were completed. ``run_means`` and
    ``run_hits``: of each run the mean and the share of SLOs kept; run i of two placements has the same jobs.
    """

    jobs: int
    candidates: int = 1
    lead: Figure = None
    lead_error: Figure = None
    steady: bool
    models: Mapping[str, SimulatedModel]
    run_means: tuple[Figure, ...] = ()
    run_hits: tuple[Figure, ...] = ()


class SearchStep(Document):
    """The best placement after ``elapsed_s`` seconds: simulated mean JCT in seconds, candidates so far.

    ``late``: the share of jobs beyond their SLO, where SLOs were the objective.
    """

    elapsed_s: float
    mean_s: Figure
    ci95: Interval
    origin: str
    candidates: int
    late: Estimate | None = Optional


class SearchProgress(Document):
    """The steps so far of a search that runs; ``candidates``: placements compared so far."""

    steps: tuple[SearchStep, ...] = ()
    candidates: int = 0


class CertifiedOptimum(Document):
    """The formula's optimum: its mean JCT by formula, the certified bound below it, and the gap."""

    objective_s: float
    lower_bound_s: float
    gap: float

    @classmethod
    def from_bounds(cls, objective_s: float, lower_bound_s: float) -> CertifiedOptimum:
        """Return the optimum with its gap, (objective − lower bound) / objective.

        >>> CertifiedOptimum.from_bounds(2.0, 1.5).gap
        0.25
        """
        gap = (objective_s - lower_bound_s) / objective_s if objective_s > 0 else 0.0
        return cls(objective_s=objective_s, lower_bound_s=lower_bound_s, gap=gap)


class SharedGpus(Document):
    """GPUs of a ``kind`` that have the same instances: stage → number on each of the ``gpus``."""

    gpus: int
    kind: str
    instances: Mapping[str, int]


class ComparedLayout(Document):
    """Stages on GPUs in one way, simulated; times in seconds.

    ``gpus`` is empty without pools. ``reason`` says why there is no steady state. ``per_s``: queries per
    second of users in a closed loop. ``changes``: ``servers`` of the cluster and ``stages`` of each row, as
    a scenario has them.
    """

    title: str
    gpus: tuple[SharedGpus, ...]
    scheduler: str
    reason: str = ""
    jct_s: Estimate = UNKNOWN
    p95_s: Figure = None
    slo_hit_rate: Estimate = UNKNOWN
    per_s: Estimate = UNKNOWN
    changes: Mapping[str, Any]


class LayoutComparison(Document):
    """Layouts of the stages of a row, the best first.

    ``objective``: what ranks them, ``mean-jct`` or ``slo``. ``candidates``: layouts that were simulated, of
    which only the best are listed. ``level``: titles whose paired difference from the best one is not clear.
    """

    row: str
    objective: str
    candidates: int
    layouts: tuple[ComparedLayout, ...]
    level: tuple[str, ...] = ()


class PlacementReport(Document):
    """A placement; times in seconds: what ``nona place --json`` prints.

    ``objective_s``: the simulated mean of the mix. ``formula``: the formula's optimum, ``None`` where it was
    not solved. ``predicted`` and ``models``: the formula's values of this placement, ``None`` where executors
    batch, whose waits the formula does not know. ``class_shares``: model → executor class → probability
    that a server drawn for it is of that class. ``origin`` says where the placement comes from.
    ``warning``: a line where the formula was not tested under such loads. ``layouts``: of the stages of a
    row, where some row has stages.
    """

    objective: Literal["mean-jct", "slo", "formula"]
    objective_s: Figure
    origin: str
    seconds: float
    simulated: SimulatedPlacement
    formula: CertifiedOptimum | None
    predicted: PredictedMix
    models: Mapping[str, PlacedModel]
    class_shares: Mapping[str, Mapping[str, float]]
    memory: MemoryReport
    notes: tuple[str, ...]
    warning: str | None = None
    layouts: LayoutComparison | None = Optional


Cells = Mapping[str, str | Figure]
"""Heading → cell of one row of a table."""


class WorkingLine(Document):
    """One formula: a title, the formula and the same with numbers (LaTeX), the value (SI) and its unit.

    ``table`` holds the terms of a sum, a row each.
    """

    key: str
    title: str
    formula: str
    filled: str
    value: Figure
    unit: str
    table: tuple[Cells, ...] = ()


class WorkingConfiguration(Document):
    """The terms of a configuration's longest path, seconds; waits are counts of messages and visits."""

    probability: float
    local: bool
    compute_s: float
    transfer_s: float
    link_waits: float
    visits: float
    span_s: Figure


class WorkingSubgraph(SubgraphEnds):
    """The configurations in use of one sub-graph, and their mean time."""

    interior: int
    span_s: Figure
    configurations: tuple[WorkingConfiguration, ...]


class WorkingModel(Document):
    """The lines and the sub-graphs of one row of the workload."""

    lines: tuple[WorkingLine, ...]
    subgraphs: tuple[WorkingSubgraph, ...]


class Working(Document):
    """All lines of a placement's prediction, and those of each row of the workload."""

    lines: tuple[WorkingLine, ...]
    models: Mapping[str, WorkingModel]


class PlacementOutcome(RunResult):
    """The placement, local and spread (``None`` where there is no steady state), and the models' times.

    ``if_times_off``: the range of the mean JCT if modelled times are off, ``None`` where none is modelled.
    ``ended_early_s``: seconds after which the search was cancelled; ``None``, and absent from the JSON, if it
        came to its end.
    """

    nona: PlacementReport
    local: PlacementReport | None
    spread: PlacementReport | None
    models: Mapping[str, ModelFacts]
    if_times_off: ErrorRange | None = None
    ended_early_s: Figure = None

    @model_serializer(mode="wrap")
    def _without_end(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        if self.ended_early_s is None:
            data.pop("ended_early_s", None)
        return data


class SolvedPlacement(PlacementOutcome):
    """The placement with its formulas in numbers, and the steps of the search.

    ``known``: the placement had been solved before, in ``nona.seconds``, and was taken from the cache.
    """

    working: Working
    steps: tuple[SearchStep, ...]
    known: bool = False
