"""What a worker does for each kind of job: from a scenario as plain data to a result as plain data."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nona import study
from nona.errors import JobError
from nona.placement.placement import Placement
from nona.report.models import provenance_shares
from nona.report.placement import placement_report
from nona.report.plain import plain
from nona.report.series import LiveSeries, ecdf_series, executor_load, gantt_rows, jct_over_time
from nona.report.simulation import job_table, simulation_report
from nona.scenario_file import scenario_from_mapping
from nona.sources import Sources
from nona.study import Study
from nona.ui.count_task import count_configurations

Emit = Callable[[dict[str, Any]], None]
REPORT_EVERY_S = 0.4
TIMELINE_JOBS = 10
MOST_PROCESSES = 4


def run_task(spec: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Run the job that ``spec`` describes: its ``kind``, ``scenario``, ``uploads``, ``folder``.

    The kind ``count`` looks at one model only, see :func:`~nona.ui.count_task.count_configurations`.

    Raises
    ------
    NonaError
        For a bad scenario, an infeasible placement, an unknown kind.
    """
    kinds = {"place": _place, "simulate": _simulate}
    if spec.get("kind") == "count":
        return count_configurations(spec, emit)
    if spec.get("kind") not in kinds:
        known = ", ".join((*kinds, "count"))
        raise JobError(f"Job {spec.get('kind')!r}: it must be one of {known}; choose one of these.")
    emit({"fraction": 0.0, "text": "Reading and contracting the models"})
    uploads = Path(spec["uploads"]) if spec.get("uploads") else None
    prepared = study.prepare(scenario_from_mapping(spec["scenario"]), Sources(uploads, confined=True))
    result: dict[str, Any] = plain(kinds[spec["kind"]](prepared, spec, emit))
    return result


def _place(prepared: Study, spec: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    emit({"fraction": 0.3, "text": "Solving the placement"})
    placement = study.place(prepared, solver=str(spec.get("solver", "parametric")))
    emit({"fraction": 0.8, "text": "Evaluating local and spread for comparison"})
    comparison = study.compare(prepared, placement)
    names = prepared.scenario.labels

    def report(other: Placement | None) -> dict[str, Any] | None:
        return None if other is None else placement_report(prepared.system, other, names)

    return {
        "nona": report(placement),
        "local": report(comparison.local),
        "spread": report(comparison.spread),
        "models": _model_facts(prepared),
    }


def _model_facts(prepared: Study) -> dict[str, Any]:
    return {
        name: {
            "parallelism": model.costed[0].parallelism,
            "total_compute_s": model.costed[0].total_compute_s,
            "critical_path_s": model.costed[0].critical_path_s,
            "device": model.costed[0].device,
            "provenance": provenance_shares(model.costed[0]),
        }
        for name, model in zip(prepared.scenario.labels, prepared.models, strict=True)
    }


def _simulate(prepared: Study, spec: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    live, last = LiveSeries(), 0.0

    def on_progress(progress: study.SimulationProgress) -> None:
        nonlocal last
        live.add(progress.scheduler, progress.replication, progress.run)
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            text = f"{progress.scheduler}, replication {progress.replication + 1}"
            emit({"fraction": progress.fraction, "text": text, "live": plain(live.snapshot())})

    if study.needs_placement(prepared):
        emit({"fraction": 0.0, "text": "Solving the placement"})
    workers = min(MOST_PROCESSES, os.cpu_count() or 1)
    result = study.simulate(prepared, workers=workers, timeline_jobs=TIMELINE_JOBS, on_progress=on_progress)
    emit({"fraction": 1.0, "text": "Writing the results", "live": plain(live.snapshot())})
    names = prepared.scenario.labels
    report = plain(simulation_report(result.summaries, result.seconds))
    folder = Path(spec["folder"])
    table = job_table((r for runs in result.records.values() for r in runs), names)
    table.to_csv(folder / "jobs.csv", index=False)
    (folder / "report.json").write_text(json.dumps(report, indent=2), encoding="utf-8")
    return {
        "report": report,
        "ecdf": ecdf_series(result.records, names),
        "over_time": jct_over_time(result.records),
        "load": executor_load(result.records),
        "gantt": gantt_rows(result.records, prepared.system),
        "slo_s": {name: q.slo_s for name, q in zip(names, prepared.system.queries, strict=True)},
        "predicted": _predicted(prepared, result.placement),
        "models": _model_facts(prepared),
    }


def _predicted(prepared: Study, placement: Placement | None) -> dict[str, float | None]:
    """Scheduler → predicted mean JCT, for those that theory has a prediction for."""
    if placement is None:
        return {}
    comparison = study.compare(prepared, placement)
    return {
        "nona": placement.prediction.jct_s,
        "local": comparison.local.prediction.jct_s,
        "spread": comparison.spread.prediction.jct_s if comparison.spread else None,
    }
