"""Queueing at the executors: run lengths by enumeration, and the exact M/G/1 queue."""

import itertools

import numpy as np
import pytest
from placement_helpers import random_query, random_system, slides, system

from nona.placement.enumeration import candidates
from nona.placement.fixed import local_placement
from nona.placement.messages import Candidates
from nona.placement.model import Model, build_model
from nona.placement.queueing import fifo_wait_s
from nona.system import Stream


def model_of(s: object) -> Model:
    return build_model(s, lambda shape, link: candidates(shape, link, 8))


def random_x(model: Model, seed: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [[rng.dirichlet(np.full(len(c), 0.2)) for c in row] for row in model.candidates]


def sink_runs_on(c: Candidates, i: int, busy: float) -> float:
    """Told task by task: does the root's part end after all outputs are back, and is nobody in the way?"""
    labels, edges = c.labels[i], range(len(c.shape.source))
    if (labels == 0).all():
        return 1.0
    if labels[-1] != 0 or not (labels[:-1] == 0).any():
        return 0.0
    end, server = [0.0] * (c.shape.m + 2), [0, *labels.tolist()]
    free = dict.fromkeys(server, 0.0)
    for v in range(1, c.shape.m + 2):
        into = [e for e in edges if c.shape.target[e] == v]
        end[v] = max(end[c.shape.source[e]] + c.messages.through_s[e, i] for e in into)
        if v <= c.shape.m:
            end[v] = free[server[v]] = max(end[v], free[server[v]]) + c.shape.mean_s[v - 1]
    return (1.0 - busy) ** len(set(server) - {0}) if end[-1] <= free[0] else 0.0


def explicit_squares(
    cut_s: np.ndarray, choices: list[tuple[np.ndarray, np.ndarray]], on: tuple[bool, ...], scv: float
) -> float:
    """Σ of squared visits of one job whose sub-graphs have these (labels, interior times): antichains.

    ``on`` says where the sink runs on after the work on the root's server.
    """
    visits, run = [], [cut_s[0]]
    for k, (labels, times) in enumerate(choices):
        run += [t for t, label in zip(times, labels, strict=False) if label == 0]
        servers = set(labels[:-1].tolist()) - {0}
        visits += [[t for t, label in zip(times, labels, strict=False) if label == s] for s in servers]
        if not on[k]:
            visits.append(run)
            run = []
        run.append(cut_s[k + 1])
    visits.append(run)
    return sum(sum(v) ** 2 + scv * sum(t * t for t in v) for v in visits)


@pytest.mark.parametrize("scv", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_run_lengths_are_the_mean_over_all_sequences(seed: int, scv: float) -> None:
    q = random_query(np.random.default_rng(seed), 1.0, diamonds=3, width=2, service_scv=scv)
    model = model_of(system(q))
    x = random_x(model, seed)
    row = model.candidates[0]
    expected = 0.0
    for combination in itertools.product(*(range(len(c)) for c in row)):
        probability = float(np.prod([p[i] for p, i in zip(x[0], combination, strict=True)]))
        chosen = list(zip(row, combination, strict=True))
        choices = [(c.labels[i], c.shape.class_s[0]) for c, i in chosen]
        chance = [sink_runs_on(c, i, float(model.busy[0])) for c, i in chosen]
        for on in itertools.product((False, True), repeat=len(row)):
            outcome = float(np.prod([r if go else 1.0 - r for r, go in zip(chance, on, strict=True)]))
            expected += probability * outcome * explicit_squares(model.cut_s[0], choices, on, scv)
    assert model.chains[0][0].squares(x[0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_server_wait(seed: int, shared: bool) -> None:
    s = random_system(seed, classes=2, servers=8)
    shares = np.random.default_rng(seed).dirichlet([4.0, 4.0], len(s.queries)) if shared else None
    model = build_model(s, lambda shape, link: candidates(shape, link, 8), shares)
    x = random_x(model, seed)
    visits = np.random.default_rng(seed).uniform(0.1, 2.0, len(model.candidates))
    slope = model.server_wait_gradient(x, visits)
    for j, row in enumerate(x):
        for k, p in enumerate(row):
            for c in range(0, len(p), 5):
                step = 0.125  # W_c is linear in each single sub-graph: any step will do
                p[c] += step
                up = visits @ model.server_wait_s(x)
                p[c] -= 2 * step
                down = visits @ model.server_wait_s(x)
                p[c] += step
                assert slope[j][k][0][c] == pytest.approx((up - down) / (2 * step), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_price_bound_lies_below_every_configuration_that_is_not_local(seed: int) -> None:
    model = model_of(random_system(seed))
    slope = model.server_wait_gradient(random_x(model, seed), np.ones(len(model.candidates)))
    for row, found in zip(model.candidates, slope, strict=True):
        for c, (price, least) in zip(row, found, strict=True):
            assert (price[~c.local] >= least * (1 - 1e-12)).all()


def test_a_job_on_one_executor_is_an_exact_single_server_queue() -> None:
    """Mean JCT of the local placement = W + E[S], W by Pollaczek–Khinchine of the whole job."""
    rng = np.random.default_rng(1)
    queries = [random_query(rng, rate, service_scv=v) for rate, v in ((40.0, 0.0), (25.0, 0.7))]
    background = Stream(12.0, 0.004, 2.0)
    s = system(*queries, servers=4, compute=background)
    work = [q.tasks.compute_s[0] for q in queries]
    mean = [w.sum() for w in work]
    square = [w.sum() ** 2 + q.service_scv * (w**2).sum() for w, q in zip(work, queries, strict=True)]
    rho = 12.0 * 0.004 + sum(q.rate * m for q, m in zip(queries, mean, strict=True)) / 4
    moment = 12.0 * 0.004**2 * 3.0 + sum(q.rate * m for q, m in zip(queries, square, strict=True)) / 4
    wait = fifo_wait_s(rho, moment)
    found = local_placement(s).prediction
    assert found.compute_utilization == pytest.approx(rho)
    assert found.server_wait_s == pytest.approx(wait)
    assert [q.jct_s for q in found.queries] == pytest.approx([wait + m for m in mean])
    shares = np.array([40.0, 25.0]) / 65.0
    assert found.jct_s == pytest.approx(float(shares @ (wait + np.array(mean))))


def test_executor_classes_are_averaged_over_a_uniform_draw() -> None:
    q = slides(30.0)
    tasks = type(q.tasks)(
        **{**q.tasks.__dict__, "compute_s": np.vstack([q.tasks.compute_s[0], 2 * q.tasks.compute_s[0]])}
    )
    s = system(type(q)("q", tasks, q.decomposition, 30.0), servers=4, classes=2)
    found = local_placement(s).prediction
    waits = [fifo_wait_s(30 * w / 4, 30 * w * w / 4) for w in (0.022, 0.044)]
    assert found.server_wait_s == pytest.approx(sum(waits) / 2)
    assert found.jct_s == pytest.approx(0.033 + sum(waits) / 2)
