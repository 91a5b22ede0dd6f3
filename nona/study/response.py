"""The response of a placement, with a warning where it was not tested."""

from __future__ import annotations

import math

from nona.errors import PlacementError
from nona.placement.fixed.local_and_spread import local_placement, spread_placement
from nona.placement.result.placement import Placement
from nona.placement.sampled.reported import reported_response
from nona.report.placements.response import response_report
from nona.results.placement.response import ResponseReport
from nona.study.prediction_map.region import warning
from nona.study.preparation import Study


def response_of(study: Study, placement: Placement) -> ResponseReport:
    """Mean, percentiles and SLO misses of each model and of the mix; ``warning`` is a line or ``None``."""
    report = response_report(study.system, placement, study.scenario.labels)
    return report.model_copy(update={"warning": warning(study.system, report)})


def predicted_means(study: Study, placement: Placement | None) -> dict[str, float | None]:
    """Scheduler of the scenario → predicted mean JCT (s), for those that have a prediction.

    What stands beside simulated means: by sampled jobs, not by the optimiser's formula
    (:func:`nona.study.simulating.run.predictions`). ``None`` where there is no steady state; ``placement``
    is what ``nona`` samples from.
    """
    found: dict[str, float | None] = {}
    names = {s.name for s in study.scenario.schedulers}
    if placement is not None and "nona" in names:
        found["nona"] = _mean_s(study, placement)
    for name, fixed in (("local", local_placement), ("spread", spread_placement)):
        if name in names:
            try:
                found[name] = _mean_s(study, fixed(study.system))
            except PlacementError:  # the executors themselves are overloaded
                found[name] = None
    return found


def _mean_s(study: Study, placement: Placement) -> float | None:
    if not math.isfinite(placement.prediction.jct_s):
        return None
    judged = placement.formula is not None  # then that mean is its objective
    mean_s = placement.objective_s if judged else reported_response(study.system, placement).mix.mean_s
    return mean_s if math.isfinite(mean_s) else None
