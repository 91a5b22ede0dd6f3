"""``nona serverless``: serverless workflows under configuration policies, and how many nodes they need."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TypeVar

from nona.cli.values import share
from nona.errors import NonaError
from nona.gpu_sharing.registry import WAYS
from nona.report.serverless.nodes import nodes_text
from nona.report.serverless.text import schedulers_text, serverless_text, sharing_text
from nona.results.document import Document
from nona.results.serverless.nodes import NodesReport, NodesSetting, TriedNodes
from nona.results.serverless.report import SharingReport
from nona.scenario.schema import Scenario
from nona.serverless.engine.run import ServerlessProgress
from nona.serverless.policies.registry import get_policy, policy_names
from nona.sources.lookup import Sources
from nona.study.serverless.capacity import MOST, CapacitySize, nodes_for
from nona.study.serverless.dag_schedulers import simulate_dag_schedulers
from nona.study.serverless.run import (
    ServerlessResult,
    chosen_policies,
    report_of,
    simulate_serverless_scenario,
    with_sharing,
)
from nona.study.serverless.sharing import How, compare_sharing
from nona.study.sweeps.numbers import with_value

D = TypeVar("D", bound=Document)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``nona serverless``."""
    parser.add_argument("scenario", help="scenario file with a part 'serverless', or a shipped scenario")
    parser.add_argument(
        "--policy", action="append", metavar="P", help="overrides the scenario's policies; repeat for several"
    )
    parser.add_argument("--calls", type=int, help="calls measured per run (default: simulation.jobs)")
    parser.add_argument("--replications", type=int, help="independent runs")
    parser.add_argument("--seed", type=int, help="overrides the scenario's seed")
    parser.add_argument(
        "--workers", type=int, default=1, help="number of processes; results do not depend on it"
    )
    parser.add_argument(
        "--sharing",
        action="append",
        metavar="MODE",
        help=f"{', '.join(WAYS)}; repeat to compare several",
    )
    parser.add_argument(
        "--nodes-for",
        metavar="SHARE",
        help="find the fewest nodes with which each policy keeps this share of the SLOs, e.g. 99%%",
    )
    parser.add_argument(
        "--dag-schedulers",
        action="store_true",
        help="run the scenario's schedulers instead of policies, with one vGPU and one job per task",
    )
    parser.add_argument(
        "--most", type=int, default=MOST, help=f"largest number of nodes to try (default {MOST})"
    )


def serverless(arguments: argparse.Namespace, scenario: Scenario, sources: Sources) -> None:
    """Simulate, compare ways of sharing, or find the fewest nodes; print a table or JSON."""
    if arguments.seed is not None:
        scenario = with_value(scenario, "seed", arguments.seed)
    for name in ("calls", "replications", "workers", "most"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise NonaError(f"--{name} {value} must be at least 1; give a larger number.")
    modes = list(dict.fromkeys(arguments.sharing or ()))
    for name in arguments.policy or ():
        get_policy(name)
    if arguments.nodes_for is not None:
        if len(modes) > 1:
            raise NonaError("--nodes-for supports one way of sharing; give --sharing once.")
        _nodes(arguments, with_sharing(scenario, modes[0]) if modes else scenario, sources)
    elif arguments.dag_schedulers:
        _schedulers(arguments, scenario, sources)
    elif len(modes) > 1:
        _compare(arguments, scenario, sources, modes)
    else:
        chosen = with_sharing(scenario, modes[0]) if modes else scenario
        _print(arguments, report_of(_run(arguments, chosen, sources)), serverless_text)


def refuse_policies(schedulers: list[str] | None) -> None:
    """Reject a policy's name given to ``nona simulate``, naming the command that runs it.

    Raises
    ------
    NonaError
        When a name is that of a policy.
    """
    for name in schedulers or ():
        if name in policy_names():
            raise NonaError(
                f"--scheduler {name!r} is a configuration policy for serverless workflows; run it with "
                f"`nona serverless SCENARIO --policy {name}`."
            )


def policy_rows() -> list[dict[str, str]]:
    """The configuration policies as listed by ``nona schedulers``; none of them sees the network."""
    return [
        {
            "name": p.name,
            "kind": "configure",
            "network_view": "N0",
            "summary": p.summary,
            "source": p.source,
            "adaptation": p.adaptation,
        }
        for p in map(get_policy, policy_names())
    ]


def _how(arguments: argparse.Namespace) -> How:
    return How(
        policies=tuple(arguments.policy or ()),
        calls=arguments.calls,
        replications=arguments.replications,
        workers=arguments.workers,
    )


def _run(arguments: argparse.Namespace, scenario: Scenario, sources: Sources) -> ServerlessResult:
    def told(progress: ServerlessProgress) -> None:
        _tell(progress.fraction, progress.policy)

    listener = told if sys.stderr.isatty() else None
    return simulate_serverless_scenario(scenario, sources, on_progress=listener, **_how(arguments))


def _schedulers(arguments: argparse.Namespace, scenario: Scenario, sources: Sources) -> None:
    if arguments.policy or arguments.sharing:
        raise NonaError(
            "--dag-schedulers runs the scenario's schedulers, not policies; leave out --policy and --sharing."
        )
    report = simulate_dag_schedulers(
        scenario,
        sources,
        calls=arguments.calls,
        replications=arguments.replications,
        workers=arguments.workers,
    )
    _print(arguments, report, schedulers_text)


def _compare(arguments: argparse.Namespace, scenario: Scenario, sources: Sources, modes: list[str]) -> None:
    def told(mode: str, fraction: float, progress: ServerlessProgress) -> None:
        _tell(fraction, f"{mode}, {progress.policy}")

    listener = told if sys.stderr.isatty() else None
    found = compare_sharing(scenario, sources, modes, on_progress=listener, **_how(arguments))
    reports = {mode: report_of(result) for mode, result in found.items()}
    _print(arguments, SharingReport(sharing=reports), sharing_text)


def _nodes(arguments: argparse.Namespace, scenario: Scenario, sources: Sources) -> None:
    target, usual = share("--nodes-for", arguments.nodes_for), CapacitySize()
    size = CapacitySize(
        calls=usual.calls if arguments.calls is None else arguments.calls,
        first=min(usual.first, arguments.replications or usual.first),
        replications=arguments.replications or usual.replications,
        most=arguments.most,
    )
    found = {}
    for policy, _ in chosen_policies(scenario, tuple(arguments.policy or ())):

        def tried(row: TriedNodes, name: str = policy.name) -> None:
            _tell(0.0, f"{name}, {row.nodes} nodes: {row.verdict}")

        found[policy.name] = nodes_for(
            scenario,
            policy.name,
            target,
            sources,
            size=size,
            workers=arguments.workers,
            on_tried=tried,
        )
    ran = NodesSetting(calls=size.calls, seed=scenario.seed, name=scenario.name)
    report = NodesReport(target=target, most=size.most, policies=found, setting=ran)
    _print(arguments, report, nodes_text)


def _print(arguments: argparse.Namespace, report: D, text: Callable[[D], str]) -> None:
    print(json.dumps(report.to_json(), allow_nan=False) if arguments.json else text(report))


def _tell(fraction: float, text: str) -> None:
    if sys.stderr.isatty():
        end = "\n" if fraction >= 1 else ""
        print(f"\r{fraction:6.1%}  {text:<40}", end=end, file=sys.stderr, flush=True)
