"""Serverless work: run the policies, compare ways of sharing, look for the fewest nodes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from nona.hardware.geometry import board
from nona.report.serverless.layouts import layout_rows
from nona.report.serverless.nodes import nodes_report
from nona.report.serverless.stories import story_rows
from nona.serverless.engine.options import ServerlessProgress
from nona.study import SimulationProgress
from nona.study.serverless.capacity import CapacitySize, NodesFor, TriedNodes, nodes_for
from nona.study.serverless.dag_schedulers import simulate_dag_schedulers
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import chosen_policies, report_of, simulate_serverless_scenario
from nona.study.serverless.sharing import compare_sharing, ways_for
from nona.ui.jobs.desk import Desk
from nona.ui.tasks.reading import scenario_of, sources_of
from nona.ui.tasks.serverless_live import PlatformWatch

REPORT_EVERY_S = 0.2
STORIES = 40  # batches of each policy whose way to their invoker is kept
MOST_PROCESSES = 4
FEW_CALLS = 6000  # in all runs: below, processes of their own cost more than they save


def run_serverless(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run every policy; the result holds ``report``, ``layouts`` and ``stories``, all as plain data."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    desk.emit({"fraction": 0.0, "text": "Reading the workflows"})
    system = prepare_serverless(scenario, sources)
    watch = PlatformWatch(system, [p.name for p, _ in chosen_policies(scenario)])
    told = _teller(desk, watch)
    size = scenario.simulation
    result = simulate_serverless_scenario(
        scenario,
        sources,
        system=system,
        workers=_processes(len(chosen_policies(scenario)) * size.jobs * size.replications),
        stories=STORIES,
        on_progress=told,
    )
    first = {name: runs[0] for name, runs in result.records.items()}
    return {
        "report": report_of(result),
        "layouts": {
            "mode": result.system.sharing.mode,
            "applications": [a.name for a in result.system.applications],
            "nodes": [_node(n) for n in result.system.invokers],
            "rows": {name: layout_rows(run, result.system) for name, run in first.items()},
        },
        "stories": {name: story_rows(run, result.system) for name, run in first.items()},
    }


def compare_ways(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """One policy under every way of sharing; the result holds ``reports``, way → report."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    last = 0.0

    def told(mode: str, fraction: float, progress: ServerlessProgress) -> None:
        nonlocal last
        desk.check()
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            desk.emit({"fraction": fraction, "text": f"Sharing by {mode}"})

    found = compare_sharing(
        scenario,
        sources,
        ways_for(scenario),
        on_progress=told,
        policies=(str(spec["policy"]),),
        calls=int(spec["calls"]),
        replications=int(spec["replications"]),
        oracle=False,
        workers=_processes(int(spec["calls"]) * int(spec["replications"])),
    )
    return {"policy": spec["policy"], "reports": {m: report_of(r) for m, r in found.items()}}


def find_nodes(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """The fewest nodes that keep ``spec["target"]`` of the SLOs, under each of ``spec["policies"]``."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    names, steps = list(spec["policies"]), 0
    found: list[NodesFor] = []
    size = CapacitySize(calls=int(spec["calls"]), most=int(spec["most"]))

    def told(tried: TriedNodes) -> None:
        nonlocal steps
        desk.check()
        steps += 1
        share = (len(found) + 1 - 0.85**steps) / len(names)
        text = f"{names[len(found)]}: {tried.nodes} nodes keep {100 * tried.hit_rate.mean:.1f} %"
        desk.emit({"fraction": share, "text": text})

    for name in names:
        steps = 0
        desk.emit({"fraction": len(found) / len(names), "text": f"{name}: looking for the fewest nodes"})
        found.append(
            nodes_for(
                scenario,
                name,
                float(spec["target"]),
                sources,
                size=size,
                workers=_processes(size.calls * size.first),
                on_tried=told,
            )
        )
    return nodes_report(found)


def run_schedulers(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """The scenario's DAG schedulers on the same workflows; ``schedulers`` holds a row for each."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    last = 0.0

    def told(progress: SimulationProgress) -> None:
        nonlocal last
        desk.check()
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            desk.emit({"fraction": progress.fraction, "text": f"{progress.scheduler}, each stage a task"})

    desk.emit({"fraction": 0.0, "text": "Making a task of every function"})
    rows = simulate_dag_schedulers(scenario, sources, on_progress=told)
    return {"schedulers": rows}


def _teller(desk: Desk, watch: PlatformWatch) -> Callable[[ServerlessProgress], None]:
    last = 0.0

    def told(progress: ServerlessProgress) -> None:
        nonlocal last
        desk.check()
        watch.take(progress)
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            text = f"{progress.policy}, replication {progress.replication + 1}"
            desk.emit({"fraction": progress.fraction, "text": text, "live": watch.told()})

    return told


def _node(node: Any) -> dict[str, Any]:
    memory = board(node.board).memory_slices if node.board else node.vgpus
    return {"gpus": node.gpus, "vgpus": node.vgpus, "board": node.board, "memory": memory}


def _processes(calls: int) -> int:
    """Processes for so many calls in all runs together."""
    return 1 if calls <= FEW_CALLS else min(MOST_PROCESSES, os.cpu_count() or 1)
