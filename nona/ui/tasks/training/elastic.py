"""Run every policy on elastic jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from nona.experiments.progress import Shares
from nona.report.training.elastic.history import elastic_history
from nona.study.elastic.run import ElasticRequest, simulate_elastic_jobs
from nona.study.elastic.scenario import elastic_request
from nona.study.outcome import about_scenario
from nona.study.provenance import now_text
from nona.training.elastic.engine.run import ElasticProgress
from nona.training.elastic.policies.registry import ELASTIC
from nona.training.elastic.replications import replications_of
from nona.ui.jobs.desk import Desk, processes
from nona.ui.tasks.reading import scenario_of, sources_of
from nona.ui.tasks.training.elastic_live import ElasticWatch

REPORT_EVERY_S = 0.3
SEARCHED = 60.0  # how many times as long a run of a policy that searches takes, about


def run_elastic(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run every policy; the JSON of an :class:`~nona.results.training.elastic_history.ElasticHistory`."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    desk.emit({"fraction": 0.0, "text": "Reading the jobs"})
    request = elastic_request(scenario, sources)
    searched = sum(ELASTIC[n].drawn for n in request.policies) * request.replications
    workers = processes(searched, 1)  # others end within a second
    told = _teller(desk, request, in_order=workers == 1)
    result = simulate_elastic_jobs(request, workers=workers, on_progress=told)
    about = about_scenario(scenario, scenario, now_text())
    return elastic_history(result.system, result.runs, result.report, about).to_json()


def _teller(desk: Desk, request: ElasticRequest, in_order: bool) -> Callable[[ElasticProgress], None]:
    """What hears each run; ``in_order``: one after the other, so that those before it are complete."""
    weights = {
        (place, replication): SEARCHED if ELASTIC[name].drawn else 1.0
        for place, name in enumerate(request.policies)
        for replication in range(replications_of(ELASTIC[name], request.replications))
    }
    shares, last = Shares(weights), 0.0
    watch = ElasticWatch(request.policies, request.nodes, request.gpus)

    def told(progress: ElasticProgress) -> None:
        nonlocal last
        desk.check()
        watch.take(progress)
        key = (progress.piece, progress.replication)
        for earlier in (k for k in weights if in_order and k < key):
            shares.add(earlier, 1.0)
        fraction = shares.add(key, progress.fraction)
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            text = f"{progress.policy}, run {progress.replication + 1}"
            desk.emit({"fraction": fraction, "text": text, "live": watch.told().to_json()})

    return told
