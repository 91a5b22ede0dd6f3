"""Switches of a training cluster: failures, claims, moves, regions, estimated pairs; alone and in runs."""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.allocation.registry import get_policy
from nona.core.errors import NonaError
from nona.core.random_streams import RandomStreams
from nona.scenario.file import parse_scenario
from nona.scenario.training import EstimatesSpec, EstimatorSpec, FailuresSpec, MovesSpec, RegionsSpec
from nona.training.beliefs import ClaimBook, RateClaims, user_of
from nona.training.checkpoints import (
    best_interval,
    daly_s,
    exact_s,
    failure_gaps,
    simulated_wall,
    wall_per_work,
    young_s,
)
from nona.training.disturbance import JobTime, NodeFailures, Saving, advanced, checkpointed
from nona.training.moves import changed_share, least_round_s, move_gain, move_s, shipped_sizes
from nona.training.pair_estimator import CompletionOptions, PairEstimates, completed, matched, reference_of
from nona.training.question import NO_HOOKS
from nona.training.regions import advice, least_stay_s, pays, with_regions, worth_moving
from nona.training.replications import Extensions, hooks_for
from nona.training.report.text import switches_text
from nona.training.results import SwitchesReport
from nona.training.rounds import simulate_training
from nona.training.state import Rates
from nona.training.system import (
    AloneKey,
    NodeGroup,
    PairKey,
    Throughputs,
    TrainingCluster,
    TrainingJob,
    TrainingSystem,
)
from nona.training.throughput_table import shipped_throughputs
from nona.training.workflows.run import OFF, checkpoint_report, compare_switches, one_more_gpu, with_one_more
from tests.serverless.serverless_cases import assert_equal


@pytest.mark.parametrize(
    ("c", "m", "r"), [(30.0, 86400.0, 60.0), (50.0, 5000.0, 100.0), (300.0, 3600.0, 600.0)]
)
def test_the_formula_is_simulated_its_least_exact_and_young_and_daly_are_near_the_simulated_best(c, m, r):
    gaps = failure_gaps(RandomStreams(2), failures=40_000, replications=8)
    for tau in (0.5 * young_s(c, m), daly_s(c, m), 2 * young_s(c, m)):
        walls = simulated_wall(tau, c, m, r, gaps)
        half = 4.0 * walls.std(ddof=1) / np.sqrt(len(walls))
        assert abs(walls.mean() - wall_per_work(tau, c, m, r)) < half + 1e-12
    least = wall_per_work(exact_s(c, m), c, m, r)
    assert least <= min(wall_per_work(t, c, m, r) for t in exact_s(c, m) * np.geomspace(0.3, 3, 61)) + 1e-12
    best = best_interval(c, m, r, failure_gaps(RandomStreams(3), failures=10_000, replications=5))
    young, daly, found = (wall_per_work(t, c, m, r) for t in (young_s(c, m), daly_s(c, m), best))
    assert daly <= young + 1e-12
    assert daly < 1.001 * least
    assert young < 1.02 * least
    assert found < 1.01 * least


TIMES = st.lists(st.floats(0.1, 999), max_size=8).map(sorted)
SAVINGS = st.builds(Saving, st.floats(1, 200), st.floats(0, 50), st.floats(0, 50))


@examples(60)
@given(TIMES, SAVINGS, TIMES)
def test_time_is_conserved_and_cutting_a_stretch_changes_nothing(failures, how, cuts):
    whole, end = advanced(JobTime(), how, 0.0, 1000.0, failures, 1e9)
    assert end == 1000.0
    assert whole.spent_s == pytest.approx(1000.0)
    assert whole.failures == len(failures)
    state = JobTime()
    for a, b in itertools.pairwise([0.0, *cuts, 1000.0]):
        state, _ = advanced(state, how, a, b, failures, 1e9)
    assert state.spent_s == pytest.approx(1000.0)
    assert state.failures == whole.failures
    if not failures:
        assert state.work_s == pytest.approx(whole.work_s)


def test_a_preempted_job_loses_nothing_later():
    how = Saving(100, 10, 20)
    state, _ = advanced(JobTime(), how, 0, 90, [], 1e9)
    kept, _ = advanced(checkpointed(state), how, 90, 100, [95], 1e9)
    lost, _ = advanced(state, how, 90, 100, [95], 1e9)
    assert [(x.work_s, x.lost_s) for x in (kept, lost)] == [(90, 5), (0, 95)]


