"""No policy undercuts the oracle: against linear programs, exhaustive choice, and runs of any policy."""

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest
from scipy.optimize import linprog
from serverless_cases import CHAIN, DIAMOND, told

from nona.cluster.sharing.pool import Invoker
from nona.models.graph.dag import Dag
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import Function, TableTimes, grid
from nona.serverless.metrics import summarise
from nona.serverless.oracle import Bound, application_bounds, oracle
from nona.serverless.policies.base import BatchPlan
from nona.serverless.policies.esg.policy import POLICY as ESG
from nona.serverless.policies.registry import get_policy
from nona.serverless.system import Application, ServerlessSystem

SPACE = grid([1, 2], [1, 2], [1, 2])


def random_system(seed, noise=0.0, slo=0.9):
    """A chain and a diamond of random functions; SLOs between the fastest and the smallest choice."""
    draws = np.random.default_rng(seed)
    functions = tuple(
        Function(f"f{i}", TableTimes(dict(zip(SPACE.configurations, row, strict=True))))
        for i, row in enumerate((0.02 + 0.1 * draws.random((5, len(SPACE)))).tolist())
    )
    applications = []
    for name, edges in (("chain", CHAIN), ("diamond", DIAMOND)):
        n = 1 + max(v for _, v in edges)
        of, dag = tuple(draws.integers(0, 5, n).tolist()), Dag.from_edges(n, edges)
        times = np.array([functions[f].seconds(SPACE)[1] for f in of])
        low, high = (dag.critical_path(t.tolist())[0] for t in (times.min(axis=1), times.max(axis=1)))
        limit = low + slo * draws.random() * (high - low)
        names = tuple(f"s{i}" for i in range(n))
        applications.append(Application(name, names, of, dag, (0.0,) * n, limit, draws.uniform(1, 3)))
    nodes = (Invoker(vcpus=8),) * 4
    return ServerlessSystem(SPACE, functions, tuple(applications), nodes, noise=noise, seed=seed)


def any_policy(seed):
    draws = np.random.default_rng(seed)
    return told(lambda ask: BatchPlan((int(draws.choice(np.flatnonzero(SPACE.batch <= ask.length))),)))


@pytest.mark.parametrize("seed", range(4))
def test_no_run_of_any_policy_undercuts_it(seed):
    system = random_system(seed)
    bounds = application_bounds(system)
    for policy in (any_policy(1), any_policy(2), ESG, get_policy("fixed")):
        got = summarise(system, [simulate_serverless(system, policy, {}, PlatformRunOptions(150, 20))])
        assert got.calls.in_flight == 0
        for app, bound in zip(got.applications.values(), bounds, strict=True):
            hits = app.slo_hit_rate
            assert hits <= bound.most_hits
            assert app.cost_per_call_usd >= bound.cost_per_call_usd(hits) * (1 - 1e-9)
            assert hits == 0 or app.cost_per_call_usd / hits >= bound.cost_per_hit_usd * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_with_noise_no_run_undercuts_the_bound_of_its_own_calls(seed):
    """Exactly, where batches are of one job, as here: two jobs take twice as long as one."""
    system = random_system(seed + 20, noise=0.3)
    functions = tuple(Function(f.name, TableTimes(_in_proportion(f))) for f in system.functions)
    system = replace(system, functions=functions)
    run = PlatformRunOptions(150, 20, replication=2)
    bounds, whole = application_bounds(system, run), oracle(system, run)
    for policy in (ESG, get_policy("fixed"), any_policy(3)):
        got = summarise(system, [simulate_serverless(system, policy, {}, run)])
        everything = (got.slo_hit_rate.mean, got.cost_per_call_usd.mean)
        parts = [(a.slo_hit_rate, a.cost_per_call_usd) for a in got.applications.values()]
        for (hits, paid), bound in zip((*parts, everything), (*bounds, whole), strict=True):
            assert hits <= bound.most_hits + 1e-12
            assert got.mean_batch > 1 or paid >= bound.cost_per_call_usd(hits) * (1 - 1e-9)
        assert [a.calls for a in got.applications.values()] == [len(b.weight) for b in bounds]
    at_large = oracle(system)
    assert whole.cost_per_call_usd(0.5) == pytest.approx(at_large.cost_per_call_usd(0.5), rel=0.1)


def _in_proportion(function):
    times = dict(zip(SPACE.configurations, function.seconds(SPACE)[1].tolist(), strict=True))
    return {c: times[replace(c, batch=1)] * c.batch for c in SPACE.configurations}


@pytest.mark.parametrize("seed", range(8))
def test_a_chain_costs_what_the_linear_program_says(seed):
    """Mixtures: min Σ c·x, Σ t·x at most the SLO, the x of a stage adding up to 1; and no path beats it."""
    system = random_system(seed, slo=0.5)
    app, bound = system.applications[0], application_bounds(system)[0]
    time, cost = (x[list(app.function)] for x in (system.time_s, system.job_cost))
    n, c = time.shape
    program = linprog(
        cost.ravel(),
        A_ub=time.reshape(1, -1),
        b_ub=[app.slo_s],
        A_eq=np.kron(np.eye(n), np.ones(c)),
        b_eq=np.ones(n),
    )
    assert bound.cost_per_call_usd() == pytest.approx(program.fun, rel=1e-7)
    paths = (tuple(enumerate(p)) for p in product(range(c), repeat=n))
    exact = min((sum(cost[i] for i in p) for p in paths if sum(time[i] for i in p) <= app.slo_s), default=inf)
    assert bound.cost_per_call_usd() <= exact * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_no_choice_for_a_diamond_undercuts_it(seed):
    system = random_system(seed, slo=0.5)
    app, bound = system.applications[1], application_bounds(system)[1]
    stages = range(app.stages)
    time, cost = (x[list(app.function)] for x in (system.time_s, system.job_cost))
    exact = min(
        sum(cost[s, p[s]] for s in stages)
        for p in product(range(len(SPACE)), repeat=app.stages)
        if app.longest_s(time[stages, p]) <= app.slo_s
    )
    assert cost.min(axis=1).sum() <= bound.cost_per_call_usd() <= exact * (1 + 1e-12)


def test_shares_of_hits():
    """Four draws: hits cost 0, 1, 5 more than nothing at all, and one cannot be a hit."""
    bound = Bound(np.full(4, 0.25), np.full(4, 2.0), np.array([7.0, 2.0, inf, 3.0]))
    assert bound.most_hits == 0.75
    costs = [bound.cost_per_call_usd(hits) for hits in (0, 0.25, 0.5, 0.75, 1)]
    assert costs == pytest.approx([2, 2, 2.25, 3.5, 3.5])
    assert bound.cost_per_hit_usd == pytest.approx(min(2 / 0.25, 2.25 / 0.5, 3.5 / 0.75))
    never = Bound(np.ones(1), np.ones(1), np.array([inf]))
    assert (never.cost_per_call_usd(), never.cost_per_hit_usd, never.most_hits) == (1.0, inf, 0.0)


def test_applications_are_mixed_by_their_rates():
    system = random_system(3)
    bounds = application_bounds(system)
    rates = [app.rate for app in system.applications]
    mean = np.average([b.cost_per_call_usd() for b in bounds], weights=rates)
    assert oracle(system).cost_per_call_usd() == pytest.approx(mean)
