"""The evaluation of the paper on Nona: sweeps to the edges of stability and beyond.

For placements that are fixed the mean completion time is known for every load, however near to the edge:
T(b) = compute + transfer + visits · W_c + messages · W_n(b), W_n(b) = M(b) / (2(1 − ρ(b))). So the load b at
which T reaches ``claim`` times that of nona follows by bisection. The queue of the link forgets where it
began within about the relaxation time 4 W_n / (1 − ρ): that of a Brownian motion with drift −(1 − ρ)
and variance M, reflected at 0, which is 2M/(1 − ρ)². A run must be many times as long to see the mean.

Source of the relaxation time: Abate and Whitt, Transient behavior of regulated Brownian motion, I,
Advances in Applied Probability 19, 1987 (recollected; derived in ``evidence/notebook/paper-evaluation.md``).

In an overloaded system the queue grows as long as jobs come, so the mean completion time of the first n
jobs grows with n: about in proportion, as each waits for what the bottleneck was given too much before
it. Any ratio can be had from a run that is long enough, unless the scheduler reacts to the congestion.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evidence.prediction_map import with_background
from evidence.provenance import OnProgress, check_least, origin, rounded_result
from evidence.results import Growth, Overload, OverloadRun, PaperStudy, Reach
from nona.core.experiments import do_nothing
from nona.queries.placement.fixed import idle_presets, place_fixed, spread_placement
from nona.queries.placement.prediction import predict
from nona.queries.placement.result import SubGraphPlacement
from nona.queries.placement.results import Prediction
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.queries.simulation.records import Records
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.sweeps.numbers import COMPUTE, LINK, with_value
from nona.queries.sweeps.results import SweepReport, SweepRequest
from nona.queries.sweeps.run import sweep
from nona.queries.sweeps.sweep_points import REFERENCE
from nona.queries.system import System
from nona.queries.workflows.placements import place
from nona.queries.workflows.preparation import PreparedSystem, prepare
from nona.queries.workflows.shipped import choice
from nona.queries.workflows.simulation import chosen_schedulers
from nona.scenario.file import load_scenario
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_path
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec

Queries = Sequence[Sequence[SubGraphPlacement]]
_HALVINGS = 45
_MOST = 0.999


def _expert(study: PreparedSystem) -> Queries:
    system = study.system
    chosen = zip(system.queries, idle_presets(system), strict=True)
    return [place_fixed(system, query, preset) for query, preset in chosen]


FIXED: Mapping[str, Callable[[PreparedSystem], Queries]] = {
    "spread": lambda study: spread_placement(study.system).queries,
    "expert": _expert,
}


def reach(scenario: Scenario, sources: Sources, claim: float) -> list[Reach]:
    """For each of :data:`FIXED`: the link background at which the formula's ratio to nona is ``claim``.

    nona's placement is the one solved at the edge, held while the load is looked for.
    """
    names = {s.name for s in scenario.schedulers}
    return [_reach(scenario, sources, claim, name) for name in FIXED if name in names]


def _reach(scenario: Scenario, sources: Sources, claim: float, name: str) -> Reach:
    start = prepare(with_value(scenario, LINK, 0.0), sources)
    queries = FIXED[name](start)
    edge = 1.0 - predict(start.system, queries).network_utilization
    solved = place(prepare(with_value(scenario, LINK, min(edge, _MOST)), sources)).queries

    def both(room: float) -> tuple[Prediction, Prediction]:
        system = with_background(start.system, edge - room)
        return predict(system, queries), predict(system, solved)

    low, high = 1e-13, edge  # of the room left below the edge; halved by ratio, as it spans decades
    for _ in range(_HALVINGS):
        room = math.sqrt(low * high)
        theirs, ours = both(room)
        low, high = (room, high) if theirs.mean_s >= claim * ours.mean_s else (low, room)
    theirs, ours = both(low)
    spare = 1.0 - theirs.network_utilization
    wait_s = math.inf if theirs.network_wait_s is None else theirs.network_wait_s
    relaxation_s = 4.0 * wait_s / spare
    rate = sum(q.rate for q in start.system.queries)
    return Reach(
        scheduler=name,
        edge=edge,
        at=edge - low,
        room=low,
        ratio=theirs.mean_s / ours.mean_s,
        jct_s=theirs.mean_s,
        nona_jct_s=ours.mean_s,
        link_wait_s=wait_s,
        relaxation_s=relaxation_s,
        jobs=relaxation_s * rate,
    )


OVERLOAD = 0.95  # of the link, taken by others: beyond the edge of every scheduler that spreads
MOST_PICKED = 30_000  # jobs: a scheduler that picks searches all that waits, which here grows and grows


def growth(
    scenario: Scenario,
    sources: Sources,
    lengths: Sequence[int],
    claim: float,
    engine: str = "auto",
    on_share: Callable[[float], None] = do_nothing,
) -> list[Growth]:
    """One run from an idle cluster, without warm-up, of each of ``lengths`` jobs, for each scheduler.

    Jobs that were not complete when a run was cut off count with their age. Lengths go up until the ratio
    reaches ``claim``. Schedulers that are stable have none.
    """
    study = prepare(scenario, sources)
    placement = place(study)
    chosen = chosen_schedulers(study, placement)
    nona = next(pair for pair in chosen if pair[0].name == REFERENCE)
    beside: dict[int, float] = {}
    rows = []
    for done, (scheduler, prepared) in enumerate(chosen, 1):
        runs: list[OverloadRun] = []
        state = "stable"
        for jobs in lengths if scheduler.name != REFERENCE else ():
            if scheduler.picks and jobs > MOST_PICKED:
                break
            if jobs not in beside:
                beside[jobs] = _mean(_run(study.system, nona, jobs, engine))
            records = _run(study.system, (scheduler, prepared), jobs, engine)
            state = records.state
            if state != "overloaded":
                break
            runs.append(_row(records, beside[jobs]))
            on_share((done - 1 + len(runs) / (len(lengths) + 1)) / len(chosen))
            if runs[-1].ratio >= claim:
                break
        if state == "overloaded":
            rows.append(Growth(scheduler=scheduler.name, kind=scheduler.kind, runs=tuple(runs)))
        on_share(done / len(chosen))
    return rows


def _run(system: System, chosen: tuple[Scheduler, SchedulerTables], jobs: int, engine: str) -> Records:
    return simulate_run(system, *chosen, RunOptions(jobs=jobs, warmup=0, engine=engine))


def _mean(records: Records) -> float:
    """Mean JCT (s); jobs that were not complete at the end of the run count with their age at that time.

    The cut is after the last completion that was seen, so that this is a lower bound.
    """
    end = np.nanmax(records.completion_s)
    times = np.where(np.isnan(records.completion_s), end, records.completion_s) - records.arrival_s
    return float(np.maximum(times, 0.0).mean())


def _row(records: Records, nona_s: float) -> OverloadRun:
    mean = _mean(records)
    return OverloadRun(
        jobs=records.jobs,
        length_s=records.window_s[1] - records.window_s[0],
        jct_s=mean,
        unfinished=int(records.jobs - records.tally.completed.sum()),
        ratio=mean / nona_s,
        offered_link=records.offered[1],
    )


SCENARIO = "five_models_80_servers"
ROUND_S = 0.1  # schedulers that decide in rounds: of the usual second there would be one or two in a run
CLAIM = 350.0  # "outperforms state-of-the-art schedulers by up to 350x", abstract of the paper
SWEEPS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "traffic": (LINK, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)),
    "compute": (COMPUTE, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.79, 0.82)),
}
# How far the work is when each part begins, measured on one core.
_BEGIN = {"traffic": 0.0, "compute": 0.45, "overload": 0.85}


@dataclass(frozen=True, slots=True)
class PaperSettings:
    """Size of the study: ``replications`` runs of ``jobs`` at each point.

    ``lengths``: jobs of the runs in overload. ``values`` replaces the swept values of a sweep by name,
    for a quick look. ``seed``: the scenario's where it is ``None``.
    """

    jobs: int = choice(6000, "jobs measured per run", least=1)
    replications: int = choice(8, "independent runs of each point", least=1)
    seed: int | None = choice(None, "overrides the scenario's seed")
    lengths: tuple[int, ...] = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    values: Mapping[str, tuple[float, ...]] | None = None

    def __post_init__(self) -> None:
        check_least(self)


def paper_scenario(seed: int | None = None) -> Scenario:
    """The shipped scenario of the paper's workload, with all schedulers, and another seed if one is given."""
    scenario = load_scenario(scenario_path(SCENARIO))
    own = {spec.name for spec in scenario.schedulers}
    others = (_requested(name) for name in scheduler_names() if name not in own)
    scenario = scenario.model_copy(update={"schedulers": (*scenario.schedulers, *others)})
    return scenario if seed is None else with_value(scenario, "seed", seed)


