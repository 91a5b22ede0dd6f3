"""A quick answer for the page: few jobs, one replication at first, then more, each reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona import study
from nona.report.simulations.report import simulation_report
from nona.results.simulation.answer import QuickAnswer
from nona.simulation.engines import AUTO, engine_named
from nona.study.response import predicted_means
from nona.ui.jobs.desk import Desk
from nona.ui.tasks.reading import study_of

JOBS = {"compiled": 3000}
SLOW_JOBS = 400  # of an engine that answers while the compiled one is being prepared
REPLICATIONS = 8


def answer(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Report all schedulers' figures after every replication; the last ones are the result.

    The job's ``live``, as its result, is that of a :class:`~nona.results.simulation.answer.QuickAnswer`.
    """
    prepared, engine = study_of(spec, desk), engine_named(AUTO)
    simulation = prepared.scenario.simulation
    jobs = min(simulation.jobs, JOBS.get(engine, SLOW_JOBS))
    count = max(simulation.replications, REPLICATIONS)
    told: dict[str, Any] = {}
    predicted: Mapping[str, float | None] | None = None
    for found in study.answers(
        prepared, engine=engine, jobs=jobs, replications=count, cache=desk.cache, check=desk.check
    ):
        if predicted is None:
            predicted = predicted_means(prepared, found.placement)
        told = QuickAnswer(
            predicted=predicted,
            report=simulation_report(found.summaries, found.seconds),
            replications=found.replications,
            jobs=jobs,
            engine=engine,
            failed=found.failed,
        ).to_json()
        text = f"{found.replications} of {count} replications"
        desk.emit({"fraction": found.replications / count, "text": text, "live": told})
    return told
