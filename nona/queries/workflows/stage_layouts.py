"""Layouts of the stages of a row: which of them share GPUs and which have their own, compared by simulation.

A layout is a partition of the stages into sets, and of the GPUs over the sets: every stage of a set has
instances on every GPU of the set. GPUs go to the sets one by one, each to the one that is busiest (Adams'
method of apportionment, by which the busiest set is the least busy). Few stages have few partitions: all
are simulated in a short run, the best of these and those with a name in whole ones, with the same jobs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nona.cluster.hardware.mig import layout_words
from nona.core.document import UNKNOWN, Estimate
from nona.core.errors import NonaError
from nona.core.experiments import do_nothing
from nona.core.statistics import level_with
from nona.queries.placement.results import ComparedLayout, LayoutComparison, SharedGpus
from nona.queries.simulation.summary import MeasuredJobs
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.preparation import PreparedSystem, prepare
from nona.queries.workflows.simulation import simulate
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.lookup import Sources
from nona.scenario.rows import PlacesSpec, StageSpec
from nona.scenario.schema import Scenario, WorkloadRow
from nona.scenario.values import NamedSpec

MOST_PARTITIONS = 64
SHORT_JOBS, JOBS, REPLICATIONS = 3000, 10_000, 5
KEPT = 3  # layouts without a name that have whole runs: the best in short ones
SCHEDULER, SEARCH = "least-loaded", "nona"
AS_SET, EVERYWHERE, APART = "As set", "Every stage everywhere", "A pool for each stage"
PLACED = "No pools, placed by the search"
Sets = tuple[tuple[str, ...], ...]
Places = Mapping[str, tuple[PlacesSpec, ...]]


@dataclass(frozen=True, eq=False)
class StageLayout:
    """A scenario whose stages share GPUs in one way; ``scheduler`` assigns its queries to executors.

    ``gpus``: for people, which GPUs have which instances; empty without pools.
    """

    title: str
    gpus: tuple[SharedGpus, ...]
    scenario: Scenario
    scheduler: str = SCHEDULER
    named: bool = True


def stage_layouts(prepared: PreparedSystem, row: int) -> tuple[StageLayout, ...]:
    """Return the layouts of a row's stages that are worth a simulation.

    Parameters
    ----------
    prepared : PreparedSystem
        The system.
    row : int
        The number of the row in the workload.

    Returns
    -------
    tuple of StageLayout
        The scenario as it is set, every stage everywhere, a pool for each stage where there are as many GPUs,
        no pools, and the other partitions, of which there are at most :data:`MOST_PARTITIONS`.
    """
    scenario, stages = prepared.scenario, _stages(prepared, row)
    layouts = []
    if scenario.has_pools(scenario.workload[row]):
        layouts.append(StageLayout(AS_SET, _gpus_by_instances(scenario, row), scenario))
    for sets in _partitions(stages):
        title = EVERYWHERE if len(sets) == 1 else APART if len(sets) == len(stages) else _title(sets)
        divided = _divided(prepared, row, sets)
        if divided is None:
            continue
        gpus, named = _gpus_by_instances(divided, row), title in (EVERYWHERE, APART)
        if layouts and gpus == layouts[0].gpus:
            layouts[0] = StageLayout(f"{title} (as set)", gpus, scenario)
        else:
            layouts.append(StageLayout(title, gpus, divided, named=named))
    groups = scenario.cluster.servers
    without = _rebuilt(scenario, row, groups, [(n,) for n in range(len(groups))], dict.fromkeys(stages, ()))
    layouts.append(StageLayout(PLACED, (), without, SEARCH))
    return tuple(sorted(layouts, key=lambda layout: not layout.named))


def _stages(prepared: PreparedSystem, row: int) -> tuple[str, ...]:
    """Names of the tasks that run on GPUs."""
    spec = prepared.scenario.workload[row].stages
    names = prepared.models[row].tasks.task_ids
    return tuple(name for name in names if name not in spec or spec[name].cpu is None)


def _title(sets: Sets) -> str:
    return " | ".join(" + ".join(part) for part in sets)


def _partitions(stages: tuple[str, ...]) -> Iterator[Sets]:
    """Yield partitions of stages into sets: one set, one of each, and others while they are few.

    With many stages only those into runs of stages that follow one another, or none.

    >>> len(list(_partitions(("a", "b", "c")))), len(list(_partitions(tuple("abcdefg"))))
    (5, 64)
    """
    yield (stages,)
    if len(stages) > 1:
        yield tuple((stage,) for stage in stages)
    if len(stages) <= 5:
        others = _set_partitions(stages)
    elif 2 ** (len(stages) - 1) <= MOST_PARTITIONS:
        others = _cuts(stages)
    else:
        return
    yield from (sets for sets in others if 1 < len(sets) < len(stages))


def _set_partitions(stages: tuple[str, ...]) -> Iterator[Sets]:
    if not stages:
        yield ()
        return
    first, rest = stages[0], stages[1:]
    for sets in _set_partitions(rest):
        yield ((first,), *sets)
        for i, part in enumerate(sets):
            yield (*sets[:i], (first, *part), *sets[i + 1 :])


def _cuts(stages: tuple[str, ...]) -> Iterator[Sets]:
    for mask in range(2 ** (len(stages) - 1)):
        sets: list[tuple[str, ...]] = [(stages[0],)]
        for i, stage in enumerate(stages[1:]):
            if mask >> i & 1:
                sets.append((stage,))
            else:
                sets[-1] = (*sets[-1], stage)
        yield tuple(sets)


def _divided(prepared: PreparedSystem, row: int, sets: Sets) -> Scenario | None:
    """Return the scenario with its GPUs divided among sets of stages; ``None``: there are too few GPUs."""
    scenario, busy = prepared.scenario, _speeds(prepared, row, sets)
    capacity = [0.0] * len(sets)
    has_no_gpu = set(range(len(sets)))
    servers: list[ServerGroupSpec] = []
    numbers: list[tuple[int, ...]] = []  # of the new groups, by group of the scenario
    places: dict[str, list[PlacesSpec]] = {stage: [] for part in sets for stage in part}
    counts = {stage: _most_instances(scenario.workload[row].stages.get(stage)) for stage in places}
    for group, speeds in zip(scenario.cluster.servers, busy, strict=True):
        first = len(servers)
        if group.engine is not None:
            servers.append(group)
        else:
            taken: Counter[tuple[int, ...]] = Counter()
            for _ in range(group.count):
                owners = []
                for speed in speeds:
                    free = has_no_gpu or range(len(sets))
                    owner = max(free, key=lambda s, v=speed: (_load(capacity[s], v[s]), -v[s], -s))
                    capacity[owner] += speed[owner]
                    has_no_gpu.discard(owner)
                    owners.append(owner)
                taken[_like_gpus_sorted(group, owners)] += 1
            for owners_of, servers_of in sorted(taken.items()):
                for part, gpus in _gpus_of(owners_of).items():
                    for stage in sets[part]:
                        on = () if len(gpus) == group.gpus else gpus
                        spec = {"group": len(servers), "count": counts[stage], "gpus": on}
                        places[stage].append(PlacesSpec.model_validate(spec))
                servers.append(group.model_copy(update={"count": servers_of}))
        numbers.append(tuple(range(first, len(servers))))
    if has_no_gpu or len(servers) > 100:
        return None
    instances = {stage: tuple(of) for stage, of in places.items()}
    return _rebuilt(scenario, row, servers, numbers, instances)


def _like_gpus_sorted(group: ServerGroupSpec, owners: Sequence[int]) -> tuple[int, ...]:
    """Return the owners of a server's GPUs, sorted among GPUs of one layout: these may change places."""
    layouts = group.layouts
    rest = {
        of: sorted(o for o, layout in zip(owners, layouts, strict=True) if layout == of) for of in layouts
    }
    return tuple(rest[layout].pop(0) for layout in layouts)


