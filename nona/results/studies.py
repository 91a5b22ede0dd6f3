"""The map of predictions beside simulations; arrangements of a model on two GPUs."""

from __future__ import annotations

from typing import Literal

from nona.results.document import Document, Estimate, Figure

Measure = Literal["mean_s", "p95_s", "formula_s"]
"""The predicted measure: the mean, the 95th percentile, or the mean by the optimiser's formula."""


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
    optimiser's formula; ``sampling_s``: standard error of the predicted mean; ``miss``: share of SLO misses;
    ``batches``: executors batch.
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
    batches: bool = False

    def compared(self, measure: Measure) -> Comparison:
        """The simulated value that a prediction of that measure is compared with."""
        return self.p95_s if measure == "p95_s" else self.mean_s


class PredictionMap(Document):
    """The map: provenance and points."""

    about: MapAbout
    points: tuple[MapPoint, ...]


class Arranged(Document):
    """Mean completion times (s) with steps of up to ``batch``; unknown where there is no steady state.

    ``cv``: of the gaps between arrivals; ``rates``: queries per second of either model. ``replicated``: both
    models on both GPUs, shorter queue.
    """

    batch: int
    cv: float
    rates: tuple[float, float]
    dedicated: Estimate
    pipeline: Estimate
    replicated: Estimate


ArrangementName = Literal["dedicated", "pipeline", "replicated"]


class ArrangedPoint(Arranged):
    """``quicker``: which arrangement is clearly quicker than which, over the same runs."""

    quicker: tuple[tuple[ArrangementName, ArrangementName], ...]


class RowArranged(Document):
    """Two copies of a row's model on two GPUs of class ``kind``, over their rate.

    The pipeline's first half takes ``share`` of a step, and a query sends ``sent_bytes`` to the second.
    ``fits``: one GPU holds both copies, as replicas need.
    """

    label: str
    kind: str
    batch: int
    cv: float
    share: float
    sent_bytes: float
    fits: bool
    jobs: int
    replications: int
    points: tuple[ArrangedPoint, ...]
