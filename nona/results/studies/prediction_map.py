"""The map of prediction against simulation: its points, and where the numbers come from."""

from __future__ import annotations

from typing import Literal

from nona.results.document import Document, Figure

Measure = Literal["mean_s", "p95_s", "formula_s"]
"""What is predicted: the mean, the 95th percentile, or the mean by the optimiser's formula."""


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


class Comparison(Document):
    """A predicted value, the simulated one, and the half-width of its 95 % interval."""

    predicted: Figure
    simulated: Figure
    ci95: Figure


class MapPoint(Document):
    """One placement of a scenario at one load.

    ``servers`` and ``link``: utilisation of the most loaded ones, as predicted; ``split``: mean probability
    of leaving the root's server; ``processes`` of the arrivals; ``jobs`` of a run; ``formula_s``: mean by the
    optimiser's formula; ``sampling_s``: standard error of the predicted mean; ``miss``: share of SLO misses.
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
    sampling_s: Figure
    mean_s: Comparison
    p95_s: Comparison
    miss: Comparison | None


class PredictionMap(Document):
    """The map: provenance and points."""

    about: MapAbout
    points: tuple[MapPoint, ...]
