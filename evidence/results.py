"""Results of the studies on placing, predicting, splitting and seeing the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from nona.core.document import Document, Estimate, Figure
from nona.queries.sweeps.results import SweepReport


class Origin(Document):
    """Where a study comes from: its command, and when and with which seed it was run."""

    study: str
    command: str
    version: str
    date: str
    seed: int

    @property
    def origin(self) -> str:
        """All but the name, in words."""
        return f"{self.command}: version {self.version}, {self.date}, seed {self.seed}"


class Reach(Document):
    """The point where the formula has a ratio to nona, for a fixed placement.

    ``edge``: share of the link taken by others at which it is full; ``at``: at which the ratio is reached;
    ``room``: the distance between them. ``relaxation_s`` is the relaxation time of the link's queue there,
    and ``jobs`` the number that arrive meanwhile.
    """

    scheduler: str
    edge: float
    at: float
    room: float
    ratio: float
    jct_s: float
    nona_jct_s: float
    link_wait_s: float
    relaxation_s: float
    jobs: float


class OverloadRun(Document):
    """A run in overload: mean JCT (s), jobs not complete at its end, ratio to nona on the same jobs."""

    jobs: int
    length_s: float
    jct_s: float
    unfinished: int
    ratio: float
    offered_link: Figure


class Growth(Document):
    """A scheduler's runs in overload, each longer than the one before."""

    scheduler: str
    kind: str
    runs: tuple[OverloadRun, ...]


class Overload(Document):
    """Runs at ``value`` of the number ``key`` of the scenario, beyond the edges."""

    key: str
    value: float
    schedulers: tuple[Growth, ...]


class PaperStudy(Document):
    """The study's result: provenance, the sweeps by name, the reach of ``claim``, the runs in overload."""

    study: str
    scenario: str
    command: str
    version: str
    date: str
    seed: int
    jobs: int
    replications: int
    claim: float
    sweeps: Mapping[str, SweepReport]
    reach: tuple[Reach, ...]
    overload: Overload
    seconds: float


State = Literal["stable", "backlogged", "overloaded"]


QuestionKey = Literal["blind", "live"]
"""``blind``: nona against the others that see no queue; ``live``: nona-live against all others."""


class DecisionAbout(Origin):
    """The study's size, its machines and its schedulers.

    ``events`` of a run, or ``jobs`` where their number was given; ``replications``: runs of a round,
    ``most``: of all rounds; ``seconds`` of wall-clock time with ``workers`` processes.
    """

    cluster: str
    cells: str
    events: int | None
    jobs: int | None
    replications: int
    most: int
    schedulers: tuple[str, ...]
    workers: int
    seconds: float


class NetworkFacts(Document):
    """A workload: its tasks, the tasks of its largest interior, seconds and bytes of a query."""

    family: str
    description: str
    models: tuple[str, ...]
    tasks: int
    interior: int
    work_s: float
    bytes: float


class PlacementFigures(Document):
    """A placement: simulated mean, the formula's prediction of it (s), predicted utilisation.

    ``formula_s`` and ``gap`` are those of the formula's optimum, ``origin`` says where the placement comes
    from, ``candidates`` how many were compared, ``seconds`` the CPU time of placing.
    """

    objective_s: Figure
    predicted_s: Figure
    formula_s: Figure
    gap: Figure
    origin: str
    candidates: int
    link: Figure
    executors: Figure
    seconds: float


