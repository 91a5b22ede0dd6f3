"""Every policy under every alternative to a default, on the same calls as with the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nona.options import Options
from nona.results.serverless.study import AlternativeCells, Cell, Sensitivity
from nona.scenario.schema import Scenario
from nona.serverless.engine.run import RunOptions
from nona.study.serverless.cells import cell
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.sensitivity.alternatives import Alternative
from nona.study.serverless.tasks import Task, TaskPool, run_tasks
from nona.study.serverless.warmup import warmup_calls

Place = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class SensitivitySize:
    """Policies in order, calls and replications of a run."""

    policies: tuple[str, ...]
    calls: int
    replications: int


def sensitivity(
    scenarios: Mapping[str, Scenario],
    rows: Sequence[Alternative],
    size: SensitivitySize,
    pool: TaskPool,
    tell: Callable[[float], None],
) -> Sensitivity:
    """The study's cells with the defaults, and with each alternative, in every scenario."""
    tasks, places = [], []
    slo_s: dict[str, list[float]] = {}
    for name, scenario in scenarios.items():
        slo_s[name] = [app.slo_s for app in prepare_serverless(scenario).applications]
        for number, row in enumerate([None, *rows]):
            changed = scenario if row is None else row.applied(scenario)
            options = {} if row is None else row.options
            who = _who(row, size.policies)
            run = _short(changed, size.calls, [(policy, options) for policy in who])
            for policy in who:
                tasks.append(Task(changed, policy, options, run, size.replications))
                places.append((name, number, policy))
    done = dict(zip(places, run_tasks(tasks, pool, tell), strict=True))
    cells: dict[Place, Cell] = {at: cell(d, slo_s[at[0]]) for at, d in done.items()}

    def of(name: str, number: int) -> dict[str, Cell]:
        return {p: cells[at] for p in size.policies if (at := (name, number, p)) in cells}

    return Sensitivity(
        calls=size.calls,
        replications=size.replications,
        default={name: of(name, 0) for name in scenarios},
        rows=tuple(
            AlternativeCells(
                key=row.key,
                default=row.default,
                other=row.other,
                settings={name: of(name, number) for name in scenarios},
            )
            for number, row in enumerate(rows, 1)
        ),
    )


def _short(scenario: Scenario, calls: int, policies: Sequence[tuple[str, Options]]) -> RunOptions:
    """A run whose warm-up covers the cold starts, and the instances, that it may begin without."""
    system = prepare_serverless(scenario)
    return RunOptions(calls=calls, warmup=warmup_calls(scenario, system, calls, policies))


def _who(row: Alternative | None, policies: Sequence[str]) -> Sequence[str]:
    """The policies that an alternative changes: that of its option, else all."""
    return policies if row is None or not row.policy else (row.policy,)
