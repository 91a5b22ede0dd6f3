"""The study of decisions: its networks, its cells, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from nona.results.document import Document, Figure

QuestionKey = Literal["blind", "live"]
"""``blind``: nona against the others that see no queue; ``live``: nona-live against all others."""


class DecisionAbout(Document):
    """The command that made the study, its size, its machines and its schedulers.

    ``events`` of a run, or ``jobs`` where their number was given; ``replications``: runs of a round,
    ``most``: of all rounds; ``seconds`` of wall-clock time with ``workers`` processes.
    """

    study: str
    command: str
    version: str
    date: str
    seed: int
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
    """A placement: objective and bounds (s), gap, predicted utilisation of link and executors.

    ``formula_s`` is the objective of the formula's optimum, ``origin`` where the placement comes from,
    ``seconds`` the CPU time of placing.
    """

    objective_s: Figure
    objective_error_s: Figure
    formula_s: Figure
    formula_gap: Figure
    origin: str
    lower_bound_s: Figure
    global_bound_s: Figure
    gap: Figure
    link: Figure
    executors: Figure
    solver: str
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


class PossibleGain(Document):
    """1 − lower bound / mean of the best rival; ``low``: with the lower end of that mean's interval."""

    value: float
    low: Figure


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
    there; ``potential`` is the share of the best blind rival's time that any placement can save at most.
    """

    jobs: int
    placement: PlacementFigures
    schedulers: Mapping[str, Entrant]
    blind: RatioToBest | None
    live: RatioToBest | None
    potential: PossibleGain | None
    seconds: float

    def answer(self, key: QuestionKey) -> RatioToBest | None:
        """The ratio of one of the two questions."""
        return self.blind if key == "blind" else self.live

    def mean_s(self, scheduler: str) -> float | None:
        """A scheduler's mean JCT; ``None`` without a steady state or where it was not run."""
        held = self.schedulers.get(scheduler)
        return None if held is None else held.mean_s


class DecisionStudy(Document):
    """The study's result: provenance, facts on each network by name, and the cells."""

    about: DecisionAbout
    networks: Mapping[str, NetworkFacts]
    cells: tuple[SimulatedCell | UnplacedCell, ...]

    def simulated(self) -> list[SimulatedCell]:
        """The cells that have a placement."""
        return [cell for cell in self.cells if isinstance(cell, SimulatedCell)]

    def unplaced(self) -> list[UnplacedCell]:
        """The cells that have none."""
        return [cell for cell in self.cells if isinstance(cell, UnplacedCell)]
