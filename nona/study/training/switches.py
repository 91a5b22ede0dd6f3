"""What each switch of a scenario costs: runs with one switch at a time, beside runs with none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from nona.errors import ScenarioError
from nona.report.means import mean_of
from nona.results.training.switches import SwitchesReport, SwitchRow
from nona.scenario.schema import Scenario
from nona.scenario.training import TrainingSpec
from nona.simulation.statistics.paired import paired_difference
from nona.sources.lookup import Sources
from nona.study.training.preparation import training_part
from nona.study.training.run import TrainingResult, report_of, simulate_training_scenario

_NO_SOURCES = Sources()
OFF = "off"
NONE: Mapping[str, None] = dict.fromkeys(("estimator", "estimates", "moves", "failures", "regions"))
INTERVALS = {"young": "Young's interval", "daly": "Daly's interval", "best": "the best simulated interval"}


def settings_of(spec: TrainingSpec) -> Iterator[tuple[str, TrainingSpec]]:
    """All off; then each switch that is on by itself, with and without what mends it.

    >>> from nona.scenario.training_extensions import MovesSpec
    >>> spec = TrainingSpec(generate={}, moves=MovesSpec())
    >>> [name for name, _ in settings_of(spec)]
    ['off', 'moves', 'moves, charged']
    """
    off = spec.model_copy(update=NONE)
    yield OFF, off
    if spec.estimates is not None:
        for name, correct in (("claims, not corrected", False), ("claims, corrected", True)):
            yield (
                name,
                off.model_copy(update={"estimates": spec.estimates.model_copy(update={"correct": correct})}),
            )
    if spec.moves is not None:
        for name, charge in (("moves", False), ("moves, charged", True)):
            yield name, off.model_copy(update={"moves": spec.moves.model_copy(update={"charge": charge})})
    if spec.failures is not None:
        given = () if spec.failures.interval in INTERVALS else ((spec.failures.interval, "as given"),)
        for interval, name in (*INTERVALS.items(), *given):
            failures = spec.failures.model_copy(update={"interval": interval})
            yield f"failures, {name}", off.model_copy(update={"failures": failures})
    if spec.regions is not None:
        for name, move in (("regions, jobs stay", False), ("regions, jobs move", True)):
            yield name, off.model_copy(update={"regions": spec.regions.model_copy(update={"move": move})})
    if spec.estimator is not None:
        yield "estimated pairs", off.model_copy(update={"estimator": spec.estimator})


def compare_switches(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    policies: Sequence[str] = (),
    replications: int | None = None,
    workers: int = 1,
    on_setting: Callable[[str, float], None] | None = None,
) -> SwitchesReport:
    """Simulate every setting with the same jobs and random numbers.

    Raises
    ------
    NonaError
        When no switch is on, or the scenario cannot be run.
    """
    begin, settings = time.perf_counter(), list(settings_of(training_part(scenario)))
    if len(settings) == 1:
        raise ScenarioError(
            [f"training: none of {', '.join(NONE)} is set; add for example 'failures: {{mtbf: 24 h}}'."]
        )
    results: dict[str, TrainingResult] = {}
    for number, (name, spec) in enumerate(settings):
        if on_setting is not None:
            on_setting(name, number / len(settings))
        results[name] = simulate_training_scenario(
            scenario.model_copy(update={"training": spec}),
            sources,
            policies=policies,
            replications=replications,
            workers=workers,
            ideal=False,
            trace_rounds=0,
        )
    reports = {name: report_of(result) for name, result in results.items()}
    return SwitchesReport(
        scenario=scenario.name,
        replications=results[OFF].setting.replications,
        rows=tuple(row for name, result in results.items() for row in _rows(name, result, results[OFF])),
        failed_checks=tuple(f"{n}: {line}" for n, r in reports.items() for line in r.failed_checks),
        seconds=time.perf_counter() - begin,
    )


def _rows(setting: str, result: TrainingResult, off: TrainingResult) -> Iterator[SwitchRow]:
    for policy, summary in result.summaries.items():
        with_it = [run.mean_jct_s for run in summary.runs]
        without = [run.mean_jct_s for run in off.summaries[policy].runs]
        lost = summary.mean(lambda run: run.lost_share)
        yield SwitchRow(
            setting=setting,
            policy=policy,
            jct_s=mean_of(summary.jct_s),
            added_s=mean_of(paired_difference(with_it, without).difference),
            moves=summary.mean(lambda run: run.moves),
            lost_steps_share=lost,
            findings=result.findings.get(policy),
        )
