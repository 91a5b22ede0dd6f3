"""Several links: how soon the certified solver closes its gap, and predicted waits beside simulated ones.

``python -m benchmarks.several_links``. Random mixes of fork-joins on 40 servers in racks of eight, with
links that are loaded from lightly to 0.8 and more; the CPU time is that of one core. Then one fork of
three messages between idle servers, whose links are all that is busy.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from nona.contraction.task_graph import TaskGraph
from nona.decomposition import decompose
from nona.placement.configurations import spread_configuration
from nona.placement.enumeration import candidates
from nona.placement.model import Model, build_model, value_at
from nona.placement.prediction import as_model, prediction_of
from nona.placement.result import SubGraphPlacement
from nona.placement.solver.parametric import solve_parametric
from nona.placement.solver.problem import build_problem, groups_of
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import QueryClass, Stream, System
from nona.topology import make_topology
from nona.units import format_time

SERVERS, RACK, INSTANCES = 40, 8, 10
WIDTH = 3


@dataclass(frozen=True, slots=True)
class Level:
    """Utilisation by background, and by the queries when all is spread, of cards, uplinks and core."""

    name: str
    background: float
    card: float
    uplink: float
    core: float
    size: float  # of a background message, as a share of what one query sends


LEVELS = (
    Level("lightly loaded", 0.1, 0.05, 0.1, 0.1, 0.02),
    Level("cards rule", 0.2, 0.4, 0.1, 0.1, 0.02),
    Level("uplinks rule", 0.2, 0.1, 2.0, 0.3, 0.02),
    Level("core rules", 0.2, 0.1, 0.3, 2.0, 0.02),
    Level("core and uplinks at the limit", 0.0, 0.1, 4.0, 4.0, 0.02),
    Level("all alike, half", 0.4, 0.15, 0.2, 0.2, 1e-3),
    Level("core and cards above 0.8", 0.77, 0.2, 0.3, 0.3, 1e-5),
    Level("all above 0.9", 0.9, 0.2, 0.3, 0.3, 1e-6),
)


def random_mix(seed: int, load: float = 0.4) -> System:
    """Three models of one to three fork-joins on 40 executors; one link, to be replaced."""
    rng = np.random.default_rng(seed)
    queries = []
    for j in range(3):
        times, arcs, last = [float(rng.uniform(0, 0.003))], [], 0
        for _ in range(int(rng.integers(1, 4))):
            branches = range(last + 1, last + 1 + int(rng.integers(2, WIDTH + 1)))
            sink = branches[-1] + 1
            for b in branches:
                times.append(float(rng.uniform(0.001, 0.01)))
                arcs += [(last, b, float(rng.exponential())), (b, sink, float(rng.exponential()))]
            times.append(float(rng.uniform(0, 0.003)))
            last = sink
        tasks = TaskGraph.from_edges(f"mix{j}", times, arcs)
        queries.append(QueryClass(f"mix{j}", tasks, decompose(tasks.dag), float(rng.uniform(0.5, 2))))
    work = sum(q.rate * float(q.tasks.compute_s.sum()) for q in queries)
    scaled = tuple(replace(q, rate=q.rate * load * SERVERS / work) for q in queries)
    return _system(scaled, SERVERS, 1.0)


def _system(queries: tuple[QueryClass, ...], servers: int, capacity: float) -> System:
    number = np.arange(servers)
    return System(
        number,
        np.zeros(servers, dtype=np.int64),
        ("gpu",),
        capacity,
        0.0,
        "fifo",
        Stream(),
        Stream(),
        queries,
    )


def loaded(system: System, level: Level) -> System:
    """The system with links of such capacities that spreading everything loads them as ``level`` says."""
    probe = replace(system, topology=make_topology(SERVERS, 1.0, nic=1.0, rack_size=RACK, uplink=1.0))
    model = _model(probe)
    away = [[np.eye(1, len(c), len(c) - 1)[0] for c in row] for row in model.candidates]
    sent = model.traffic(away).load
    wanted = (level.card, level.uplink, level.core)
    card, uplink, core = (r.each * sent / share for r, share in zip(model.roles, wanted, strict=False))
    mean = level.size * sent / system.total_rate
    return replace(
        system,
        capacity=core,
        topology=make_topology(SERVERS, core, nic=card, rack_size=RACK, uplink=uplink),
        background_network=Stream(level.background * core / mean, mean, 1.0),
    )


def _model(system: System) -> Model:
    return build_model(system, lambda shape, link: candidates(shape, link, system.servers, 6))


def certificates(gap: float) -> None:
    """A line for each level: linear programs and CPU seconds to the wanted gap, the largest gap left."""
    print(f"certified to a gap of {gap:g}, {INSTANCES} random mixes each: median and most")
    print(f"{'':>30}  {'programs':>13}  {'CPU s':>13}  {'gap':>8}  busy: cards, uplinks, core")
    for level in LEVELS:
        cells, cpu, gaps, busy = [], [], [], []
        for seed in range(INSTANCES):
            model = _model(loaded(random_mix(seed), level))
            idle = model.server_wait_s([[np.zeros(len(c)) for c in row] for row in model.candidates])
            problem = build_problem(model, groups_of(model), idle)
            begin = time.process_time()
            found = solve_parametric(problem, gap=gap)
            cpu.append(time.process_time() - begin)
            cells.append(found.cells)
            gaps.append(found.gap)
            load = float(problem.network.load @ found.x) if problem.network is not None else 0.0
            busy.append([r.utilization(load) for r in model.roles][:3])
        used = ", ".join(f"{u:.2f}" for u in np.median(busy, axis=0))
        print(
            f"{level.name:>30}  {np.median(cells):6.0f} {max(cells):6d}  {np.median(cpu):6.2f} "
            f"{max(cpu):6.2f}  {max(gaps):8.1e}  {used}"
        )


def forks(rho: float, core: float, nic: float, uplink: float) -> System:
    """Sixteen servers in racks of four that send one tensor to three others; the busiest link at ``rho``."""
    tasks = TaskGraph.from_edges("fork", [0.0] * 4, [(0, b, 1.0) for b in (1, 2, 3)])
    query = QueryClass("fork", tasks, decompose(tasks.dag), 1.0)
    topology = make_topology(16, core, nic=nic, rack_size=4, uplink=uplink)
    system = replace(_system((query,), 16, core), topology=topology)
    model, x = _spread(system)
    rate = min(rho / r.utilization(model.traffic(x).load) for r in model.roles)
    return replace(system, queries=(replace(query, rate=rate),))


def _spread(system: System) -> tuple[Model, list[list[np.ndarray]]]:
    placed = [
        [SubGraphPlacement(s, (spread_configuration(s, 16),), np.ones(1)) for s in q.decomposition.subgraphs]
        for q in system.queries
    ]
    return as_model(system, placed)


def waits(jobs: int = 20_000, replications: int = 3) -> None:
    """Predicted and simulated seconds of a message on its way, transfer included."""
    policy = get_scheduler("spread")
    print("\na message on its way, predicted and simulated (in transfers at a card of 1 byte/s)")
    for name, core, nic, uplink in (
        ("cards alone", 1e4, 1.0, 1e4),
        ("core, fast cards", 4.0, 100.0, 100.0),
        ("core, cards as fast", 4.0, 4.0, 100.0),
        ("core, cards half as fast", 4.0, 2.0, 100.0),
        ("uplinks", 400.0, 1.0, 2.0),
        ("all", 8.0, 1.0, 3.0),
    ):
        for rho in (0.3, 0.5, 0.8):
            system = forks(rho, core, nic, uplink)
            model, x = _spread(system)
            through = float(model.candidates[0][0].messages.through_s.mean())
            links = prediction_of(model, value_at(model, x)).links
            expected = through + sum(w.share * w.wait_s for w in links)
            prepared = policy.prepare(system, None, {})
            times = []
            for r in range(replications):
                run = simulate_run(
                    system, policy, prepared, RunOptions(jobs=jobs, replication=r, timeline_jobs=jobs)
                )
                times.append(float(np.mean([m.end_s - m.request_s for m in run.timeline.messages])))
            mean = float(np.mean(times))
            alone = (expected - through) / (mean - through) - 1
            print(
                f"{name:>26} at {rho}: {format_time(expected, 4)} and {format_time(mean, 4)}, "
                f"{expected / mean - 1:+.1%}; of the wait alone {alone:+.1%}"
            )


if __name__ == "__main__":
    certificates(1e-4)
    certificates(1e-5)
    waits()
