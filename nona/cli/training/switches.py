"""``nona training switches`` and ``checkpoints``: what moves, failures and wrong claims cost."""

from __future__ import annotations

from nona.cli.output import emit
from nona.cli.progress import ProgressLine
from nona.cli.training.options import CheckpointOptions, SwitchesOptions
from nona.report.training.switches_text import checkpoint_text, switches_text
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.sweeps.numbers import with_value
from nona.study.training.checkpoints import checkpoint_report
from nona.study.training.switches import compare_switches


def switches(arguments: SwitchesOptions, scenario: Scenario, sources: Sources) -> None:
    """Runs with one switch at a time beside runs with none."""
    if arguments.seed is not None:
        scenario = with_value(scenario, "seed", arguments.seed)
    line = ProgressLine(quiet=arguments.json)
    report = compare_switches(
        scenario,
        sources,
        policies=arguments.policy,
        replications=arguments.replications,
        workers=arguments.workers,
        on_setting=line.tell if line.shown else None,
    )
    line.end()
    emit(arguments, report, switches_text)


def checkpoints(arguments: CheckpointOptions, scenario: Scenario, sources: Sources) -> None:
    """Intervals between checkpoints, compared."""
    emit(arguments, checkpoint_report(scenario, sources), checkpoint_text)