def _requested(name: str) -> NamedSpec:
    in_rounds = get_scheduler(name).kind == "allocate"
    return NamedSpec(name=name, options={"round_s": ROUND_S} if in_rounds else {})


def paper_study(
    settings: PaperSettings | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    on_progress: OnProgress = do_nothing,
) -> PaperStudy:
    """Run the study."""
    size, begin = settings or PaperSettings(), time.perf_counter()
    scenario, sources = paper_scenario(size.seed), Sources(scenario_path(SCENARIO).parent)
    sweeps: dict[str, SweepReport] = {}
    for name in SWEEPS:

        def on_share(fraction: float, text: str, report: object, name: str = name) -> None:
            on_progress(_BEGIN[name] + _span(name) * fraction * 0.999, f"background {name}, {text}")

        asked = _sweep(scenario, size, name)
        sweeps[name] = sweep(scenario, asked, sources, on_share, engine=engine, workers=workers)
    beyond = with_value(scenario, LINK, OVERLOAD)

    def tell_overload(share: float) -> None:
        on_progress(_BEGIN["overload"] + _span("overload") * share * 0.999, "overload")

    rows = growth(beyond, sources, size.lengths, CLAIM, engine, tell_overload)
    data = PaperStudy(
        scenario=SCENARIO,
        **origin("paper", size),
        seed=scenario.seed,
        jobs=size.jobs,
        replications=size.replications,
        claim=CLAIM,
        sweeps=sweeps,
        reach=tuple(reach(scenario, sources, CLAIM)),
        overload=Overload(key=LINK, value=OVERLOAD, schedulers=tuple(rows)),
        seconds=time.perf_counter() - begin,
    )
    on_progress(1.0, "done")
    return rounded_result(data)


def _span(part: str) -> float:
    later = [b for b in (*_BEGIN.values(), 1.0) if b > _BEGIN[part]]
    return min(later) - _BEGIN[part]


def _sweep(scenario: Scenario, settings: PaperSettings, name: str) -> SweepRequest:
    key, values = SWEEPS[name]
    return SweepRequest(
        number=key,
        values=(settings.values or {}).get(name, values),
        schedulers=tuple(s.name for s in scenario.schedulers),
        jobs=settings.jobs,
        replications=settings.replications,
    )