def _load(capacity: float, speed: float) -> float:
    """Return how busy a set is: its GPUs carry ``capacity`` queries per second; ``speed``: of one more."""
    return math.inf if capacity == 0 else 1.0 / capacity if speed > 0 else -1.0


def _gpus_of(owners: Sequence[int]) -> dict[int, tuple[int, ...]]:
    return {part: tuple(g for g, of in enumerate(owners) if of == part) for part in dict.fromkeys(owners)}


def _most_instances(spec: StageSpec | None) -> int:
    return max((places.count for places in spec.instances), default=1) if spec else 1


def _speeds(prepared: PreparedSystem, row: int, sets: Sets) -> list[list[list[float]]]:
    """Return the queries per second that each GPU of each group carries of each set, in full batches."""
    classes, names = list(prepared.cluster.classes), prepared.models[row].tasks.task_ids
    load_s = prepared.system.queries[row].load_s
    columns = [[names.index(stage) for stage in part] for part in sets]
    seconds = [load_s[:, of].sum(axis=1) for of in columns]
    kinds: dict[tuple[int, int], list[int]] = {}
    for e in prepared.cluster.executors:
        kinds.setdefault((e.server, e.gpu), []).append(classes.index(e.executor_class))
    found, first = [], 0
    for group in prepared.scenario.cluster.servers:
        if group.engine is not None:
            found.append([[0.0] * len(sets)])
            continue
        found.append(
            [
                [sum(1.0 / max(float(of[k]), 1e-9) for k in kinds[first, gpu]) for of in seconds]
                for gpu in range(group.gpus)
            ]
        )
        first += group.count
    return found


