"""``nona training simulate``: every policy of a scenario on its training cluster."""

from __future__ import annotations

import sys

from nona.cli.output import emit
from nona.cli.progress import ProgressLine
from nona.cli.training.options import SimulateTrainingOptions, notes_of
from nona.experiments.progress import Shares
from nona.report.html.training import training_html
from nona.report.training.simulation_text import simulation_text
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.exports import check_places, write_text
from nona.study.outcome import about_scenario
from nona.study.provenance import now_text
from nona.study.sweeps.numbers import with_value
from nona.study.training.preparation import training_part
from nona.study.training.run import chosen_policies, report_of, simulate_training_scenario
from nona.training.engine.options import TrainingProgress


def simulate(arguments: SimulateTrainingOptions, scenario: Scenario, sources: Sources) -> None:
    """Run the policies in every replication; print a table or JSON, warnings on standard error."""
    check_places(arguments.html)
    if arguments.seed is not None:
        scenario = with_value(scenario, "seed", arguments.seed)
    training_part(scenario)
    count = arguments.replications or scenario.simulation.replications
    names = [policy.name for policy, _ in chosen_policies(scenario, arguments.policy)]
    shares = Shares(dict.fromkeys(((p, r) for p in range(len(names)) for r in range(count)), 1.0))
    line = ProgressLine(quiet=arguments.json)

    def told(progress: TrainingProgress) -> None:
        key = (names.index(progress.policy), progress.replication)
        text = f"{progress.policy}, replication {progress.replication + 1}"
        line.tell(text, shares.add(key, progress.fraction))

    result = simulate_training_scenario(
        scenario,
        sources,
        policies=arguments.policy,
        replications=count,
        workers=arguments.workers,
        ideal=not arguments.no_ideal,
        trace_rounds=0,
        on_progress=told if line.shown else None,
    )
    line.end()
    report = report_of(result)
    for name, policy in report.policies.items():
        for warning in policy.warnings:
            print(f"warning: {name}: {warning}", file=sys.stderr)
    for failed in report.failed_checks:
        print(f"warning: self-check failed: {failed}", file=sys.stderr)
    emit(arguments, report, simulation_text)
    if arguments.html is not None:
        about = about_scenario(scenario, scenario, now_text())
        write_text(arguments.html, training_html(about, report, notes_of(arguments)))