def test_failures_are_a_poisson_stream_of_each_node():
    failures = NodeFailures(100.0, RandomStreams(5))
    counts = [len(failures.failure_times("k80", n, 0.0, 1e4)) for n in range(200)]
    assert abs(np.mean(counts) - 100) < 4 * 10 / np.sqrt(200)
    halves = failures.failure_times("k80", 3, 0.0, 500.0) + failures.failure_times("k80", 3, 500.0, 1e4)
    assert halves == failures.failure_times("k80", 3, 0.0, 1e4)
    assert failures.failure_times("k80", 3, 0.0, 1e3) != failures.failure_times("v100", 3, 0.0, 1e3)


def test_claims_are_log_normal_and_users_are_wrong_alike():
    streams = RandomStreams(1)
    jobs = [TrainingJob(f"j{i}", "A3C", 1) for i in range(3000)]
    logs = np.log([RateClaims(2.0, 1.0, streams).factor(j, "v100") for j in jobs])
    assert abs(logs.mean()) < 4 * math.log(2) / math.sqrt(3000)
    assert logs.std() == pytest.approx(math.log(2), rel=0.06)
    team = [TrainingJob(f"j{i}", "A3C", 1, entity="vision") for i in range(5)]
    shared = {RateClaims(1.0, 2.0, streams).factor(j, g) for j in team for g in ("k80", "v100")}
    assert len(shared) == 1
    assert shared != {1.0}
    assert user_of(team[0]) == user_of(team[1]) != user_of(jobs[0])


def test_corrected_rates_converge_to_the_truth():
    truth, book = {"k80": 3.0, "v100": 12.0}, ClaimBook(prior=2.0)
    book.claim("a", "anna", {"k80": 9.0, "v100": 6.0})
    errors = []
    for _rounds in range(200):
        errors.append(max(abs(math.log(book.rate("a", g) / truth[g])) for g in truth))
        for g, t in truth.items():
            book.measure("a", g, t)
        assert book.flagged() == ()  # too low on one type, too high on the other: no user is told
    assert errors[-1] < 0.02 < errors[0]


def test_one_users_bias_corrects_what_was_not_measured():
    book = ClaimBook(prior=1.0)
    for job in "abc":
        book.claim(job, "anna", {"k80": 20.0, "v100": 40.0})
        book.measure(job, "k80", 10.0, rounds=4)
    book.claim("d", "anna", {"v100": 80.0})
    book.claim("e", "ben", {"v100": 80.0})
    assert book.rate("a", "v100") == pytest.approx(20.0)
    assert book.rate("d", "v100") == pytest.approx(40.0)
    assert book.rate("e", "v100") == 80.0
    assert book.flagged() == ("a", "b", "c")
    book = ClaimBook(prior=1.0, correct=False)  # a claim stays
    book.claim("a", "anna", {"k80": 20.0, "v100": 0.0})
    book.measure("a", "k80", 5.0, rounds=10)
    assert book.rate("a", "k80") == 20.0
    assert ClaimBook(1.0, claims={("a", "v100"): 0.0}, users={"a": "x"}).rate("a", "v100") == 0.0


def _worth(old, new, rates, *others):
    thr = [(x * rates).sum(axis=1) for x in (old, new)]
    return move_gain((old, thr[0]), (new, thr[1]), *others)


def _net(shares, old, rates, normal, cost_s, horizon):
    """Normalised work within the horizon, move by move."""
    work = horizon * (shares * rates).sum(axis=1) / normal
    for i in range(len(old)):
        time = shares[i].sum()
        if old[i].sum() > 1e-9 and time > 1e-9:
            running = (shares[i] @ rates[i]) / time
            work[i] -= cost_s[i] * changed_share(old, shares)[i] * running / normal[i]
    return work.sum()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_taken_never_does_less_in_the_planners_own_model(seed):
    rng = np.random.default_rng(seed)
    m, types = 4, 3
    old, new = rng.dirichlet(np.ones(types), m), rng.dirichlet(np.ones(types), m)
    rates, normal = rng.uniform(1, 10, (m, types)), rng.uniform(1, 5, m)
    cost, horizon = rng.uniform(0, 300, m), 600.0
    found = _worth(old, new, rates, normal, cost, horizon)
    nets = [_net(x, old, rates, normal, cost, horizon) for x in (old, new)]
    assert not found.feeds
    assert found.gained - found.lost == pytest.approx(nets[1] - nets[0])
    assert nets[1 if found.is_worthwhile else 0] >= max(nets) - 1e-9