def _rebuilt(
    scenario: Scenario,
    row: int,
    servers: Sequence[ServerGroupSpec],
    numbers: Sequence[tuple[int, ...]],
    instances: Places,
) -> Scenario:
    """Return the scenario with other server groups (``numbers``: old → new) and these instances of stages."""
    rows = []
    for number, of in enumerate(scenario.workload):
        stages = {name: _moved(spec, numbers) for name, spec in of.stages.items()}
        if number == row:
            for name, places in instances.items():
                stages[name] = stages.get(name, StageSpec()).model_copy(update={"instances": places})
        rows.append(of.model_copy(update={"stages": {n: s for n, s in stages.items() if _says(s)}}))
    cluster = scenario.cluster.model_copy(update={"servers": tuple(servers)})
    update: dict[str, object] = {"cluster": cluster, "workload": tuple(rows)}
    if scenario.plan is not None and scenario.plan.group is not None:
        group = numbers[scenario.plan.group][0]
        update["plan"] = scenario.plan.model_copy(update={"group": group})
    return scenario.model_copy(update=update)


def _moved(spec: StageSpec, numbers: Sequence[tuple[int, ...]]) -> StageSpec:
    moved = [p.model_copy(update={"group": n}) for p in spec.instances for n in numbers[p.group]]
    return spec.model_copy(update={"instances": tuple(moved)})


def _says(spec: StageSpec) -> bool:
    return spec.has_pool or spec.batching is not None


def _gpus_by_instances(scenario: Scenario, row: int) -> tuple[SharedGpus, ...]:
    """Return which instances of a row's stages are on how many GPUs, the fullest GPUs first."""
    stages = scenario.workload[row].stages
    found: Counter[tuple[str, tuple[tuple[str, int], ...]]] = Counter()
    for number, group in enumerate(scenario.cluster.servers):
        if group.engine is None:
            for gpu, layout in enumerate(group.layouts):
                kind = f"{group.gpu} in {layout_words(layout)}" if layout else group.gpu
                counts = ((name, spec.instances_on(number, gpu)) for name, spec in stages.items())
                found[kind, tuple(pair for pair in counts if pair[1])] += group.count
    ordered = sorted(found.items(), key=lambda item: (-len(item[0][1]), item[0]))
    return tuple(SharedGpus(gpus=n, kind=kind, instances=dict(counts)) for (kind, counts), n in ordered)


def compare_stage_layouts(
    prepared: PreparedSystem,
    sources: Sources,
    cache: PreparationCache | None = None,
    on_progress: Callable[[float], None] = do_nothing,
) -> LayoutComparison | None:
    """Simulate the layouts of the stages of the row that has stages and the most work.

    Parameters
    ----------
    prepared : PreparedSystem
        The system.
    sources : Sources
        The files of its scenario.
    cache : PreparationCache, optional
        Models that it knows are not read again.
    on_progress : callable, optional
        Gets the share of the work that is done; it may raise ``Cancelled``.

    Returns
    -------
    LayoutComparison or None
        The layouts, the best first, and those whose difference from it is not clear; ``None`` where no row
        has stages.
    """
    queries = prepared.system.queries
    staged = [n for n, row in enumerate(prepared.scenario.workload) if row.stages]
    if not staged:
        return None
    row = max(staged, key=lambda n: queries[n].rate * float(queries[n].load_s.min(axis=0).sum()))
    runner = _LayoutRunner(prepared, sources, cache, row)
    layouts = stage_layouts(prepared, row)
    whole = [layout for layout in layouts if layout.named]
    others = [layout for layout in layouts if not layout.named]
    work = len(others) * SHORT_JOBS + (len(whole) + KEPT) * JOBS * REPLICATIONS
    done = 0
    short = []
    for layout in others:
        short.append((runner.run(layout, SHORT_JOBS, 1), layout))
        done += SHORT_JOBS
        on_progress(done / work)
    short.sort(key=lambda pair: runner.rank(pair[0]))
    runs = []
    for layout in (*whole, *(layout for _, layout in short[:KEPT])):
        runs.append(runner.run(layout, JOBS, REPLICATIONS))
        done += JOBS * REPLICATIONS
        on_progress(min(done / work, 1.0))
    runs.sort(key=runner.rank)
    best = runs[0].compared.title
    steady = {run.compared.title: run.values for run in runs if run.values}
    return LayoutComparison(
        row=prepared.scenario.labels[row],
        objective=runner.objective,
        candidates=len(layouts),
        layouts=tuple(run.compared for run in runs),
        level=level_with(best, steady) if best in steady and len(steady) > 1 else (),
    )


