"""Schedulers that know of batches: affinity, adaptive limits, packed duty cycles."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduler_cases import slides_query, system_of
from sizes import examples

from nona.contraction.task_graph import TaskGraph
from nona.decomposition import Decomposition
from nona.errors import SimulationError
from nona.schedulers.nexus import _Packing
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Batching, QueryClass, Stream


def batching_query(step_s, rate, slo_s=None, name="m", **options):
    graph = TaskGraph.from_edges(name, [step_s[0]])
    steps = np.array(step_s, dtype=float).reshape(-1, 1, 1)
    return QueryClass(name, graph, Decomposition((), ()), rate, slo_s, batching=Batching(steps, **options))


def affine(fixed_s, each_s, most):
    return [fixed_s + each_s * b for b in range(1, most + 1)]


def run(name, queries, servers, jobs=20_000, **options):
    system = replace(system_of(queries, range(servers)), background_compute=Stream())
    chosen = get_scheduler(name)
    return simulate_run(system, chosen, chosen.prepare(system, None, options), RunOptions(jobs=jobs))


def mean_batch(records):
    counts = records.batch_sizes.sum(axis=0)
    return counts @ np.arange(len(counts)) / counts.sum()


RESNET50 = affine(1.8874e-3, 0.1438e-3, 8)  # on a V100 in fp16
AHEAD = batching_query(RESNET50, 10.0, 1.0, rule="triton", form_ahead=1)


def test_batches_of_two_models_on_two_replicas():
    """Spreading breaks batches: affinity mends some of it, and models packed apart are as if dedicated."""
    queries = [batching_query(RESNET50, 2000.0, name=name) for name in "ab"]
    mean_s = {
        name: np.nanmean(run(name, queries, 2, 60_000).completion_time_s)
        for name in ("least-loaded", "batch-affinity", "nexus")
    }
    assert mean_s["least-loaded"] == pytest.approx(5.74e-3, rel=0.03)  # replicated, to the shorter queue
    assert mean_s["nexus"] == pytest.approx(4.28e-3, rel=0.03)  # dedicated
    assert mean_s["batch-affinity"] < 0.97 * mean_s["least-loaded"]


def test_without_batches_affinity_is_least_loaded():
    ends = [run(name, [slides_query()], 3, 2000).completion_s for name in ("batch-affinity", "least-loaded")]
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize(("slo_s", "grows"), [(1.0, True), (0.012, False)])
def test_clipper_finds_the_batch_that_its_slo_allows(slo_s, grows):
    """At 900 queries/s batches of 10 keep up, in 11 ms each; a short SLO does not let them grow."""
    query = batching_query(affine(1e-3, 1e-3, 64), 900.0, slo_s)
    clipper, greedy = run("clipper", [query], 1), run("least-loaded", [query], 1)
    largest = np.flatnonzero(clipper.batch_sizes[0]).max()
    assert bool(largest > 16) is grows
    assert mean_batch(clipper) <= mean_batch(greedy) + 0.5


@st.composite
def sessions(draw):
    number = draw(st.integers(1, 4))
    times = [
        np.array(affine(draw(st.floats(1e-3, 5e-3)), draw(st.floats(1e-4, 2e-3)), draw(st.integers(1, 16))))
        for _ in range(number)
    ]
    slo_s = np.array([draw(st.floats(3.0, 20.0)) * t[0] for t in times])
    rates = np.array([draw(st.floats(1.0, 400.0)) for _ in times])
    return [t[:, None] for t in times], slo_s, rates


@examples(150)
@given(sessions(), st.integers(1, 6))
def test_every_duty_cycle_of_nexus_keeps_every_slo(drawn, executors):
    times_s, slo_s, rates = drawn
    nodes = _Packing(times_s, slo_s, [0] * executors).pack(rates)
    if nodes is None:
        return
    served = np.zeros(len(rates))
    for node in nodes:
        steps = [times_s[p.session][p.batch - 1, 0] for p in node.parts]
        load = sum(p.rate * s / p.batch for p, s in zip(node.parts, steps, strict=True))
        assert load <= 1 + 1e-9
        for part, step_s in zip(node.parts, steps, strict=True):
            served[part.session] += part.rate
            wait_s = step_s if node.cycle_s == 0 else node.cycle_s if part.batch > 1 else 0.0
            assert wait_s + step_s <= slo_s[part.session] + 1e-9
    np.testing.assert_allclose(served, rates)


def test_nexus_serves_a_mix_within_its_slos():
    queries = [
        batching_query(affine(2e-3, 0.5e-3, 16), 600.0, 30e-3, "often"),
        batching_query(affine(4e-3, 1e-3, 16), 60.0, 60e-3, "seldom"),
    ]
    records = run("nexus", queries, 2)
    assert records.state == "stable"
    slo_s = np.array([q.slo_s for q in queries])[records.query]
    assert np.mean(records.completion_time_s <= slo_s) > 0.95


MUCH = batching_query(affine(2e-3, 2e-3, 4), 5000.0, 14e-3, "much")


def test_more_than_fits_is_served_by_all():
    assert run("nexus", [MUCH], 2, 1000).state == "overloaded"


@pytest.mark.parametrize("servers", [1, 2])
def test_early_drop_serves_what_it_can_within_the_slo(servers):
    """Beyond what fits, executors are never idle, with batches of two: of three, 2·ℓ(b) is above the SLO."""
    records = run("nexus", [MUCH], servers, early_drop=True)
    times_s = records.completion_time_s
    assert records.state == "stable"
    assert np.nanmax(times_s) <= MUCH.slo_s * (1 + 1e-9)
    assert np.isnan(times_s).sum() == records.tally.dropped.sum()
    assert np.mean(~np.isnan(times_s)) == pytest.approx(servers * 2 / 6e-3 / MUCH.rate, rel=0.02)


def test_where_all_fits_early_drop_keeps_more_slos():
    kept, served = (run("nexus", [MUCH], 17, early_drop=drops) for drops in (True, False))
    hits = [np.mean(r.completion_time_s <= MUCH.slo_s) for r in (kept, served)]
    assert hits[0] > hits[1] + 0.05
    assert kept.dropped < (1 - hits[1]) * kept.arrived


@pytest.mark.parametrize(
    ("query", "says"), [(slides_query(), "needs executors that batch"), (AHEAD, "ahead")]
)
def test_early_drop_where_it_cannot_be(query, says):
    with pytest.raises(SimulationError, match=says):
        run("nexus", [query], 1, early_drop=True)
