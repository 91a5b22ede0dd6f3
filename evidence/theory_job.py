"""The known systems simulated beside theory, as a job of the app."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from evidence.agreement import EFFORTS, compare
from evidence.known_systems import known_systems
from evidence.reports.theory import comparison_rows
from evidence.results import ComparedRow, TheoryProgress, TheoryResult
from nona.app.tasks.context import JobContext, request_of
from nona.core.document import Document
from nona.core.errors import JobError
from nona.queries.simulation.run import AUTO, engine_named

REPORT_EVERY_S = 0.4


class EffortAsked(Document):
    """How long the runs are whose means are compared with theory, by the name of the effort."""

    effort: str


def simulate_known(spec: Mapping[str, Any], context: JobContext) -> TheoryResult:
    """Simulate every known system with the effort that is asked for.

    Rows that are done come along with the progress, so that the page can tell while it runs.
    """
    name = request_of(spec, EffortAsked).effort
    if name not in EFFORTS:
        efforts = ", ".join(EFFORTS)
        raise JobError(f"Validation: effort={name!r} must be one of {efforts}; choose one of these.")
    effort = replace(EFFORTS[name], engine=engine_named(AUTO))
    begin = time.monotonic()
    rows: list[ComparedRow] = []
    systems = list(known_systems())
    weights = [s.length.jobs * effort.scale + s.length.warmup for s in systems]

    def report(number: int, share: float) -> None:
        done = (sum(weights[:number]) + share * weights[number]) / sum(weights)
        text = f"{systems[number].name} at a load of {systems[number].load:.0%}"
        context.report_progress(done, text, lambda: TheoryProgress(rows=tuple(rows)), every_s=REPORT_EVERY_S)

    for number, system in enumerate(systems):
        rows += comparison_rows(compare(system, effort, partial(report, number)))
    return TheoryResult(
        rows=tuple(rows),
        effort=name,
        engine=effort.engine,
        level=effort.level,
        replications=effort.replications,
        seconds=time.monotonic() - begin,
    )
