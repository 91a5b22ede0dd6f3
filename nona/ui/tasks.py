"""What a worker does for each kind of job: from a scenario as plain data to a result as plain data."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nona import study
from nona.errors import JobError
from nona.placement.placement import Placement
from nona.report.differences import all_differences
from nona.report.models import provenance_shares
from nona.report.placement import placement_report
from nona.report.plain import plain
from nona.report.series import LiveSeries, ecdf_series, executor_load, gantt_rows, jct_over_time
from nona.report.simulation import job_table, simulation_report
from nona.report.warmup import warmup_series
from nona.scenario_file import scenario_from_mapping
from nona.simulation.engines import AUTO, engine_named
from nona.simulation.warmup import run_name
from nona.sources import Sources
from nona.study import Study
from nona.ui.answer_task import answer
from nona.ui.count_task import count_configurations
from nona.ui.desk import Desk
from nona.ui.theory_task import simulate_known

REPORT_EVERY_S = 0.4
TIMELINE_JOBS = 10
MOST_PROCESSES = 4
# Below so many jobs in all, a process of its own takes longer to start than it saves.
FEW_JOBS = {"compiled": 1_000_000, "simpy": 60_000}


def run_task(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run the job that ``spec`` describes: its ``kind``, ``scenario``, ``uploads``, ``folder``.

    The kind ``count`` looks at one model only, see :func:`~nona.ui.count_task.count_configurations`;
    ``validate`` needs no scenario, see :func:`~nona.ui.theory_task.simulate_known`.

    Raises
    ------
    NonaError
        For a bad scenario, an infeasible placement, an unknown kind.
    """
    kinds = {"place": _place, "simulate": _simulate, "answer": answer}
    if spec.get("kind") == "count":
        return count_configurations(spec, desk.emit)
    if spec.get("kind") == "validate":
        return simulate_known(spec, desk)
    if spec.get("kind") not in kinds:
        known = ", ".join((*kinds, "count", "validate"))
        raise JobError(f"Job {spec.get('kind')!r}: it must be one of {known}; choose one of these.")
    desk.emit({"fraction": 0.0, "text": "Reading and contracting the models"})
    sources = Sources(Path(spec["uploads"]) if spec.get("uploads") else None, confined=True)
    prepared = study.prepare(scenario_from_mapping(spec["scenario"]), sources, desk.cache)
    result: dict[str, Any] = plain(kinds[spec["kind"]](prepared, spec, desk))
    return result


def _place(prepared: Study, spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    desk.emit({"fraction": 0.3, "text": "Solving the placement"})
    placement = study.place(prepared, str(spec.get("solver", "parametric")), desk.cache)
    desk.emit({"fraction": 0.8, "text": "Evaluating local and spread for comparison"})
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


def _simulate(prepared: Study, spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    live, last, engine, placement = LiveSeries(), 0.0, engine_named(AUTO), None

    def on_progress(progress: study.SimulationProgress) -> None:
        nonlocal last
        desk.check()
        live.add(progress.scheduler, progress.replication, progress.run)
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            text = f"{progress.scheduler}, {run_name(progress.replication)}"
            desk.emit({"fraction": progress.fraction, "text": text, "live": plain(live.snapshot())})

    if study.needs_placement(prepared):
        desk.emit({"fraction": 0.0, "text": "Solving the placement"})
        placement = study.place(prepared, cache=desk.cache)
    result = study.simulate(
        prepared,
        engine=engine,
        workers=_processes(prepared, engine),
        timeline_jobs=TIMELINE_JOBS,
        placement=placement,
        on_progress=on_progress,
    )
    desk.emit({"fraction": 1.0, "text": "Writing the results", "live": plain(live.snapshot())})
    names = prepared.scenario.labels
    report = plain(simulation_report(result.summaries, result.seconds, result.warmup, result.precision))
    slo_s = [q.slo_s for q in prepared.system.queries]
    folder = Path(spec["folder"])
    table = job_table((r for runs in result.records.values() for r in runs), names)
    table.to_csv(folder / "jobs.csv", index=False)
    (folder / "report.json").write_text(json.dumps(report, indent=2), encoding="utf-8")
    return {
        "report": report,
        "differences": all_differences(result.records, slo_s),
        "warmup": warmup_series(result.warmup),
        "ecdf": ecdf_series(result.records, names),
        "over_time": jct_over_time(result.records),
        "load": executor_load(result.records),
        "gantt": gantt_rows(result.records, prepared.system),
        "slo_s": dict(zip(names, slo_s, strict=True)),
        "predicted": study.predictions(prepared, result.placement),
        "models": _model_facts(prepared),
    }


def _processes(prepared: Study, engine: str) -> int:
    """Processes for a simulation: one, this one, where others would only cost their start."""
    spec = prepared.scenario.simulation
    jobs = spec.jobs * spec.replications * len(prepared.scenario.schedulers)
    return 1 if jobs <= FEW_JOBS.get(engine, 0) else min(MOST_PROCESSES, os.cpu_count() or 1)
