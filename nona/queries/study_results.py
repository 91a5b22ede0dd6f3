"""The map of predictions by formula beside simulations."""

from __future__ import annotations

from nona.core.document import Document, Figure


class MapAbout(Document):
    """The command that made the map: ``replications`` runs of about ``tasks`` tasks at each point.

    ``seed`` is ``None`` where the scenarios' own were used.
    """

    command: str
    version: str
    made: str
    tasks: int
    replications: int
    seed: int | None
    seconds: float


class MapPoint(Document):
    """One placement of a scenario at one load.

    ``servers`` and ``link``: utilisation of the most loaded ones, as predicted; ``split``: mean probability
    of leaving the root's server; ``processes`` of the arrivals; ``jobs`` of a run; ``formula_s``: mean JCT by
    formula; ``simulated_s``: the simulated one, with the half-width ``ci95_s`` of its interval.
    """

    scenario: str
    placement: str
    load: str
    servers: float
    link: float
    split: float
    processes: tuple[str, ...]
    jobs: int
    state: str
    formula_s: Figure
    simulated_s: Figure
    ci95_s: Figure


class PredictionMap(Document):
    """The map: provenance and points."""

    about: MapAbout
    points: tuple[MapPoint, ...]
