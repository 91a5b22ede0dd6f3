"""Serverless work: run the policies, compare ways of sharing, look for the fewest nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nona.report.text import percent_text
from nona.results.serverless.nodes import NodesFor, NodesReport, NodesSetting, TriedNodes
from nona.results.serverless.report import WaysReport
from nona.serverless.engine.options import ServerlessProgress
from nona.study import SimulationProgress
from nona.study.exports import write_serverless
from nona.study.provenance import now_text
from nona.study.serverless.capacity import CapacitySize, nodes_for
from nona.study.serverless.dag_schedulers import simulate_dag_schedulers
from nona.study.serverless.outcome import serverless_outcome
from nona.study.serverless.over.run import OverProgress, policies_over
from nona.study.serverless.over.settings import OverSettings, over_number
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import chosen_policies, report_of, simulate_serverless_scenario
from nona.study.serverless.sharing import compare_sharing, ways_for
from nona.ui.jobs.desk import Desk, processes
from nona.ui.tasks.reading import scenario_of, sources_of
from nona.ui.tasks.serverless_asked import NodesAsked, OverAsked, WaysAsked
from nona.ui.tasks.serverless_live import PlatformWatch

REPORT_EVERY_S = 0.2
STORIES = 40  # batches of each policy whose way to their invoker is kept
LIVE_EVERY_S = 1.0  # of curves
FEW_CALLS = 6000  # in all runs: below, processes of their own cost more than they save


def run_serverless(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Run every policy; the JSON of a :class:`~nona.results.serverless.dispatch.ServerlessOutcome`."""
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
        workers=processes(len(chosen_policies(scenario)) * size.jobs * size.replications, FEW_CALLS),
        stories=STORIES,
        on_progress=told,
    )
    outcome = serverless_outcome(scenario, result, now_text())
    folder = Path(spec["folder"])
    folder.mkdir(parents=True, exist_ok=True)  # a cleaner of temporary folders may have been here
    write_serverless(folder, result)
    return outcome.to_json()


def compare_ways(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """One policy under every way of sharing; the JSON of a ``WaysReport``."""
    scenario, sources, asked = scenario_of(spec), sources_of(spec), WaysAsked.of(spec)
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
        policies=(asked.policy,),
        calls=asked.calls,
        replications=asked.replications,
        oracle=False,
        workers=processes(asked.calls * asked.replications, FEW_CALLS),
    )
    reports = {mode: report_of(result) for mode, result in found.items()}
    return WaysReport(policy=asked.policy, reports=reports).to_json()


def find_nodes(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """The fewest nodes that keep a share of the SLOs under some policies; the JSON of a ``NodesReport``."""
    scenario, sources, asked = scenario_of(spec), sources_of(spec), NodesAsked.of(spec)
    names, steps = asked.policies, 0
    found: dict[str, NodesFor] = {}
    size = CapacitySize(calls=asked.calls, most=asked.most)

    def told(tried: TriedNodes) -> None:
        nonlocal steps
        desk.check()
        steps += 1
        share = (len(found) + 1 - 0.85**steps) / len(names)
        kept = percent_text(tried.slo_hit_rate.mean)
        text = f"{names[len(found)]}: {tried.nodes} nodes keep {kept}"
        desk.emit({"fraction": share, "text": text})

    for name in names:
        steps = 0
        desk.emit({"fraction": len(found) / len(names), "text": f"{name}: looking for the fewest nodes"})
        found[name] = nodes_for(
            scenario,
            name,
            asked.target,
            sources,
            size=size,
            workers=processes(size.calls * size.first, FEW_CALLS),
            on_tried=told,
        )
    ran = NodesSetting(calls=size.calls, seed=scenario.seed, name=scenario.name)
    report = NodesReport(target=asked.target, most=size.most, policies=found, setting=ran)
    return report.to_json()


def run_over(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Policies over one number, with their knees; the JSON of an ``OverReport``."""
    scenario, sources, asked = scenario_of(spec), sources_of(spec), OverAsked.of(spec)
    settings = OverSettings(
        number=over_number(scenario, asked.key),
        values=asked.values,
        policies=asked.policies,
        calls=asked.calls,
        target=asked.target,
        extend=asked.extend,
    )
    last = 0.0

    def told(progress: OverProgress) -> None:
        nonlocal last
        desk.check()
        if time.monotonic() - last >= LIVE_EVERY_S:
            last = time.monotonic()
            live = progress.report.to_json()
            desk.emit({"fraction": progress.fraction, "text": progress.text, "live": live})

    desk.emit({"fraction": 0.0, "text": "Reading the workflows"})
    work = asked.calls * settings.first * len(asked.values) * len(asked.policies)
    return policies_over(
        scenario, settings, sources, workers=processes(work, FEW_CALLS), on_progress=told
    ).to_json()


def run_schedulers(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """The scenario's DAG schedulers on the same workflows; the JSON of a ``SchedulersReport``."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    last = 0.0

    def told(progress: SimulationProgress) -> None:
        nonlocal last
        desk.check()
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            desk.emit({"fraction": progress.fraction, "text": f"{progress.scheduler}, each stage a task"})

    desk.emit({"fraction": 0.0, "text": "Making a task of every function"})
    return simulate_dag_schedulers(scenario, sources, on_progress=told).to_json()


def _teller(desk: Desk, watch: PlatformWatch) -> Callable[[ServerlessProgress], None]:
    last = 0.0

    def told(progress: ServerlessProgress) -> None:
        nonlocal last
        desk.check()
        watch.take(progress)
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            text = f"{progress.policy}, replication {progress.replication + 1}"
            desk.emit({"fraction": progress.fraction, "text": text, "live": watch.told().to_json()})

    return told
