"""Where a result comes from: the scenario that it was made with, and the models' times."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document


class About(Document):
    """The provenance of an outcome, enough to make it again.

    ``yaml`` is the scenario, with model files inside up to a size limit; ``files`` are those that it only
    names, so that they must lie beside it. ``made`` is the date as text.
    """

    name: str
    description: str
    seed: int
    hash: str
    version: str
    made: str
    jobs: int
    replications: int
    yaml: str
    files: tuple[str, ...]

    @property
    def stamp(self) -> str:
        """Which scenario it is of, and when it was made, in one line."""
        return f"Fingerprint {self.hash} · {self.made}"


class GivenTimes(Document):
    """The hardware for which a model's file states times.

    ``on`` are the devices or slices; ``unscaled`` is the share of the model's time that is the same on all
    hardware because the file names no device for it; ``everywhere``: the file states that its times are
    the same on any device.
    """

    on: tuple[str, ...] = ()
    unscaled: float = 0.0
    everywhere: bool = False


class ModelFacts(Document):
    """Times of one row's model, their origin and uncertainty.

    ``provenance`` is the fraction of the total time by origin; ``sigma`` the standard deviation of the
    logarithm of true over stated time, by origin; ``given`` is about times that the file states.
    """

    parallelism: float
    total_compute_s: float
    critical_path_s: float
    device: str
    provenance: Mapping[str, float]
    sigma: Mapping[str, float]
    given: GivenTimes = GivenTimes()