def test_a_job_without_time_is_fed_and_staying_is_free():
    old, new = np.array([[1.0], [0.0]]), np.array([[0.5], [0.5]])
    found = _worth(old, new, np.array([[4.0], [1.0]]), np.array([2.0, 1.0]), np.full(2, 1e6), 10.0)
    assert (found.is_worthwhile, found.feeds, found.gained < found.lost) == (True, True, True)
    same = _worth(new, new, np.array([[4.0], [1.0]]), np.array([2.0, 1.0]), np.full(2, 1e6), 10.0)
    assert (same.gained, same.lost, same.is_worthwhile) == (0.0, 0.0, False)


def test_a_move_costs_steps_a_round_bounds_its_share_and_every_size_says_where_it_is_from():
    cost = move_s(MovesSpec(save=1e9, network=1e9, load=1e9, warmup=5.0), 2e9)
    assert cost == pytest.approx(11.0)
    assert cost / least_round_s(cost, 0.02) == pytest.approx(0.02)
    for name, size in shipped_sizes().items():
        assert 1e6 < size.size_bytes < 1e9, name
        assert size.checked in ("recollected", "assumed")
        assert size.source


@examples(50)
@given(st.floats(0.1, 10), st.floats(1.01, 10), st.floats(0.1, 1e4))
def test_the_least_stay_is_where_brute_force_finds_it(rate, faster, g):
    other = rate * faster
    stay = least_stay_s(rate, other, g)
    low, high = 0.0, 1e9 * g
    for _ in range(200):  # bisection on steps done, not on the formula
        middle = (low + high) / 2
        done = other * max(0.0, middle - g)
        low, high = (low, middle) if done > rate * middle else (middle, high)
    assert stay == pytest.approx(high, rel=1e-6)
    assert pays(rate, other, g, stay * 1.001)
    assert not pays(rate, other, g, stay * 0.999)


def test_advice_takes_the_fastest_region_and_counts_the_move():
    found = advice("a", "east", {"east": 1.0, "west": 1.5, "north": 3.0}, 40.0, 1e4, until_s=500.0)
    assert (found.there, worth_moving(found), found.gain_steps) == (
        "north",
        True,
        pytest.approx(3.0 * 460 - 500),
    )
    short = advice("a", "east", {"east": 1.0, "north": 3.0}, 40.0, 30.0, until_s=500.0)
    assert (worth_moving(short), short.horizon_s) == (False, 50.0)
    assert advice("a", "east", {"east": 1.0}, 1.0, 1.0, 1.0) is None


EXACT = CompletionOptions(rank=3, ridge=1e-9, sweeps=2000, tolerance=1e-13)


def _low_rank(rng, rows=20, columns=30, rank=3):
    product = rng.random((rows, rank)) @ rng.random((rank, columns))
    return product / product.max()


@pytest.mark.parametrize("seed", range(3))
def test_a_matrix_of_the_given_rank_is_recovered_and_known_entries_are_kept(seed):
    rng = np.random.default_rng(seed)
    x = _low_rank(rng)
    known = rng.random(x.shape) < 0.7
    found = completed(x, known, EXACT, np.random.default_rng(seed))
    np.testing.assert_allclose(found, x, atol=1e-5)
    x, known = rng.random((8, 12)), rng.random((8, 12)) < 0.4  # of no rank
    found = completed(x, known, CompletionOptions(), rng)
    np.testing.assert_array_equal(found[known], x[known])
    assert 0 <= found.min() <= found.max() <= 1


def _table():
    rng = np.random.default_rng(4)
    alone = {AloneKey(g, m, 1): float(rng.uniform(1, 9)) for g in ("k80", "v100") for m in "abcde"}
    pairs = {
        PairKey(g, a, b, 1): (alone[g, a, 1] * rng.uniform(0.3, 1), alone[g, b, 1] * rng.uniform(0.3, 1))
        for g in ("k80", "v100")
        for i, a in enumerate("abcde")
        for b in "abcde"[i + 1 :]
    }
    pairs |= {PairKey(g, a, a, 1): (0.5 * alone[g, a, 1],) * 2 for g in ("k80", "v100") for a in "abcde"}
    return Throughputs(alone, pairs)