@dataclass(frozen=True, eq=False)
class _LayoutRun:
    """A layout with its figures; ``values``: of each run what ranks it, the less the better; empty: none."""

    compared: ComparedLayout
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _LayoutRunner:
    prepared: PreparedSystem
    sources: Sources
    cache: PreparationCache | None
    row: int

    @property
    def objective(self) -> str:
        """``slo`` where the scenario asks for it and some row has an SLO, else ``mean-jct``."""
        scenario = self.prepared.scenario
        has_slo = any(row.slo is not None for row in scenario.workload)
        return "slo" if scenario.objective == "slo" and has_slo else "mean-jct"

    def rank(self, run: _LayoutRun) -> tuple[bool, float]:
        """Return what sorts layouts: those without a steady state come last."""
        return not run.values, sum(run.values) / len(run.values) if run.values else math.inf

    def run(self, layout: StageLayout, jobs: int, replications: int) -> _LayoutRun:
        """Simulate a layout; one that cannot be prepared has the reason as its state."""
        changes = {"jobs": jobs, "replications": replications, "precision": None, "warmup": "auto"}
        simulation = self.prepared.scenario.simulation.model_copy(update=changes)
        update = {"simulation": simulation, "schedulers": (NamedSpec(name=layout.scheduler),)}
        patch = _patch(layout.scenario)
        try:
            prepared = prepare(layout.scenario.model_copy(update=update), self.sources, self.cache)
            result = simulate(prepared)
        except NonaError as error:
            refused = ComparedLayout(
                title=layout.title,
                gpus=layout.gpus,
                scheduler=layout.scheduler,
                reason=str(error),
                changes=patch,
            )
            return _LayoutRun(refused, ())
        summary = result.summaries[layout.scheduler].result
        model = summary.models[prepared.scenario.labels[self.row]]
        steady = not summary.overloaded
        jobs_of = MeasuredJobs(result.records[layout.scheduler], [q.slo_s for q in prepared.system.queries])
        values = jobs_of.mean_jcts() if self.objective == "mean-jct" else [1 - h for h in jobs_of.hit_rates()]
        compared = ComparedLayout(
            title=layout.title,
            gpus=layout.gpus,
            scheduler=layout.scheduler,
            reason="" if steady else summary.state_reason,
            jct_s=Estimate.from_fields(summary.jct_s) if steady else UNKNOWN,
            p95_s=summary.jct_s.p95 if steady else None,
            slo_hit_rate=summary.slo_hit_rate,
            per_s=model.loop.per_s if model.loop else UNKNOWN,
            changes=patch,
        )
        return _LayoutRun(compared, tuple(values) if steady else ())


def _patch(scenario: Scenario) -> dict[str, object]:
    """Return what a layout says of the scenario: server groups, and rows with their stages."""
    data = scenario.model_dump(mode="json", exclude_defaults=True)
    rows: Sequence[WorkloadRow] = scenario.workload
    stages = [row.model_dump(mode="json", exclude_defaults=True).get("stages", {}) for row in rows]
    return {"servers": data["cluster"]["servers"], "stages": stages}


def with_layout(scenario: Scenario, layout: ComparedLayout) -> Scenario:
    """Return the scenario with the server groups and stages of a layout that was compared for it.

    Parameters
    ----------
    scenario : Scenario
        The scenario, whose workload has as many rows as when the layouts were compared.
    layout : ComparedLayout
        One of the layouts.

    Returns
    -------
    Scenario
        A new scenario; all else is as it was.
    """
    data = scenario.model_dump(mode="json")
    data["cluster"]["servers"] = layout.changes["servers"]
    for row, stages in zip(data["workload"], layout.changes["stages"], strict=True):
        row["stages"] = stages
    return Scenario.model_validate(data)
