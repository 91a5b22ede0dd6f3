"""What each policy gives query flows, computed by hand."""

import numpy as np
import pytest
from scheduler_cases import random_view, slides_query, system_of

from nona.queries.schedulers.base import RoundInput
from nona.queries.schedulers.flows import allotter, gandiva, gavel, tiresias, whole_workers
from nona.queries.schedulers.flows.allotter import FlowCluster, FlowKnowledge, RoundQuestion

VIEW = random_view(system_of([slides_query()]), np.random.default_rng(0))
AMPLE = 1e6


def cluster(rates, counts):
    classes = np.repeat(np.arange(len(counts)), counts)
    return FlowCluster(
        flows=tuple(f"flow {i}" for i in range(len(rates))),
        classes=tuple(f"class {k}" for k in range(len(counts))),
        executor_class=classes.astype(np.int64),
        counts=np.array(counts, dtype=np.int64),
        rates=np.array(rates, dtype=float),
    )


def seen(of, **changes):
    flows, classes = of.rates.shape
    nothing = np.zeros((flows, classes))
    fields = {
        "now_s": 1.0,
        "length_s": 1.0,
        "offered": np.zeros(flows, np.int64),
        "completed": nothing.astype(np.int64),
        "service_s": nothing,
        "open": np.zeros(flows, np.int64),
        "slowdown": np.full(flows, np.nan),
        "view": VIEW,
    }
    return RoundInput(**(fields | {name: np.array(value) for name, value in changes.items()}))


def question(rates, counts, expected=None, owned=None, **changes):
    """With ample work, unless ``expected`` queries a round say otherwise."""
    of = cluster(rates, counts)
    known = FlowKnowledge(np.array(expected or [AMPLE] * len(rates), dtype=float), of.rates)
    return RoundQuestion(of, known, seen(of, **changes), np.array(owned or [sum(counts)] * len(rates)))


def test_max_min_fairness_by_hand():
    """Two fast executors and two slow ones; flow 0 does 2/s and 1/s there, flow 1 always 1/s.

    With all executors they do 6/s and 4/s. Flow 0 takes a of the fast ones, flow 1 the rest:
    2a/6 = (4 − a)/4 gives a = 12/7, and both have 4/7 of what they could.
    """
    asked = question([[2, 1], [1, 1]], [2, 2])
    claims, _ = allotter.AskPolicy("max-min-fairness")(asked, None)
    assert claims.rows == ((0,), (1,))
    assert claims.executors == pytest.approx(np.array([[12 / 7, 0], [2 / 7, 2]]), abs=1e-5)


def test_makespan_gives_every_flow_the_same_headroom():
    asked = question([[1.0], [1.0]], [8], expected=[3.0, 1.0])
    claims, _ = allotter.AskPolicy("makespan")(asked, None)
    assert claims.executors[:, 0] == pytest.approx([6, 2], abs=1e-5)


@pytest.mark.parametrize("policy", gavel.flow_policies())
def test_every_policy_that_gavel_takes_gives_executors_that_there_are_and_that_hold_the_model(policy):
    asked = question([[2, 1], [1, 0], [3, 3]], [4, 2], open=[3, 0, 1])
    claims, _ = allotter.AskPolicy(policy)(asked, None)
    cut = allotter.within_needs(asked, claims).executors
    assert (cut.sum(axis=0) <= np.array([4, 2]) + 1e-5).all()
    assert cut[1, 1] == 0
    assert cut.sum() > 0


def test_themis_lets_the_worst_off_bid():
    """Of two flows with f = 0.8 one bids. Flow 1's queries have waited, so its ρ is worse; alone, it pays
    nothing and gets all."""
    asked = question([[1.0], [1.0]], [4], expected=[4.0, 4.0], open=[0, 8], now_s=9.0)
    claims, _ = allotter.AskPolicy("themis-auction", {"fairness_knob": 0.8})(asked, None)
    assert claims.executors[:, 0] == pytest.approx([0, 4], abs=1e-4)


def test_tiresias_serves_the_flow_with_the_least_service():
    """Both need 3 of 4 executors. Flow 0 falls when it has had 10 executor-seconds; then flow 1 is first."""
    ask = tiresias.AskTiresias((10.0, 50.0), 0.0)
    first, standing = ask(question([[1.0], [1.0]], [4], [3.0, 3.0], service_s=[[1.0], [1.0]]), None)
    assert first.executors[:, 0].tolist() == [3.0, 1.0]
    second, standing = ask(question([[1.0], [1.0]], [4], [3.0, 3.0], service_s=[[9.0], [1.0]]), standing)
    assert second.executors[:, 0].tolist() == [1.0, 3.0]
    assert standing.queue.tolist() == [1, 0]


def test_optimus_and_pollux_by_hand():
    """Work 1 : 4 at equal rates: executors as its root for Optimus; for Pollux, which only knows what a flow
    needs, in equal parts until the need of flow 0 is met."""
    plain = question([[1.0], [1.0]], [6], [1000.0, 4000.0])
    assert whole_workers.optimus_claims(plain, None)[0].executors[:, 0].tolist() == [2, 4]
    assert whole_workers.pollux_claims(plain, None)[0].executors[:, 0].tolist() == [3, 3]
    small = question([[1.0], [1.0]], [6], [2.0, 4000.0])
    assert whole_workers.pollux_claims(small, None)[0].executors[:, 0].tolist() == [2, 4]


def gandiva_after(slowdown):
    trial = gandiva.PackingTrial(((0, 1), (2,), (3,)), np.array([2.0, 2.0, 2.0, 2.0]))
    asked = question([[1.0]] * 4, [8], slowdown=slowdown)
    return gandiva.AskGandiva(0)(asked, trial)[1].rows