def test_columns_are_types_of_partners_and_a_fully_profiled_job_matches_itself():
    table = _table()
    reference = reference_of(table, ("k80", "v100"))
    for i, kept in enumerate(reference.kept):
        known = np.ones(len(kept), dtype=bool)
        match, row = matched(kept, known, reference, CompletionOptions(), np.random.default_rng(0))
        assert match == i
        np.testing.assert_array_equal(row, kept)
    own, other = table.pair("v100", "b", "d", 1)
    row = reference.kept[reference.models.index("b")]
    at = reference.column(1, reference.models.index("d"))
    assert row[at] == pytest.approx(own / table.rate("v100", "b", 1))
    back = reference.kept[reference.models.index("d"), reference.column(1, reference.models.index("b"))]
    assert back == pytest.approx(other / table.rate("v100", "d", 1))


def _estimates(share):
    table = _table()
    reference = reference_of(table, ("k80", "v100"))
    return PairEstimates(table, reference, share, CompletionOptions(), RandomStreams(1))


def test_what_was_profiled_and_a_pair_that_ran_is_known():
    estimates = _estimates(1.0)
    for a, b in itertools.product("abcde", repeat=2):
        assert estimates.pair("v100", a, b) == pytest.approx(estimates.table.pair("v100", a, b, 1))
    estimates = _estimates(0.05)
    pairs = [(a, b) for a in "abcde" for b in "abcde" if a < b]
    guessed = [estimates.pair("k80", *p) for p in pairs]
    truth = [estimates.table.pair("k80", *p, 1) for p in pairs]
    assert not np.allclose(guessed, truth)
    for p in pairs:
        estimates.ran(*p)
    assert [estimates.pair("k80", *p) for p in pairs] == truth
    assert [estimates.pair("k80", b, a) for a, b in pairs] == [(y, x) for x, y in truth]


def test_answers_do_not_depend_on_the_order_of_questions():
    one, other = _estimates(0.2), _estimates(0.2)
    forward = {m: one.match(m) for m in "abcde"}
    assert {m: other.match(m) for m in "edcba"} == forward


REGIONS = {"east": (0, 1), "west": (2,)}


def regions(groups, move=False, **others):
    return with_regions(replace(_switched(), regions=RegionsSpec(groups=groups, move=move), **others))


@cache
def _switched(jobs=24, seed=3):
    rng, table = np.random.default_rng(seed), shipped_throughputs()
    models = sorted({k.model for k in table.alone})
    found, now = [], 0.0
    for i in range(jobs):
        model = models[rng.integers(len(models))]
        now += rng.exponential(1500)
        steps = float(int(rng.uniform(0.5, 4) * 3600 * table.rate("v100", model, 1)))
        found.append(TrainingJob(f"j{i}", model, steps, arrival_s=now, entity="ab"[i % 2]))
    groups = (NodeGroup("k80", 2, 2), NodeGroup("p100", 1, 2), NodeGroup("v100", 2))
    return TrainingSystem(TrainingCluster(groups), tuple(found), table)


def _run_with(system, policy="isolated", hooks=None):
    hooks = hooks_for(system) if hooks is None else hooks
    chosen = get_policy(policy)
    options = chosen.defaults | ({"space_sharing": True} if system.space_sharing else {})
    return simulate_training(system, chosen, options, hooks=hooks), hooks


@pytest.mark.parametrize(
    "switches",
    [
        {"estimates": EstimatesSpec(error=1, bias=1)},
        {"moves": MovesSpec(save=1e15, network=1e15, load=1e15, warmup=0)},
        {"failures": FailuresSpec(mtbf=1e9, checkpoint=0, restart=0, interval=1e6)},
        {"estimator": EstimatorSpec(profiled=1)},
    ],
    ids=lambda s: next(iter(s)),
)
def test_switches_without_effect_leave_equal_records(switches):
    plain, _ = _run_with(_switched(), hooks=NO_HOOKS)
    found, hooks = _run_with(replace(_switched(), **switches))
    assert (hooks_for(_switched()), isinstance(hooks, Extensions)) == (NO_HOOKS, True)
    if "moves" in switches or "failures" in switches:
        np.testing.assert_allclose(found.completion_s, plain.completion_s, rtol=1e-6)
    else:
        assert_equal(found, plain, but=("decision_s", "gaps"))


def test_runs_with_all_switches_repeat_to_the_byte_and_complete():
    system = regions(
        REGIONS,
        estimates=EstimatesSpec(bias=1.5),
        estimator=EstimatorSpec(),
        moves=MovesSpec(charge=True),
        failures=FailuresSpec(mtbf=36000),
        move=True,
    )
    (one, _), (other, _) = _run_with(system), _run_with(system)
    assert_equal(one, other, but=("decision_s", "gaps"))
    assert one.complete
    np.testing.assert_allclose(one.done, one.total_steps)


