"""The outcome of a placement as data."""

from __future__ import annotations

from collections.abc import Sequence

from nona.core.document import ErrorRange, ModelFacts
from nona.queries.placement.capacity import executor_utilization
from nona.queries.placement.result import Placement
from nona.queries.placement.results import LayoutComparison, PlacementOutcome, PlacementReport
from nona.queries.report.placement.report import placement_report
from nona.queries.report.placement.text import parts_of
from nona.queries.report.times_off import MeanParts, mean_if_off, times_error
from nona.queries.system import System
from nona.queries.workflows.facts import model_facts, provenance_of
from nona.queries.workflows.placements import Comparison, compare
from nona.queries.workflows.preparation import PreparedSystem
from nona.queries.workflows.tested_range import untested


def placement_outcome(
    prepared: PreparedSystem,
    placement: Placement,
    made_at: str,
    comparison: Comparison | None = None,
    layouts: LayoutComparison | None = None,
) -> PlacementOutcome:
    """Return the report on a placement, with local and spread for comparison.

    Parameters
    ----------
    prepared : PreparedSystem
        The system that the placement is for.
    placement : Placement
        A simulated placement.
    made_at : str
        The date, as text.
    comparison : Comparison, optional
        Local and spread, already simulated; by default :func:`compare` simulates them.
    layouts : LayoutComparison, optional
        Layouts of the stages of a row, see :mod:`nona.queries.workflows.stage_layouts`.

    Returns
    -------
    PlacementOutcome
        The three reports, figures of the models, the effect of an error in task times, and the provenance.
    """
    comparison = comparison or compare(prepared, placement)

    def report(other: Placement | None) -> PlacementReport | None:
        return None if other is None else full_report(prepared, other)

    own_report, models = full_report(prepared, placement, layouts), model_facts(prepared)
    return PlacementOutcome(
        about=provenance_of(prepared, made_at),
        nona=own_report,
        local=report(comparison.local),
        spread=report(comparison.spread),
        models=models,
        if_times_off=_if_times_off(prepared.system, own_report, list(models.values())),
    )


def _if_times_off(system: System, report: PlacementReport, models: Sequence[ModelFacts]) -> ErrorRange | None:
    """Return the range of the mean if modelled times are off; what joins add counts as computing."""
    parts, rates = parts_of(report).values(), [q.rate for q in system.queries]
    mean_s = report.simulated.mean
    if not parts or mean_s is None:
        return None
    weights = [rate / sum(rates) for rate in rates]
    background, _ = executor_utilization(system)
    whole = MeanParts(
        mean_s=mean_s,
        compute_s=sum(w * (p.compute_s + p.joins_s) for w, p in zip(weights, parts, strict=True)),
        server_wait_s=sum(w * p.server_wait_s for w, p in zip(weights, parts, strict=True)),
        load=max(c.utilization for c in report.predicted.classes),
        background=background,
        ci95=report.simulated.ci95,
    )
    return mean_if_off(whole, times_error(models, rates))


def full_report(
    prepared: PreparedSystem, placement: Placement, layouts: LayoutComparison | None = None
) -> PlacementReport:
    """Return the report on a simulated placement, with a warning where the formula was not tested.

    Parameters
    ----------
    prepared : PreparedSystem
        The system that the placement is for.
    placement : Placement
        A simulated placement.
    layouts : LayoutComparison, optional
        Layouts of the stages of a row.

    Returns
    -------
    PlacementReport
        What ``nona place --json`` prints.
    """
    warning = untested(prepared.system, placement.prediction)
    report = placement_report(prepared.system, placement, warning)
    return report if layouts is None else report.model_copy(update={"layouts": layouts})
