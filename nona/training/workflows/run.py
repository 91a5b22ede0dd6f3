"""A training scenario simulated, and compared: one more GPU, switches, checkpoints."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from nona.allocation.problem import AllocationPolicy
from nona.allocation.registry import get_policy
from nona.cluster.prices import prices_of
from nona.core.arrays import Floats
from nona.core.checks import passed_and_failed
from nona.core.document import About, Estimate
from nona.core.errors import ScenarioError, SimulationError
from nona.core.options import Options
from nona.core.random_streams import RandomStreams
from nona.core.statistics import mean_interval, paired_difference
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.scenario.training import FailuresSpec, TrainingSpec
from nona.training import checkpoints
from nona.training import results as result_training
from nona.training.metrics import level_with_shortest, pooled_outcome
from nona.training.replications import TrainingRun, run_policies
from nona.training.report.traces import policy_trace
from nona.training.rounds import OnProgress, RoundOptions, TrainingProgress
from nona.training.system import TrainingSystem
from nona.training.workflows.preparation import prepare_training, training_part

_NO_SOURCES = Sources()
TRACE_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """The report, the first replication's system, and the runs of each policy."""

    report: result_training.TrainingReport
    system: TrainingSystem
    runs: Mapping[str, tuple[TrainingRun, ...]]


def simulate_training_scenario(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    policies: Sequence[str] = (),
    replications: int | None = None,
    workers: int = 1,
    ideal: bool = True,
    trace_rounds: int = TRACE_ROUNDS,
    on_progress: OnProgress | None = None,
) -> TrainingResult:
    """Run every policy in every replication; all policies see the same jobs and random numbers.

    Parameters
    ----------
    scenario : Scenario
        A scenario with the part ``training``.
    sources : Sources, optional
        Where its files are; by default the shipped samples only.
    policies : sequence of str, optional
        By default the scenario's policies. Options are those of the scenario's entry of that name.
    replications : int, optional
        By default ``simulation.replications``.
    workers : int, default 1
        Processes; results do not depend on their number.
    ideal : bool, default True
        Compute the fluid bound too.
    trace_rounds : int, optional
        Rounds of the first replication whose priorities are kept.
    on_progress : callable, optional
        Gets the progress of each run; it may raise ``Cancelled``.

    Returns
    -------
    TrainingResult
        The report, the first replication's system, and the runs of each policy.

    Raises
    ------
    NonaError
        If the scenario has no training part, or a policy or option is not known.
    """
    begin = time.perf_counter()
    spec = training_part(scenario)
    count = scenario.simulation.replications if replications is None else replications
    systems = tuple(prepare_training(scenario, sources, r) for r in range(max(1, count)))
    chosen = chosen_policies(scenario, policies)
    run = RoundOptions(trace_rounds=trace_rounds)
    runs = run_policies(systems, chosen, run, ideal=ideal, workers=workers, on_progress=on_progress)
    passed, failed = passed_and_failed({n: [c for run in own for c in run.checks] for n, own in runs.items()})
    report = result_training.TrainingReport(
        policies={name: pooled_outcome([run.outcome for run in own]) for name, own in runs.items()},
        checks=passed,
        failed_checks=failed,
        seconds=time.perf_counter() - begin,
        setting=_setting(scenario, systems, chosen, spec.throughputs),
        level=level_with_shortest(runs),
    )
    return TrainingResult(report, systems[0], runs)


def _setting(
    scenario: Scenario,
    systems: Sequence[TrainingSystem],
    policies: Sequence[tuple[AllocationPolicy, Options]],
    throughputs: str,
) -> result_training.TrainingSetting:
    system = systems[0]
    return result_training.TrainingSetting.from_fields(
        system,
        name=scenario.name,
        jobs=len(system.jobs),
        measured=system.window,
        replications=len(systems),
        seed=scenario.seed,
        gpus=dict(system.cluster.gpus),
        throughputs=throughputs,
        options={p.name: {**p.defaults, **options} for p, options in policies},
        notes=tuple(system.notes),
    )