@pytest.mark.parametrize(
    "switches",
    [
        {"moves": MovesSpec(warmup=60)},
        {"failures": FailuresSpec(mtbf=20000)},
        {"moves": MovesSpec(warmup=60), "failures": FailuresSpec(mtbf=20000, interval=300)},
    ],
    ids=["moves", "failures", "both"],
)
def test_time_on_gpus_is_steps_done_or_lost(switches):
    """Alone on one type of GPU the rate never changes: rate · time = steps done + steps lost."""
    table = Throughputs({AloneKey("v100", m, 1): r for m, r in (("a", 2.0), ("b", 5.0), ("c", 3.0))})
    jobs = tuple(
        TrainingJob(f"j{m}", m, 40_000 * r, checkpoint_bytes=1e9)
        for m, r in zip("abc", (2, 5, 3), strict=True)
    )
    system = TrainingSystem(TrainingCluster((NodeGroup("v100", 2),)), jobs, table, **switches)
    found, hooks = _run_with(system)
    assert found.complete
    rates = np.array([2.0, 5.0, 3.0])
    np.testing.assert_allclose(found.done, found.total_steps)
    np.testing.assert_allclose(rates * found.busy_s[:, 0], found.done + found.lost, rtol=1e-9)
    seen = hooks.findings()
    spent = seen.move_s + seen.restart_s + seen.checkpoint_s
    undone = (seen.undone_share or 0.0) * found.done.sum()
    assert found.lost.sum() > 0
    assert undone <= found.lost.sum() <= rates.max() * spent + undone + 1e-6


def test_one_job_with_failures_takes_what_the_formula_says():
    c, m, r = 20.0, 4000.0, 40.0
    work_s, cluster = 400 * daly_s(c, m), TrainingCluster((NodeGroup("v100", 1),))
    table, failures = (
        Throughputs({AloneKey("v100", "a", 1): 1.0}),
        FailuresSpec(mtbf=m, checkpoint=c, restart=r),
    )
    system = TrainingSystem(cluster, (TrainingJob("a", "a", work_s),), table, round_s=1e6, failures=failures)
    walls = [_run_with(replace(system, seed=seed))[0].jct_s[0] / work_s for seed in range(8)]
    half = 4.0 * np.std(walls, ddof=1) / np.sqrt(len(walls))
    assert abs(np.mean(walls) - wall_per_work(daly_s(c, m), c, m, r)) < half


def test_moves_cost_time_and_a_charged_policy_moves_less():
    paid, _ = _run_with(replace(_switched(), moves=MovesSpec(warmup=60)))
    charged, hooks = _run_with(replace(_switched(), moves=MovesSpec(warmup=60, charge=True)))
    assert charged.moves.sum() < 0.6 * paid.moves.sum()
    assert charged.lost.sum() < paid.lost.sum()
    assert np.nanmean(charged.jct_s) < np.nanmean(paid.jct_s)
    assert hooks.findings().answers > 0


def test_wrong_claims_are_corrected_by_what_rounds_measure():
    before, after = (
        _run_with(replace(_switched(), estimates=EstimatesSpec(error=2, bias=2, correct=correct)))[
            1
        ].findings()
        for correct in (False, True)
    )
    assert before.claim_error_first == after.claim_error_first
    assert after.claim_error_last < 0.1 < before.claim_error_last
    assert set(after.flagged) & {j.name for j in _switched().jobs}


def test_estimated_pairs_become_the_truth_as_they_run():
    system = replace(_switched(), space_sharing=True, estimator=EstimatorSpec(profiled=0.05))
    found, hooks = _run_with(system, "gandiva")
    assert found.complete
    seen = hooks.findings()
    assert seen.pair_error_first > 0.02
    ran = next(p.jobs for p in found.placed if len(p.jobs) == 2)
    true = Rates(system).pair(*ran)[None]
    np.testing.assert_array_equal(hooks.believed_pairs(ran, [ran], true), true)
    again, _ = _run_with(system, "gandiva")
    assert_equal(found, again, but=("decision_s", "gaps"))


