"""Serverless work: policies, ways of sharing, knees, nodes; reports while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nona.app.tasks.context import JobContext, WaysAsked, processes, request_of, scenario_of, sources_of
from nona.queries.workflows.shipped import now_text
from nona.serverless import results as serverless
from nona.serverless.chart_data import PlatformLive, PlatformSnapshot, PolicySoFar, ServerlessOutcome
from nona.serverless.engine.options import ServerlessProgress
from nona.serverless.replications import make_ready
from nona.serverless.results import NodesReport, NodesRequest, OverReport, OverRequest
from nona.serverless.system import HOUR_S, ServerlessSystem
from nona.serverless.workflows import comparisons, run
from nona.serverless.workflows.knees import policies_over
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.run import write_serverless

MOST_POINTS = 60  # of a policy's curve
NOTHING = PolicySoFar(curve=(), hits=None, cost_per_call_usd=None, completed=0)


class PlatformReporter:
    """Takes in progress, keeps a curve for each policy and the latest snapshot of one.

    The cost is an estimate: what is held between two snapshots is taken to be what the later one shows.
    Costs and hits are those of replication 0; the snapshot shown is that of one policy until it ends.
    """

    def __init__(self, system: ServerlessSystem, policies: Sequence[str]) -> None:
        self._prices, self._order = system.prices, tuple(policies)
        self._vcpus = sum(node.vcpus for node in system.invokers)
        self._vgpus = sum(node.gpus * node.vgpus for node in system.invokers)
        self._policies = dict.fromkeys(policies, NOTHING)
        self._paid: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._at_s: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._done: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._focus = ""
        self._shown: PlatformSnapshot | None = None
        self._applications = tuple((a.name, tuple(a.stage_names)) for a in system.applications)
        self._nodes = tuple((node.vcpus, node.gpus * node.vgpus) for node in system.invokers)

    def on_progress(self, progress: ServerlessProgress) -> None:
        """Take in the report of one run."""
        name, now = progress.policy, progress.snapshot
        if now is None or name not in self._policies or progress.replication != 0:
            return
        self._done[name] = progress.run_fraction
        self._add(name, now, progress.run_fraction)
        if not self._focus or self._done[self._focus] >= 0.99 or self._focus == name:
            self._focus, self._shown = name, now

    def _add(self, name: str, now: PlatformSnapshot, fraction: float) -> None:
        held_vcpus, held_vgpus = self._vcpus - sum(now.free_vcpus), self._vgpus - sum(now.free_vgpus)
        hourly = held_vcpus * self._prices.vcpu_hour + held_vgpus * self._prices.vgpu_hour
        self._paid[name] += (now.time_s - self._at_s[name]) * hourly / HOUR_S
        self._at_s[name] = now.time_s
        if now.completed:
            hits = now.hits / now.completed
            curve = (*self._policies[name].curve, (fraction, hits))
            self._policies[name] = PolicySoFar(
                curve=curve[::2] if len(curve) > MOST_POINTS else curve,
                hits=hits,
                cost_per_call_usd=self._paid[name] / now.completed,
                completed=now.completed,
            )

    def live(self) -> PlatformLive:
        """All that is known so far."""
        return PlatformLive(
            applications=self._applications,
            nodes=self._nodes,
            order=self._order,
            policies=dict(self._policies),
            focus=self._focus,
            snapshot=self._shown,
        )


LIVE_EVERY_S = 1.0  # of curves
FEW_CALLS = 6000  # in all runs: below, processes of their own cost more than they save


def _begin(context: JobContext) -> None:
    """Compile the engine where that was never done on this machine."""
    make_ready()
    context.emit({"fraction": 0.0, "text": "Reading the workflows"})


def run_serverless(spec: Mapping[str, Any], context: JobContext) -> ServerlessOutcome:
    """Run every serverless policy of the scenario."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    _begin(context)
    system = prepare_serverless(scenario, sources)
    watch = PlatformReporter(system, [p.name for p, _ in run.chosen_policies(scenario)])

    def report(progress: ServerlessProgress) -> None:
        watch.on_progress(progress)
        context.report_progress(
            progress.fraction, f"{progress.policy}, replication {progress.replication + 1}", watch.live
        )

    size = scenario.simulation
    result = run.simulate_serverless_scenario(
        scenario,
        sources,
        system=system,
        workers=processes(len(run.chosen_policies(scenario)) * size.jobs * size.replications, FEW_CALLS),
        on_progress=report,
    )
    outcome = run.serverless_outcome(scenario, result, now_text())
    folder = Path(spec["folder"])
    folder.mkdir(parents=True, exist_ok=True)  # a cleaner of temporary folders may have been here
    write_serverless(folder, result)
    return outcome


def compare_ways(spec: Mapping[str, Any], context: JobContext) -> serverless.WaysReport:
    """Run one policy under every sharing mode."""
    scenario, sources, asked = scenario_of(spec), sources_of(spec), request_of(spec, WaysAsked)
    _begin(context)
    results = comparisons.compare_sharing(
        scenario,
        sources,
        comparisons.ways_for(scenario),
        on_progress=lambda mode, fraction, _: context.report_progress(fraction, f"Sharing by {mode}"),
        policies=(asked.policy,),
        calls=asked.calls,
        replications=asked.replications,
        oracle=False,
        workers=processes(asked.calls * asked.replications, FEW_CALLS),
    )
    reports = {mode: run.report_of(result) for mode, result in results.items()}
    return serverless.WaysReport(policy=asked.policy, reports=reports)


def find_nodes(spec: Mapping[str, Any], context: JobContext) -> NodesReport:
    """Find the fewest nodes with which each policy keeps the target."""
    asked, reported = request_of(spec, NodesRequest), 0

    def report_nodes(fraction: float, text: str, report: Callable[[], NodesReport]) -> None:
        nonlocal reported
        answered = len(report().policies)
        every_s = (
            0.0 if answered > reported else 0.2
        )  # an answer is reported at once: a cancelled search keeps it
        context.report_progress(fraction, text, report if answered else None, every_s=every_s, keeps=True)
        reported = answered

    _begin(context)
    workers = processes(asked.calls * asked.first, FEW_CALLS)
    return comparisons.nodes_needed(
        scenario_of(spec), asked, sources_of(spec), workers=workers, on_progress=report_nodes
    )


def run_over(spec: Mapping[str, Any], context: JobContext) -> OverReport:
    """Vary one number of the scenario, and find where each policy stops keeping the target."""
    scenario, sources, asked = scenario_of(spec), sources_of(spec), request_of(spec, OverRequest)
    calls = asked.jobs * asked.replications * len(asked.values) * len(asked.schedulers)
    workers, report_nodes = (
        processes(calls, FEW_CALLS),
        partial(context.report_progress, every_s=LIVE_EVERY_S),
    )
    _begin(context)
    return policies_over(scenario, asked, sources, workers=workers, on_progress=report_nodes)
