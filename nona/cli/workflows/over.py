"""``nona serverless --over`` and ``nona sweep`` of a serverless scenario: policies over one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nona.cli.options import ListOptions, ServerlessOptions, SweepOptions
from nona.cli.output import emit
from nona.cli.progress import ProgressLine
from nona.errors import NonaError
from nona.report.serverless.over.text import over_numbers, over_text
from nona.report.sweeps.values import parse_values
from nona.report.table_files import csv_bytes
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.exports import check_places, write_bytes
from nona.study.serverless.over.run import OverProgress, policies_over
from nona.study.serverless.over.settings import LOADS, OverSettings, over_number
from nona.study.serverless.run import chosen_policies
from nona.study.sweeps.numbers import LOAD, with_value


@dataclass(frozen=True, slots=True)
class Asked:
    """What either command asks: names of policies may be empty, sizes ``None``."""

    key: str
    values: str | None
    policies: Sequence[str]
    calls: int | None
    replications: int | None
    target: float
    values_only: bool
    seed: int | None
    workers: int
    csv: Path | None


def serverless_over(arguments: ServerlessOptions, scenario: Scenario, sources: Sources, key: str) -> None:
    """``nona serverless SCENARIO --over KEY``.

    Raises
    ------
    NonaError
        With an option that belongs to another question.
    """
    others = {
        "--nodes-for": arguments.nodes_for,
        "--dag-schedulers": arguments.dag_schedulers,
        "--html": arguments.html,
        "--trace": arguments.trace,
        "--records": arguments.records,
    }
    for option, value in others.items():
        if value:
            raise NonaError(f"--over does not go with {option}; leave one of them out.")
    asked = Asked(
        key=key,
        values=arguments.values,
        policies=arguments.policy,
        calls=arguments.calls,
        replications=arguments.replications,
        target=arguments.target,
        values_only=arguments.values_only,
        seed=arguments.seed,
        workers=arguments.workers,
        csv=arguments.csv,
    )
    run_over(arguments, asked, scenario, sources)


def sweep_serverless(arguments: SweepOptions, scenario: Scenario, sources: Sources) -> None:
    """``nona sweep`` of a serverless scenario: its policies, by the same code.

    Raises
    ------
    NonaError
        With two numbers, which are not swept here.
    """
    if arguments.second is not None or arguments.second_values is not None:
        raise NonaError(
            "nona sweep: a serverless scenario is swept over one number; "
            "leave out --second and --second-values."
        )
    asked = Asked(
        key=arguments.key,
        values=arguments.values,
        policies=arguments.scheduler,
        calls=arguments.jobs,
        replications=arguments.replications,
        target=arguments.target,
        values_only=arguments.values_only,
        seed=arguments.seed,
        workers=arguments.workers,
        csv=arguments.csv,
    )
    run_over(arguments, asked, scenario, sources)


def run_over(arguments: ListOptions, asked: Asked, scenario: Scenario, sources: Sources) -> None:
    """Run, print, then write the file."""
    check_places(asked.csv)
    if asked.seed is not None:
        scenario = with_value(scenario, "seed", asked.seed)
    line = ProgressLine(quiet=arguments.json)

    def told(progress: OverProgress) -> None:
        line.tell(progress.text, progress.fraction)

    settings = _settings(asked, scenario)
    report = policies_over(scenario, settings, sources, workers=asked.workers, on_progress=told)
    line.end()
    emit(arguments, report, over_text)
    if asked.csv:
        write_bytes(asked.csv, csv_bytes(pd.DataFrame(over_numbers(report))))


def _settings(asked: Asked, scenario: Scenario) -> OverSettings:
    number = over_number(scenario, asked.key)
    if asked.values is None and asked.key != LOAD:
        raise NonaError(f"--over {asked.key}: --values is missing; only load has values of its own.")
    values = LOADS if asked.values is None else parse_values(asked.values, number.unit)
    names = tuple(policy.name for policy, _ in chosen_policies(scenario, asked.policies))
    usual = OverSettings(number, values, names)
    first = usual.first if asked.replications is None else asked.replications
    return OverSettings(
        number=number,
        values=values,
        policies=names,
        calls=usual.calls if asked.calls is None else asked.calls,
        first=first,
        most=max(usual.most, first) if asked.replications is None else 2 * first,
        target=asked.target,
        knees=not asked.values_only,
        extend=asked.values is None and not asked.values_only,
    )