def test_a_job_runs_in_its_region_only():
    jobs = tuple(replace(j, region="east" if i % 2 else "west") for i, j in enumerate(_switched().jobs))
    system = regions(REGIONS, jobs=jobs)
    found, hooks = _run_with(system)
    for placed in found.placed:
        for job in placed.jobs:
            assert system.cluster.types[placed.kind].endswith(f"@{jobs[job].region}")
    assert hooks.findings().region_moves == 0
    assert all(not row.moved and row.horizon_s > (row.least_stay_s or 0) for row in hooks.findings().advice)


def test_jobs_move_where_the_planner_says_that_it_pays():
    """All data are in the slow region: moves shorten the mean JCT, and each row of advice pays."""
    jobs = tuple(replace(j, region="east") for j in _switched().jobs)
    (stayed, _), (moved, hooks) = (_run_with(regions(REGIONS, move, jobs=jobs)) for move in (False, True))
    assert np.nanmean(moved.jct_s) < np.nanmean(stayed.jct_s)
    seen = hooks.findings()
    assert seen.region_moves == len(seen.advice) > 0
    assert all(row.moved and row.gain_steps > 0 for row in seen.advice)


JOBS = ", ".join(
    f"{{name: j{i}, model: A3C, steps: {20_000 + 5_000 * i}, arrival: {10 * i} min}}" for i in range(9)
)
TEXT = f"""
cluster: {{servers: [{{gpu: k80, gpus: 2}}, {{gpu: v100, gpus: 2}}, {{gpu: k80, gpus: 2}}]}}
simulation: {{replications: 2}}
training:
  jobs: [{JOBS}]
  policies: [isolated]
"""


IN_REGIONS = ("regions: {groups: {west: [0], east: [1, 2]}}",)


def _scenario(*lines):
    return parse_scenario(TEXT + "".join(f"  {line}\n" for line in lines))


def test_every_setting_is_compared_with_all_switches_off():
    report = compare_switches(_scenario("moves: {warmup: 90 s}", "failures: {mtbf: 4 h, interval: 2 min}"))
    rows = {row.setting: row for row in report.rows}
    assert report.failed_checks == ()
    assert list(rows)[:3] == [OFF, "moves", "moves, charged"]
    assert rows[OFF].added_s.mean == 0.0
    assert rows[OFF].findings is None
    for row in rows.values():
        assert row.added_s.mean == pytest.approx(row.jct_s.mean - rows[OFF].jct_s.mean)
    assert rows["moves, charged"].moves < rows["moves"].moves
    given, daly = rows["failures, as given"], rows["failures, Daly's interval"]
    assert given.lost_steps_share > daly.lost_steps_share > 0
    assert SwitchesReport.from_json(report.to_json()) == report
    assert "moves, charged" in switches_text(report)


@pytest.mark.parametrize(("gpu", "home"), [("k80", "west"), ("v100", "east")])
def test_the_new_server_stands_in_the_first_region_of_its_type(gpu, home):
    larger = with_one_more(_scenario(*IN_REGIONS), gpu)
    places = {number: name for name, held in larger.training.regions.groups.items() for number in held}
    assert (sorted(places), places[3]) == ([0, 1, 2, 3], home)
    assert larger.cluster.servers[3].gpu == gpu


@pytest.mark.parametrize("lines", [(), IN_REGIONS])
def test_every_larger_cluster_is_simulated(lines):
    report = one_more_gpu(_scenario(*lines), "fifo")
    assert [row.gpu for row in report.rows] == ["k80", "v100"]
    assert all(row.makespan_s <= report.base.makespan_s for row in report.rows)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: young_s(1, 0), "mtbf=0 s must be above 0"),
        (lambda: wall_per_work(1, 1, 1, -1), "restart=-1 s must be at least 0"),
        (lambda: RateClaims(0.5, 1.0, RandomStreams(1)), "error=0.5 is a factor of at least 1"),
        (lambda: _estimates(0.2).match("zebra"), "'zebra' has no rate on one GPU"),
        (lambda: regions({"east": (0, 1)}), "server group 2 is in no region"),
        (lambda: regions({"east": (0, 1, 2, 5)}), "there is no server group 5"),
        (
            lambda: regions(REGIONS, jobs=(TrainingJob("a", "A3C", 1, region="moon"),)),
            "region 'moon' is not known",
        ),
        (lambda: compare_switches(_scenario()), "none of estimator, .*, moves, failures, regions is set"),
        (lambda: checkpoint_report(_scenario("failures: {mtbf: 24 h, checkpoint: 0 s}")), "above 0 s"),
    ],
)
def test_what_cannot_be_is_refused(make, says):
    with pytest.raises(NonaError, match=says):
        make()
