"""The search for a placement by sampled jobs: its figures, its steps, its progress while it runs."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure


class SampledSearch(Document):
    """The figures of a search, all predicted by sampled jobs.

    ``value`` is a probability for the objective ``slo``, seconds for ``mean-jct``, ``error`` its standard
    error, ``bound`` what no placement is below; ``formula_value`` is that of the formula's optimum, ``gain``
    the difference, pair by pair. ``models`` has the value of each row of the workload, ``None`` where it
    does not count.
    """

    value: Figure
    error: Figure
    bound: Figure
    formula_value: Figure
    gain: Figure
    gain_error: Figure
    models: Mapping[str, Figure]
    evaluations: int
    samples: int
    settled: bool
    origin: str


class SearchStep(Document):
    """The best placement after ``elapsed_s`` seconds: mean JCT by sampled jobs, its error, the bound.

    ``lower_bound_s`` and ``gap`` are ``None`` as long as the formula is not solved.
    """

    elapsed_s: float
    objective_s: Figure
    error_s: Figure
    lower_bound_s: Figure
    gap: Figure
    origin: str


class SearchProgress(Document):
    """The steps so far of a search that runs."""

    steps: tuple[SearchStep, ...] = ()