def chosen_policies(scenario: Scenario, names: Sequence[str] = ()) -> list[tuple[AllocationPolicy, Options]]:
    """Return the policies called ``names`` (none: the scenario's), each with the scenario's options for it.

    Where the scenario shares space, so does every policy that can and whose options do not say otherwise.
    """
    spec = training_part(scenario)
    own = {entry.name: entry.options for entry in spec.policies}
    chosen: list[tuple[AllocationPolicy, Options]] = []
    for name in dict.fromkeys(names or own):
        policy, options = get_policy(name), dict(own.get(name, {}))
        if spec.space_sharing and policy.space_sharing and "space_sharing" in policy.defaults:
            options.setdefault("space_sharing", True)
        chosen.append((policy, options))
    return chosen


def outcome_of(result: TrainingResult, about: About) -> result_training.TrainingOutcome:
    """Return the report with its provenance, and the first replication of each policy."""
    system = result.system
    return result_training.TrainingOutcome(
        about=about,
        report=result.report,
        job_names=tuple(job.name for job in system.jobs),
        types=dict(system.cluster.gpus),
        traces={n: policy_trace(system, r) for n, (first, *_) in result.runs.items() if (r := first.records)},
    )


OnGpuProgress = Callable[[float, str], None]


def one_more_gpu(
    scenario: Scenario, policy: str, sources: Sources = _NO_SOURCES, on_progress: OnGpuProgress | None = None
) -> result_training.OneMoreReport:
    """Simulate ``policy`` on the scenario's cluster, and with a server of one more GPU of each type.

    All runs have the same jobs and random numbers. ``on_progress`` gets the share that is done and the
    type of GPU, and may raise :class:`~nona.queries.simulation.run.Cancelled`.
    """
    if scenario.training is None:
        raise SimulationError("Scenario: it has no key 'training'; add one.")
    groups = scenario.cluster.servers
    types = sorted({g.gpu for g in groups})
    prices = prices_of(types, scenario.training.prices)
    rows = []
    for number, gpu in enumerate(["", *types]):

        def on_run_progress(progress: TrainingProgress, number: int = number, gpu: str = gpu) -> None:
            if on_progress is not None:
                done = (progress.replication + progress.fraction) / scenario.simulation.replications
                on_progress((number + min(1.0, done)) / (len(types) + 1), gpu)

        larger = with_one_more(scenario, gpu) if gpu else scenario
        report = simulate_training_scenario(
            larger, sources, policies=(policy,), on_progress=on_run_progress
        ).report
        rows.append(_row(gpu, prices.get(gpu), report.policies[policy]))
    gpus = {t: sum(g.count * g.gpus for g in groups if g.gpu == t) for t in types}
    return result_training.OneMoreReport(
        policy=policy, gpus=gpus, base=rows[0], rows=tuple(rows[1:]), modelled=report.setting.modelled
    )


def with_one_more(scenario: Scenario, gpu: str) -> Scenario:
    """Return the scenario with one more server of one GPU of that type, in its first region."""
    cluster, training = scenario.cluster, scenario.training
    servers = (*cluster.servers, ServerGroupSpec(count=1, gpu=gpu))
    update: dict[str, object] = {"cluster": cluster.model_copy(update={"servers": servers})}
    if training is not None and training.regions is not None:
        regions = training.regions
        has = {
            name: any(cluster.servers[n].gpu == gpu for n in numbers)
            for name, numbers in regions.groups.items()
        }
        home = max(has, key=lambda name: has[name])  # the first of them
        groups = {**regions.groups, home: (*regions.groups[home], len(cluster.servers))}
        in_regions = regions.model_copy(update={"groups": groups})
        update["training"] = training.model_copy(update={"regions": in_regions})
    return scenario.model_copy(update=update)


def _row(
    gpu: str, price_hour: float | None, p: result_training.TrainingPolicyResult
) -> result_training.OneMoreRow:
    return result_training.OneMoreRow(
        gpu=gpu,
        price_hour=price_hour,
        mean_jct_s=p.jct_s.mean,
        ci95=p.jct_s.ci95,
        makespan_s=p.makespan_s,
        worst_rho=p.rho.worst,
        cost_usd=p.cost_usd,
    )