def test_gandiva_undoes_a_pair_that_got_slower_and_keeps_one_that_did_not():
    assert (0, 1) in gandiva_after([1.0, 2.0, 2.0, 2.0])
    assert (0, 1) in gandiva_after([2.0, 2.0, 9.0, 9.0])
    assert (0, 1) not in gandiva_after([4.0, 2.0, 2.0, 2.0])


def test_gandiva_gives_each_row_an_equal_part_and_remembers_slowdowns_alone():
    first, trial = gandiva.AskGandiva(0)(question([[1.0]] * 5, [12]), None)
    used = first.executors[first.executors.any(axis=1)]
    assert used[:, 0] == pytest.approx([12 / len(used)] * len(used))
    flows = sorted(i for row in trial.rows for i in row)
    assert flows == [0, 1, 2, 3, 4]
    single = next(row[0] for row in trial.rows if len(row) == 1)
    paired = next(row[0] for row in trial.rows if len(row) == 2)
    _, later = gandiva.AskGandiva(0)(question([[1.0]] * 5, [12], slowdown=[3.0] * 5), trial)
    assert later.alone[single] == 3.0
    assert np.isnan(later.alone[paired])


ASKS = [
    allotter.AskPolicy("max-min-fairness"),
    allotter.AskPolicy("finish-time-fairness"),
    allotter.AskPolicy("themis-auction"),
    tiresias.AskTiresias((1.0, 2.0), 1.0),
    gandiva.AskGandiva(3),
    whole_workers.optimus_claims,
    whole_workers.pollux_claims,
]


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: getattr(ask, "__name__", repr(ask)))
def test_flows_without_queries_claim_nothing(ask):
    idle = question([[1.0], [1.0]], [4], expected=[1e-300, 1e-300])
    nobody, memory = ask(idle, None)
    assert allotter.within_needs(idle, nobody).executors.sum() == 0
    one = question([[1.0], [1.0]], [4], expected=[1e-300, AMPLE])
    claims = allotter.within_needs(one, ask(one, memory)[0])
    assert claims.executors[[0 in row for row in claims.rows]].sum() <= 1e-6


def test_claims_are_cut_to_what_the_work_needs():
    asked = question([[2.0], [1.0]], [9], expected=[4.0, 100.0])
    cut = allotter.within_needs(asked, allotter.single_claims(np.array([[4.0], [5.0]])))
    assert cut.executors[:, 0].tolist() == [2.0, 5.0]  # 4 queries/s at 2/s each
    pair = allotter.within_needs(asked, allotter.ExecutorClaims(((0, 1),), np.array([[9.0]])))
    assert pair.executors.tolist() == [[9.0]]  # 4/18 and 100/9 of it
    little = question([[2.0], [1.0]], [9], expected=[2.0, 1.0])
    assert allotter.within_needs(
        little, allotter.ExecutorClaims(((0, 1),), np.array([[9.0]]))
    ).executors.tolist() == [[2.0]]


@pytest.mark.parametrize("seed", range(10))
def test_over_rounds_every_row_gets_what_it_claims_to_less_than_an_executor(seed):
    rng = np.random.default_rng(seed)
    of = cluster(np.ones((3, 2)).tolist(), [5, 3])
    claim = rng.dirichlet(np.ones(4), 2).T[:3] * np.array([5, 3])
    claims, held, got = allotter.single_claims(claim), None, np.zeros((4, 2))
    for rounds in range(1, 60):
        held = allotter.hold(of, claims, held)
        assert held.owner.min() >= 0
        for k in range(2):
            got[:, k] += np.bincount(held.owner[of.executor_class == k], minlength=4)
        due = rounds * np.vstack([claim, np.array([5, 3]) - claim.sum(axis=0)])
        assert (np.abs(got - due) < 1 + 1e-6).all()


def test_a_row_keeps_its_executors_and_all_flows_share_the_rest():
    of = cluster([[1.0], [1.0]], [6])
    first = allotter.hold(of, allotter.single_claims(np.array([[2.0], [3.0]])), None)
    assert first.owner.tolist() == [0, 0, 1, 1, 1, 2]
    assert allotter.sets_of(of, first).astype(int).tolist() == [[1, 1, 0, 0, 0, 1], [0, 0, 1, 1, 1, 1]]
    assert allotter.owned(of, first).tolist() == [2, 3]
    second = allotter.hold(of, allotter.single_claims(np.array([[3.0], [2.0]])), first)
    assert second.owner.tolist() == [0, 0, 1, 1, 0, 2]  # the last of flow 1's goes to flow 0
    together = allotter.hold(of, allotter.ExecutorClaims(((0, 1),), np.array([[6.0]])), second)
    assert together.rows == ((0, 1), allotter.ALL)
    assert allotter.sets_of(of, together).all()


def test_rates_and_expectations_are_half_measured():
    of = cluster([[4.0], [4.0]], [2])
    known = allotter.learned(
        of, None, seen(of, offered=[10, 2], completed=[[6], [0]], service_s=[[3.0], [0.0]])
    )
    assert known.expected.tolist() == [10.0, 2.0]
    assert known.rates[:, 0].tolist() == [3.0, 4.0]  # half of 4 and of 6 in 3 s
    later = allotter.learned(
        of, allotter.FlowKnowledge(known.expected, known.rates), seen(of, offered=[0, 4])
    )
    assert later.expected.tolist() == [5.0, 3.0]
    assert later.rates[:, 0].tolist() == [3.0, 4.0]
