"""The learned schedulers: their scores against a second computation, what they pick, their files."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scheduler_cases import fork_join_chain, random_ready, random_view, system_of

from evidence.learning.training import first_weights
from nona.core.errors import SimulationError
from nona.queries.schedulers.learned import card, choose, decima
from nona.queries.schedulers.learned.network import (
    BLIND_PAIR,
    LINK_PAIR,
    leaky,
    mean_work_s,
    network_of,
    task_features,
)
from nona.queries.schedulers.registry import get_scheduler

QUERIES = [fork_join_chain("a", [3, 2], 1), fork_join_chain("b", [0, 4], 2)]
NAMES = ("decima-blind", "decima-link")


def system(executor_server=(0, 0, 1, 1, 2, 3)):
    return system_of(QUERIES, executor_server)


def embedded(network, dag, features, v):
    """e_v by recursion, as the formula reads."""
    below = [embedded(network, dag, features, u) for u in dag.successors[v]]
    own = leaky(network.prepare(features[v]))
    if not below:
        return own
    inner = sum(leaky(network.inner2(leaky(network.inner1(e)))) for e in below)
    return own + leaky(network.outer2(leaky(network.outer1(inner))))


@pytest.mark.parametrize("pair", [BLIND_PAIR, LINK_PAIR])
def test_scores_equal_the_formula(pair):
    rng, s = np.random.default_rng(4), system()
    network = network_of(first_weights(rng, pair), pair)
    tables, unit_s = choose.learned_tables(s, network), mean_work_s(s)
    known = []
    for q in s.queries:
        x = task_features(s, q, unit_s)
        e = np.array([embedded(network, q.tasks.dag, x, v) for v in range(len(q.tasks))])
        known.append((e, leaky(network.job2(leaky(network.job1(np.concatenate([x, e], axis=1)))))))
    seen = 0
    for _ in range(40):
        view, ready = random_view(s, rng), random_ready(s, rng)
        found = choose.candidates(2.0, view, ready, tables)
        for i, features, score in zip(found.entry, found.features, found.score, strict=True):
            e, job = known[ready.query[i]]
            base = ready.base[i]
            left = [t for t in range(len(e)) if ready.places[base + t] >= -1]
            x = np.concatenate([e[ready.task[i]], job[left].sum(axis=0), features])
            wanted = network.score3(leaky(network.score2(leaky(network.score1(x)))))[0]
            assert score == pytest.approx(wanted, rel=1e-9, abs=1e-12)
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("name", NAMES)
def test_it_picks_a_free_executor_of_highest_score_or_waits_for_a_busy_one(name):
    rng, s = np.random.default_rng(6), system()
    tables = decima.LearnedPolicy(name)(s, None, {}).tables
    out, waited, picked = np.zeros(2, dtype=np.int64), 0, 0
    for _ in range(300):
        view, ready = random_view(s, rng), random_ready(s, rng)
        u = rng.random(1)
        found = choose.candidates(2.0, view, ready, tables)
        free = view.queue_length[found.executor] == 0
        if choose.decide(2.0, view, ready, tables, u, out):
            picked += 1
            assert view.queue_length[out[1]] == 0
            of = found.score[(found.entry == out[0]) & free]
            best = int(np.flatnonzero((found.entry == out[0]) & free)[of.argmax()])
            alike = view.executor_class == view.executor_class[found.executor[best]]
            assert alike[out[1]]
            waiting = {int(e) for e in found.entry} - {int(out[0])}
            for i in waiting:  # whoever scores higher waits for its busy executor
                mine = found.entry == i
                if found.score[mine].max() > of.max():
                    assert not free[mine][found.score[mine].argmax()]
                    waited += 1
        else:
            for i in {int(e) for e in found.entry}:
                mine = found.entry == i
                assert not free[mine][found.score[mine].argmax()], "every task waits"
    assert picked > 100
    assert waited > 0


def test_executors_that_are_alike_are_scored_once():
    s = system(tuple(range(40)))
    rng = np.random.default_rng(8)
    tables = decima.LearnedPolicy("decima-link")(s, None, {}).tables
    view = random_view(s, rng)
    ready = next(r for r in (random_ready(s, rng, 3) for _ in range(100)) if r.n)
    view = view._replace(queue_length=np.zeros(40, dtype=np.int64))
    found = choose.candidates(2.0, view, ready, tables)
    assert len(found.entry) <= ready.n * 8
    kinds = {(int(i), *f.tolist()) for i, f in zip(found.entry, found.features, strict=True)}
    assert len(kinds) == len(found.entry)


@pytest.mark.parametrize("name", NAMES)
def test_shipped_weights_are_small_say_how_they_were_made_and_for_which_systems(name):
    found = card.shipped(name)
    assert len(found.to_text()) < 50_000
    assert len(found.card.curve) == 20
    assert np.mean(found.card.curve[-5:]) < np.mean(found.card.curve[:3])
    scheduler = get_scheduler(name)
    (line,) = scheduler.cautions(replace(system(tuple(range(120))), capacity=1e9))
    assert "120 servers (2 to 96)" in line
    assert "servers" not in " ".join(card.out_of_range(found.card.ranges, system()))


NO_WEIGHTS = ["", "[]", "{", "null", '{"format": 1}', "[" * 40_000, "0" * 60_000]


@pytest.mark.parametrize("text", [*NO_WEIGHTS, '{"format": 2, "card": {}, "weights": []}'])
def test_what_is_no_file_of_weights_is_refused_in_one_line(text):
    with pytest.raises(SimulationError, match=r"^Weights 'x': not a file of weights"):
        card.from_text(text, "x")


def test_damaged_weights_are_refused(tmp_path):
    good = json.loads(card.shipped("decima-link").to_text())
    rest = good["weights"][1:]
    for key, value in (("weights", rest), ("weights", [*rest, "a"]), ("format", 9)):
        with pytest.raises(SimulationError, match="not a file of weights"):
            card.from_text(json.dumps({**good, key: value}), "x")
    with pytest.raises(SimulationError, match="cannot be read"):
        card.read_weights(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(SimulationError, match="cannot be read"):
        card.read_weights(tmp_path / "bytes.json")
