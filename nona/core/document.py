"""The base of all results, estimates with intervals, verdicts, and where a result is from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def number(value: float | None) -> float | None:
    """Return the value as a plain ``float``; ``None`` for infinity and NaN, which JSON cannot hold.

    >>> number(1), number(float("inf")), number(None)
    (1.0, None, None)
    """
    return float(value) if value is not None and math.isfinite(value) else None


def _finite(value: object) -> object:
    return number(value) if isinstance(value, int | float) else value


Figure = Annotated[float | None, BeforeValidator(_finite)]
"""A number that may be unknown or infinite: both are ``None``."""

Optional = Field(default=None, exclude_if=lambda value: value is None)
"""Of a field that most results lack: it is left out of the JSON then."""
OptionalNames = Field(default=(), exclude_if=lambda names: not names)
"""The same of names."""

RunValues = Mapping[str, tuple[Figure, ...]]
"""Name of a measure → its value in each replication; runs of one number had the same jobs."""
OptionalRuns: RunValues = Field(default_factory=dict, exclude_if=lambda runs: not runs)
"""The default of a field of them."""

Interval = tuple[float, float] | None
"""Lower and upper bound of a confidence interval; ``None`` where there is none."""


_MISSING = object()


class Document(BaseModel):
    """A result: its fields are its columns and its JSON; it cannot be changed.

    A field whose JSON name is no Python name has an alias. Unknown keys are refused.

    >>> class Wait(Document):
    ...     mean_s: Figure
    ...     interval_s: Interval
    >>> wait = Wait(mean_s=float("inf"), interval_s=(1.0, 2.0))
    >>> wait.to_json()
    {'mean_s': None, 'interval_s': [1.0, 2.0]}
    >>> Wait.from_json(wait.to_json()) == wait
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @classmethod
    def from_fields(cls, source: object, **more: Any) -> Self:
        """Return the result with the fields that ``source`` has by the same names, and with ``more``.

        >>> Estimate.from_fields(ErrorRange(low_s=1.0, high_s=2.0), mean=1.5, ci95=None).mean
        1.5
        """
        own = {name: getattr(source, name, _MISSING) for name in cls.model_fields if name not in more}
        return cls(**{name: value for name, value in own.items() if value is not _MISSING}, **more)

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data that ``json`` writes."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the result from what :meth:`to_json` gave."""
        return cls.model_validate(data)


def read_without(*keys: str) -> Callable[[object], object]:
    """Return a validator that leaves out ``keys`` which earlier versions wrote."""

    def kept(value: object) -> object:
        return {k: v for k, v in value.items() if k not in keys} if isinstance(value, dict) else value

    return kept


class Estimate(Document):
    """A mean over replications with its interval at 95 %; each is ``None`` where it is not known.

    >>> Estimate(mean=0.5, ci95=(0.25, 0.75)).half_width, UNKNOWN.half_width
    (0.25, None)
    """

    mean: Figure
    ci95: Interval

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; ``None`` where there is none."""
        return None if self.ci95 is None else (self.ci95[1] - self.ci95[0]) / 2

    def covers(self, value: float) -> bool:
        """Return whether ``value`` lies within the interval; ``False`` where there is none."""
        return self.ci95 is not None and bool(self.ci95[0] <= value <= self.ci95[1])


class ErrorRange(Document):
    """The range of a mean time (seconds) if modelled task times are wrong by the usual error.

    ``high_s`` is ``None`` where the cluster is overloaded then; see :mod:`nona.models.times_report`.
    """

    low_s: float
    high_s: Figure


UNKNOWN = Estimate(mean=None, ci95=None)

Verdict = Literal["keeps", "misses", "open"]


class About(Document):
    """The provenance of an outcome, enough to make it again.

    ``yaml`` is the scenario, with model files inside up to a size limit; ``files`` are those that it only
    names, so that they must lie beside it. ``made`` is the date as text; ``runs_as`` says with which
    software and precision the models run (empty without models).
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
    runs_as: str = ""

    @property
    def stamp(self) -> str:
        """The version of the scenario and the time of the result, in one line."""
        return f"Version {self.hash} · {self.made}"


class RunResult(Document):
    """The result of a run with its provenance: what is shown, exported and kept."""

    about: About


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
    ``warnings`` are those of its reader and of its costs; of ``with_work`` operators ``uncounted`` have
    neither known work nor a time.
    """

    parallelism: float
    total_compute_s: float
    critical_path_s: float
    device: str
    provenance: Mapping[str, float]
    sigma: Mapping[str, float]
    given: GivenTimes = GivenTimes()
    warnings: tuple[str, ...] = ()
    uncounted: int = 0
    with_work: int = 0


class Percentile(Document):
    """A percentile of the JCT (seconds); if its value or its interval is withheld, the reason."""

    value_s: Figure
    ci95: Interval
    withheld: str | None
    interval_withheld: str | None

    @property
    def as_mean(self) -> Estimate:
        """Value and interval, without the reasons."""
        return Estimate(mean=self.value_s, ci95=self.ci95)
