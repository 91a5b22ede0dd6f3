"""``nona plan``: what to buy so that all targets are kept."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from nona.cli.output import emit, warn_of_hardware
from nona.cli.planning.options import PlanOptions
from nona.cli.progress import ProgressLine
from nona.errors import NonaError
from nona.foreign.files import read_file
from nona.foreign.limits import MOST_BUNDLE_BYTES
from nona.report.plan.text import plan_text
from nona.results.plan import PlanReport
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study import prepare
from nona.study.planning.plan import plan as plan_scenario
from nona.study.planning.progress import PlanProgress


def plan(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> None:
    """Find the cheapest option that keeps the targets, and print it or JSON.

    Whoever interrupts gets what is known so far.
    """
    scenario, sources = _asked(arguments, scenario, sources)
    warn_of_hardware(prepare(scenario, sources))
    line = ProgressLine(quiet=arguments.json)
    last: list[PlanReport] = []

    def on_table(report: PlanReport, progress: PlanProgress) -> None:
        last[:] = [report]
        line.tell(progress.text)

    try:
        report = plan_scenario(scenario, sources, workers=arguments.workers, on_table=on_table)
    except KeyboardInterrupt:
        if not last:
            raise
        report = last[0]
        print("\nwarning: interrupted; what follows is what was known by then", file=sys.stderr)
    line.end()
    emit(arguments, report, plan_text)


def _asked(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> tuple[Scenario, Sources]:
    """The scenario with what the command line says of its part ``plan``."""
    data: dict[str, object] = scenario.model_dump(mode="json")
    part: dict[str, object] = dict(scenario.plan.model_dump(mode="json")) if scenario.plan else {}
    if arguments.offer:
        part["offers"] = list(arguments.offer)
    if arguments.scheduler:
        part["schedulers"] = list(dict.fromkeys(arguments.scheduler))
    given: dict[str, object] = {
        "growth": arguments.growth,
        "confidence": arguments.confidence,
        "hit": arguments.hit,
        "most": arguments.most,
        "replications": arguments.replications,
    }
    part |= {key: value for key, value in given.items() if value is not None}
    if arguments.profile is not None:
        part["profile"] = arguments.profile.name
        content = _profile(arguments.profile)
        sources = replace(sources, held={**(sources.held or {}), arguments.profile.name: content})
    if arguments.seed is not None:
        data["seed"] = arguments.seed
    data["plan"] = part
    return scenario_from_mapping(data), sources


def _profile(path: Path) -> bytes:
    what = f"Profile {str(path)!r}"
    try:
        return read_file(path, what, MOST_BUNDLE_BYTES, NonaError)
    except FileNotFoundError as error:
        raise NonaError(f"{what}: {error.strerror}; check the path.") from None
