"""What to buy: what the worker does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from nona.results.plan import PlanReport
from nona.study.outcome import plan_outcome
from nona.study.planning.plan import plan
from nona.study.planning.progress import PlanProgress
from nona.study.provenance import now_text
from nona.ui.jobs.desk import Desk, processes
from nona.ui.tasks.reading import sources_of, study_of

REPORT_EVERY_S = 0.5


def plan_purchase(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """The plan of the scenario; what is known so far is the job's ``live`` and ``best``."""
    prepared, made = study_of(spec, desk), now_text()
    heard = _Heard(desk, lambda report: plan_outcome(prepared, report, made).to_json())
    found = plan(
        prepared.scenario,
        sources_of(spec),
        workers=processes(1, 0),
        check=desk.check,
        on_table=heard.take,
    )
    return heard.written(found)


class _Heard:
    """Sends what is known to the page, not more often than a page can draw it."""

    def __init__(self, desk: Desk, written: Callable[[PlanReport], dict[str, Any]]) -> None:
        self._desk, self.written = desk, written
        self._sent_s = float("-inf")

    def take(self, report: PlanReport, progress: PlanProgress) -> None:
        message: dict[str, Any] = {"fraction": progress.whole, "text": progress.text, "open": True}
        now_s = time.monotonic()
        if now_s - self._sent_s >= REPORT_EVERY_S:
            self._sent_s = now_s
            known = self.written(report)
            message |= {"live": known, "best": known}
        self._desk.emit(message)