class Entrant(Document):
    """A scheduler's mean JCT (s) with its 95 % half-width (s) and its number of runs.

    Without a steady state there is only the ``reason``, also in JSON.

    >>> Entrant(reason="jobs left behind").to_json()
    {'reason': 'jobs left behind'}
    """

    mean_s: Figure = None
    half_width_s: Figure = None
    runs: int = 0
    reason: str = ""

    @model_serializer(mode="wrap")
    def _one_of_both(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        written: dict[str, object] = write(self)
        reason = written.pop("reason")
        return {"reason": reason} if reason else written


class RatioToBest(Document):
    """Mean JCT over that of the ``best`` rival on the same jobs, with its interval over ``pairs`` runs."""

    best: str
    ratio: float
    low: Figure
    high: Figure
    pairs: int

    @property
    def estimate(self) -> Estimate:
        """The ratio with its interval."""
        ends = None if self.low is None or self.high is None else (self.low, self.high)
        return Estimate(mean=self.ratio, ci95=ends)


class CellConditions(Document):
    """Speed of the link (Gbit/s), share of it that others use, share of the executors' time in use.

    ``link`` and ``background`` are ``None`` where nothing is sent.
    """

    network: str
    link: Figure
    background: Figure
    load: float


class UnplacedCell(CellConditions):
    """A cell without a placement, and why; ``seconds`` of CPU time."""

    error: str
    seconds: float


class SimulatedCell(CellConditions):
    """A cell: ``jobs`` of a run, the placement, every scheduler, the two ratios; ``seconds`` of CPU time.

    A ratio is ``None`` where one of the two sides has no steady state, or ``live`` where nona-live is not
    there.
    """

    jobs: int
    placement: PlacementFigures
    schedulers: Mapping[str, Entrant]
    blind: RatioToBest | None
    live: RatioToBest | None
    seconds: float

    def answer(self, key: QuestionKey) -> RatioToBest | None:
        """Return the ratio of one of the two questions."""
        return self.blind if key == "blind" else self.live

    def mean_s(self, scheduler: str) -> float | None:
        """Return a scheduler's mean JCT; ``None`` without a steady state or where it was not run."""
        entrant = self.schedulers.get(scheduler)
        return None if entrant is None else entrant.mean_s


class DecisionStudy(Document):
    """The study's result: provenance, facts on each network by name, and the cells."""

    about: DecisionAbout
    networks: Mapping[str, NetworkFacts]
    cells: tuple[SimulatedCell | UnplacedCell, ...]

    def simulated(self) -> list[SimulatedCell]:
        """Return the cells that have a placement."""
        return [cell for cell in self.cells if isinstance(cell, SimulatedCell)]

    def unplaced(self) -> list[UnplacedCell]:
        """Return the cells that have none."""
        return [cell for cell in self.cells if isinstance(cell, UnplacedCell)]


class TimeBeside(Document):
    """A statistic of one of the times of a measured run, in seconds, beside the simulated one."""

    measure: str
    statistic: str
    measured_s: float
    simulated_s: float

    @property
    def error(self) -> float:
        """Simulated over measured, less 1."""
        return self.simulated_s / self.measured_s - 1


class MeasuredBatches(Document):
    """A run of a GPU that batches, measured and simulated: ``times`` of queries, the mean size of steps.

    ``step_drift`` is the share by which steps took longer in the run than those timed before, if recorded.
    """

    gpu: str
    models: tuple[str, ...]
    rates: tuple[float, ...]
    max_batch: int
    delay_s: float
    load: float
    jobs: int
    times: tuple[TimeBeside, ...]
    measured_batch: float
    simulated_batch: float
    step_drift: float | None


Verdict = Literal["agrees", "unclear", "differs", "no steady state"]
"""Relation of a simulated mean to theory; ``unclear``: it agrees, but its interval is very wide."""


class TheoryRow(Document):
    """The theory of one system and its ``jobs`` (empty: all of them); ``by`` names the theory.

    ``theory_ms`` is their mean completion time; where theory gives bounds, the lower one, and ``to_ms``
    the upper one.
    """

    system: str
    jobs: str
    load: float
    theory_ms: float
    to_ms: float | None
    by: str


class ComparedRow(TheoryRow):
    """The same with what was simulated.

    ``half_width_ms`` is half of the mean's interval. ``error_percent`` is simulated over theory, less 1,
    and ``half_width_percent`` half of the interval over theory. ``told_apart_from`` names the neighbouring
    theories that the interval rules out.
    """

    simulated_ms: float
    half_width_ms: float
    error_percent: float
    half_width_percent: float
    told_apart_from: tuple[str, ...]
    verdict: Verdict


class TheorySummary(Document):
    """The numbers of rows and of rows that agree; errors and the median half interval as fractions.

    ``worst`` is the largest error as a multiple of its own half interval. NaN without rows.
    """

    rows: int
    agree: int
    mean_error: float
    largest_error: float
    worst: float
    half_width: float


class TheoryProgress(Document):
    """The rows of a run that is not done yet."""

    rows: tuple[ComparedRow, ...]


class TheoryResult(Document):
    """All known systems, simulated with the ``effort`` of that name.

    ``level`` is that of the intervals; ``replications`` are those of each system.
    """

    rows: tuple[ComparedRow, ...]
    effort: str
    engine: str
    level: float
    replications: int
    seconds: float
