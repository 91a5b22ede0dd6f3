"""A job alone on the cluster takes what the formula says, whatever its sources, ends and skips."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from event_walk import EventWalk

from nona.decomposition import VIRTUAL
from nona.placement.configurations import canonical, to_configuration
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
    workload = [{"model": "g", "rate": 1.0, "arrivals": {"process": "deterministic"}}]
    cluster = {"servers": [{"count": 14, "gpu": "a100-40gb"}], "network": network}
    scenario = {"version": 1, "seed": 3, "cluster": cluster, "models": {"g": source}, "workload": workload}
    return prepare(scenario_from_mapping(scenario)).system


def drawn_labels(rng):
    """Random configurations whose sink is where a task is."""

    def choose(shape):
        labels = rng.integers(0, int(rng.integers(1, 5)), shape.m + 1).tolist()
        if not shape.has_sink or labels[-1] not in labels[:-1]:
            labels[-1] = 0
        return canonical(labels)

    return choose


def run_alone(system, choose):
    """Place by ``choose``, simulate, and predict for a rate of next to nothing.

    ``clean``: no job meets itself at the link or out of order; ``story_s``: that of the cut tasks and of all
    sub-graphs.
    """
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
    options = RunOptions(jobs=20, warmup=0, engine="simpy")
    run = simulate_run(system, get_scheduler("nona"), build_tables(system, [placed]), options)
    rare = replace(system, queries=(replace(query, rate=1e-12),))
    found = {"placed": placed, "clean": clean, "story_s": story, "predicted_s": predict(rare, [placed]).jct_s}
    return SimpleNamespace(simulated_s=run.completion_time_s, **found)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_random_graphs_with_several_ends(discipline):
    clean = several = 0
    for seed in range(60):
        system = alone(random_node_link(seed), discipline)
        done = run_alone(system, drawn_labels(np.random.default_rng(seed)))
        if done.clean:
            clean += 1
            several += VIRTUAL in system.queries[0].decomposition.cuts
            assert done.predicted_s == pytest.approx(done.story_s, rel=1e-9)
            np.testing.assert_allclose(done.simulated_s, done.predicted_s, rtol=1e-9)
    assert clean >= 40, "most of the jobs must be such that the formula is exact"
    assert several >= 25


@pytest.mark.parametrize("seed", [44, 71, 85, 96, 115])
def test_the_response_is_right_where_a_job_meets_itself(seed):
    """Its messages meet at the link, or its tasks are ready in another order than that of their numbers."""
    system = alone(random_node_link(seed))
    done = run_alone(system, drawn_labels(np.random.default_rng(seed)))
    assert not done.clean
    # at one job a second the median response is that of a job that meets nobody
    response_s = np.median(predict_response(system, [done.placed], samples=64).mix.times_s)
    np.testing.assert_allclose(done.simulated_s, response_s, rtol=1e-7)
