"""A job alone on the cluster takes what the formula says, whatever its sources, ends and skips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from event_walk import EventWalk

from nona.decomposition import VIRTUAL
from nona.placement.configurations import Shape, canonical, to_configuration
from nona.placement.link_routes import link_of
from nona.placement.model import shapes
from nona.placement.prediction import predict
from nona.placement.response.equilibrium import predict_response
from nona.placement.result import SubGraphPlacement
from nona.scenario.file import scenario_from_mapping
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.run import RunOptions, simulate_run
from nona.study.preparation import prepare

Chooser = Callable[[Shape], Sequence[int]]


def random_node_link(seed):
    """A random DAG with 1 to 3 sources, ends that nobody reads, skips, and tensors read by several."""
    rng = np.random.default_rng(seed)
    n, sources = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    edges, size = [], {}
    for v in range(sources, n):
        above = [u for u in range(max(0, v - 6), v) if rng.random() < 0.25]
        for u in above or [int(rng.integers(max(0, v - 4), v))]:
            name = f"x{u}" if rng.random() < 0.6 else f"x{u}-{v}"
            bytes_ = size.setdefault(name, int(rng.integers(1, 4000)))
            edges.append({"source": f"n{u:02d}", "target": f"n{v:02d}", "bytes": bytes_, "tensor": name})
    times = rng.choice([0.01, 0.5, 1.0, 2.0, 3.0], n) + rng.integers(0, 1000, n) * 1e-5
    nodes = [{"id": f"n{v:02d}", "compute_ms": float(t)} for v, t in enumerate(times)]
    return {"directed": True, "nodes": nodes, "edges": edges}


def alone(source, discipline="fifo"):
    """A query of ``source`` each second, on 14 idle servers."""
    network = {"capacity": "1 Gbit/s", "latency": "3 us", "discipline": discipline}
    scenario = {
        "version": 1,
        "seed": 3,
        "cluster": {
            "servers": [{"count": 14, "gpu": "a100-40gb", "gpus": 1, "vcpus": 8}],
            "network": network,
        },
        "models": {"g": source},
        "workload": [{"model": "g", "rate": 1.0, "arrivals": {"process": "deterministic"}}],
    }
    return prepare(scenario_from_mapping(scenario)).system


def drawn_labels(rng):
    """Random configurations whose sink is where a task is."""

    def choose(shape):
        labels = rng.integers(0, int(rng.integers(1, 5)), shape.m + 1).tolist()
        if not shape.has_sink or labels[-1] not in labels[:-1]:
            labels[-1] = 0
        return canonical(labels)

    return choose


@dataclass(frozen=True)
class Alone:
    """Prediction and simulation of a placement; ``clean``: no job meets itself at the link or out of order.

    ``story_s`` is the sum of the cut tasks and of the sub-graphs' stories.
    """

    predicted_s: float
    story_s: float
    simulated_s: np.ndarray
    clean: bool
    placed: tuple[SubGraphPlacement, ...]

    def response_s(self, system):
        """The median of the predicted response: at one job a second that of a job that meets nobody."""
        return float(np.median(predict_response(system, [self.placed], samples=64).mix.times_s))


def run_alone(system, choose, jobs=100):
    """Place by ``choose``, simulate, and predict for a rate of next to nothing."""
    query, link = system.queries[0], link_of(system)
    time = query.tasks.compute_s[0]
    story = sum(float(time[c]) for c in query.decomposition.cuts if c != VIRTUAL)
    placed, clean = [], True
    for subgraph, shape in zip(query.decomposition.subgraphs, shapes(system)[0], strict=True):
        labels = choose(shape)
        walk = EventWalk(shape, labels, link, 0.0, 0.0)
        clean &= not (walk.overlaps or walk.overtaken)
        story += walk.span_s
        placed.append(SubGraphPlacement(subgraph, (to_configuration(labels, subgraph.interior),), np.ones(1)))
    options = RunOptions(jobs=jobs, warmup=0, engine="simpy")
    run = simulate_run(system, get_scheduler("nona"), build_tables(system, [placed]), options)
    rare = replace(system, queries=(replace(query, rate=1e-12),))
    taken = run.completion_s - run.arrival_s
    return Alone(predict(rare, [placed]).jct_s, story, taken, clean, tuple(placed))


def check_sound(system):
    """Every task is a cut or in one interior, and every tensor's way belongs to one sub-graph."""
    query = system.queries[0]
    cuts = [c for c in query.decomposition.cuts if c != VIRTUAL]
    inner = [t for s in query.decomposition.subgraphs for t in s.interior]
    assert sorted(cuts + inner) == list(range(len(query.tasks)))
    assert sum(len(s.source) for s in shapes(system)[0]) == len(query.tasks.edge_source)


def check_times(done):
    """The prediction, the story and every simulated job are one time."""
    assert done.predicted_s == pytest.approx(done.story_s, rel=1e-9)
    np.testing.assert_allclose(done.simulated_s, done.predicted_s, rtol=1e-9)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_random_graphs_with_several_ends(discipline):
    clean = several = 0
    for seed in range(60):
        system = alone(random_node_link(seed), discipline)
        check_sound(system)
        done = run_alone(system, drawn_labels(np.random.default_rng(seed)), jobs=20)
        if done.clean:
            clean += 1
            several += VIRTUAL in system.queries[0].decomposition.cuts
            check_times(done)
    assert clean >= 40, "most of the jobs must be such that the formula is exact"
    assert several >= 25


@pytest.mark.parametrize("seed", [44, 71, 85, 96, 115])
def test_the_response_is_right_where_a_job_meets_itself(seed):
    """Its messages meet at the link, or its tasks are ready in another order than that of their numbers."""
    system = alone(random_node_link(seed))
    done = run_alone(system, drawn_labels(np.random.default_rng(seed)), jobs=20)
    assert not done.clean
    np.testing.assert_allclose(done.simulated_s, done.response_s(system), rtol=1e-7)
