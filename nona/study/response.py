"""The response of a placement as plain data, with a warning where it was not tested."""

from __future__ import annotations

from typing import Any

from nona.placement.placement import Placement
from nona.report.placements.response import response_report
from nona.study.prediction_map.region import warning
from nona.study.preparation import Study


def response_of(study: Study, placement: Placement) -> dict[str, Any]:
    """Mean, percentiles and SLO misses of each model and of the mix; ``warning`` is a line or ``None``."""
    report = response_report(study.system, placement, study.scenario.labels)
    return report | {"warning": warning(study.system, report)}
