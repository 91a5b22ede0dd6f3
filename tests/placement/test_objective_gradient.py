"""The objective: its gradient by finite differences, its parts, and what it ignores."""

import numpy as np
import pytest
from placement_helpers import random_system

from nona.placement.configurations import server_slots
from nona.placement.enumeration import candidates
from nona.placement.model import Model, build_model, gradient, objective_s, value_at
from nona.placement.prediction import congestion_price, prediction_of
from nona.placement.solver.problem import build_problem, groups_of
from nona.system import System


def model_of(s: System) -> Model:
    return build_model(s, lambda shape, link: candidates(shape, link, server_slots(s)))


def random_x(model: Model, seed: int, local: float = 0.6) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [
        [local * c.local + (1 - local) * rng.dirichlet(np.full(len(c), 0.3)) for c in row]
        for row in model.candidates
    ]


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("seed", range(4))
def test_gradient_equals_finite_differences(seed: int, discipline: str, fixed: bool) -> None:
    s = random_system(seed, load=0.5, network=0.2, discipline=discipline, classes=2, capacity=2000.0)
    model = model_of(s)
    x = random_x(model, seed)
    value = value_at(model, x, every=True)
    wait = value.server_wait_s if fixed else None
    slope = gradient(model, value, x, server_wait_fixed=fixed)
    scale = max(float(np.abs(g).max()) for row in slope for g in row)
    checked = 0
    for j, row in enumerate(x):
        for k, p in enumerate(row):
            for c in range(0, len(p), 3):
                before = p[c]
                values = []
                for step in (1e-6, -1e-6):
                    p[c] = before + step
                    values.append(objective_s(model, value_at(model, x, wait)))
                p[c] = before
                assert slope[j][k][c] == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-5 * scale)
                checked += 1
    assert checked > 5


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("seed", range(3))
def test_the_problem_has_the_value_of_the_objective(seed: int, discipline: str) -> None:
    """The solver's arrays and the independent evaluation agree at constant server wait."""
    s = random_system(seed, network=0.1, discipline=discipline)
    model = model_of(s)
    problem = build_problem(model, groups_of(model), 0.0)
    groups = groups_of(model)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        z = rng.exponential(size=len(problem.a0)) ** 3
        z[problem.start[:-1]] += 5.0
        z /= np.bincount(problem.group, weights=z)[problem.group]
        x = [[np.zeros(len(c)) for c in row] for row in model.candidates]
        for g, group in enumerate(groups):
            for column in range(problem.start[g], problem.start[g + 1]):
                for k in group.members:
                    x[group.query][k][problem.column[column]] = z[column]
        assert problem.value(z) == pytest.approx(objective_s(model, value_at(model, x, 0.0)), rel=1e-9)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_prediction_adds_up(discipline: str) -> None:
    s = random_system(2, network=0.3, discipline=discipline, latency_s=1e-3)
    model = model_of(s)
    value = value_at(model, random_x(model, 1))
    found = prediction_of(model, value)
    for q, t in zip(found.queries, value.jct_s, strict=True):
        assert q.compute_s + q.transfer_s + q.network_wait_s + q.server_wait_s == pytest.approx(q.jct_s)
        assert q.jct_s == pytest.approx(t)
        assert min(q.compute_s, q.transfer_s, q.network_wait_s, q.server_wait_s) > 0
    rates = np.array([q.rate for q in s.queries])
    assert found.jct_s == pytest.approx(float(rates @ [q.jct_s for q in found.queries]) / rates.sum())


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_congestion_price_is_the_effect_of_a_little_more_traffic(discipline: str) -> None:
    """All streams of the link grow alike: the mean JCT times the rate changes by the price per byte."""
    s = random_system(4, network=0.3, discipline=discipline)
    model = model_of(s)
    value = value_at(model, random_x(model, 4))
    rho, moment = value.link_utilization, value.link_moment
    coefficient = float(model.weights @ value.terms[:, 2])
    extra = 1e-6  # bytes per second
    grown = 1 + extra / (rho * s.capacity)
    more = model.link_wait(rho * grown, moment * grown) - value.link_wait
    assert congestion_price(model, value) == pytest.approx(
        s.total_rate * coefficient * more / extra, rel=1e-4
    )
