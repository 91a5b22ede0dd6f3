"""What a scenario, or an option of its plan, stands for before it is written: verdict and headroom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from nona.core.errors import DeploymentError
from nona.deployment.writing import Standing
from nona.planning.holds import holds
from nona.planning.plan import plan
from nona.planning.question import opened
from nona.planning.report_plan import servers_text
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario

T = TypeVar("T")
KEEPS = "keeps"
ENOUGH = 0.99


def standing_of(scenario: Scenario, sources: Sources, option: int | None, anyway: bool) -> Standing:
    """Return what is written, with its verdict.

    ``option``: of the scenario's plan, counted from 1 in the order of its report; ``None``: the cluster as it
    is. ``anyway``: write it whatever the verdict; a cluster as it is is then not simulated.

    Raises ``DeploymentError`` where the verdict is not "keeps", unless ``anyway``.
    """
    standing = _present(scenario, sources, anyway) if option is None else _option(scenario, sources, option)
    if not anyway and not standing.verdict.startswith(KEEPS):
        raise DeploymentError(
            f"Scenario {scenario.name!r}{f', option {option}' if option else ''}: the verdict is "
            f"{standing.verdict!r}, and what does not keep its targets is not written; change it, or add "
            "--anyway."
        )
    return standing


def _present(scenario: Scenario, sources: Sources, anyway: bool) -> Standing:
    if anyway:
        return Standing(scenario, "not asked for")
    if scenario.workload:
        if all(row.slo is None for row in scenario.workload) and not (
            scenario.plan and scenario.plan.targets
        ):
            raise _without_slo(scenario)
        report = holds(scenario, sources)
        return Standing(
            scenario, f"{report.option.verdict} ({report.option.reason})", headroom=report.headroom
        )
    return _language(scenario, sources)


def _without_slo(scenario: Scenario) -> DeploymentError:
    return DeploymentError(
        f"Scenario {scenario.name!r}: no row has an SLO to keep; give one, or add --anyway."
    )


def _language(scenario: Scenario, sources: Sources) -> Standing:
    """Judge requests to language models under the scenario's first router."""
    from nona.language.workflows.engines import prepare_language  # compiled code, only where it is needed
    from nona.language.workflows.simulation import simulate_language

    report = simulate_language(prepare_language(scenario, sources)).report
    name, result = next(iter(report.schedulers.items()))
    missed = [
        f"{label} hits {100 * (row.slo_hit_rate or 0):.3g} %"
        for label, row in result.models.items()
        if row.slo_hit_rate is not None and row.slo_hit_rate < ENOUGH
    ]
    judged = [label for label, row in result.models.items() if row.slo_hit_rate is not None]
    if not judged:
        raise _without_slo(scenario)
    verdict = f"misses ({'; '.join(missed)} under {name})" if missed or result.state != "stable" else ""
    return Standing(
        scenario, verdict or f"{KEEPS} (each row hits {100 * ENOUGH:g} % under {name}, simulated)"
    )


def _option(scenario: Scenario, sources: Sources, number: int) -> Standing:
    """Judge an option of the plan."""
    if scenario.plan is None:
        raise DeploymentError(
            f"--option {number}: the scenario has no part plan; add plan: {{}}, or leave it out."
        )
    if scenario.language and not scenario.workload:
        return _language_option(scenario, sources, number)
    option = _numbered(plan(scenario, sources).options, number)
    text = f"{number}: {servers_text(option.servers)}, {option.scheduler_text}"
    return Standing(opened(scenario, option), f"{option.verdict} ({option.reason})", text, option.headroom)


def _numbered(options: Sequence[T], number: int) -> T:
    if not 1 <= number <= len(options):
        raise DeploymentError(f"--option {number}: the plan has {len(options)} options; choose one of them.")
    return options[number - 1]


def _language_option(scenario: Scenario, sources: Sources, number: int) -> Standing:
    from nona.language.workflows.plan import opened_option, plan_language

    option = _numbered(plan_language(scenario, sources).options, number)
    text = f"{number}: {option.servers} × {option.gpus} {option.gpu}, {option.router}"
    return Standing(opened_option(scenario, option), option.verdict, text, option.headroom)