OFF = "off"
NONE: Mapping[str, None] = dict.fromkeys(("estimator", "estimates", "moves", "failures", "regions"))
INTERVALS = {"young": "Young's interval", "daly": "Daly's interval", "best": "the best simulated interval"}


def _settings_of(spec: TrainingSpec) -> Iterator[tuple[str, TrainingSpec]]:
    """All off; then each switch that is on by itself, with and without what mends it.

    >>> from nona.scenario.training import MovesSpec
    >>> spec = TrainingSpec(generate={}, moves=MovesSpec())
    >>> [name for name, _ in _settings_of(spec)]
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
) -> result_training.SwitchesReport:
    """Simulate every setting with the same jobs and random numbers."""
    begin, settings = time.perf_counter(), list(_settings_of(training_part(scenario)))
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
    return result_training.SwitchesReport(
        scenario=scenario.name,
        replications=results[OFF].report.setting.replications,
        rows=tuple(
            row for name, result in results.items() for row in _switch_rows(name, result, results[OFF])
        ),
        failed_checks=tuple(f"{n}: {line}" for n, r in results.items() for line in r.report.failed_checks),
        seconds=time.perf_counter() - begin,
    )


def _switch_rows(
    setting: str, result: TrainingResult, off: TrainingResult
) -> Iterator[result_training.SwitchRow]:
    for policy, outcome in result.report.policies.items():
        with_it, without = (
            [np.nan if (mean := run.outcome.jct_s.mean) is None else mean for run in of.runs[policy]]
            for of in (result, off)
        )
        yield result_training.SwitchRow(
            setting=setting,
            policy=policy,
            jct_s=Estimate(mean=outcome.jct_s.mean, ci95=outcome.jct_s.ci95),
            added_s=paired_difference(with_it, without).difference.estimate,
            moves=outcome.moves,
            lost_steps_share=outcome.lost_steps_share,
            findings=outcome.extensions,
        )


FAILURES, REPLICATIONS = 20_000, 10


def checkpoint_report(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    failures: int = FAILURES,
    replications: int = REPLICATIONS,
) -> result_training.CheckpointReport:
    """Compare intervals over the same failures, for every number of nodes that jobs need."""
    spec = training_part(scenario).failures
    if spec is None or spec.checkpoint == 0:
        raise ScenarioError(
            ["training: failures with a checkpoint above 0 s are missing; add 'failures: {mtbf: 24 h}'."]
        )
    system = prepare_training(scenario, sources)
    gaps = checkpoints.failure_gaps(RandomStreams(scenario.seed), failures, replications)
    rows = [
        row
        for nodes, jobs in sorted(_nodes(system).items())
        for row in _checkpoint_rows(spec, nodes, jobs, gaps)
    ]
    return result_training.CheckpointReport(
        scenario=scenario.name,
        mtbf_s=spec.mtbf,
        checkpoint_s=spec.checkpoint,
        restart_s=spec.restart,
        failures=failures,
        replications=replications,
        rows=tuple(rows),
    )


def _nodes(system: TrainingSystem) -> Counter[int]:
    """Fewest nodes that training jobs need → how many jobs."""
    most = max(group.gpus for group in system.cluster.groups)
    return Counter(ceil(job.workers / most) for job in system.jobs if job.kind == "training")


def _checkpoint_rows(
    spec: FailuresSpec, nodes: int, jobs: int, gaps: Floats
) -> list[result_training.IntervalRow]:
    c, m, r = spec.checkpoint, spec.mtbf / nodes, spec.restart
    intervals = {
        "Young": checkpoints.young_s(c, m),
        "Daly": checkpoints.daly_s(c, m),
        "least of the formula": checkpoints.exact_s(c, m),
        "best simulated": checkpoints.best_interval(c, m, r, gaps),
    }
    if not isinstance(spec.interval, str):
        intervals["as given"] = spec.interval
    return [
        result_training.IntervalRow(
            nodes=nodes,
            jobs=jobs,
            mtbf_s=m,
            method=method,
            interval_s=tau,
            formula=checkpoints.wall_per_work(tau, c, m, r),
            simulated=mean_interval(checkpoints.simulated_wall(tau, c, m, r, gaps)).estimate,
        )
        for method, tau in intervals.items()
    ]
