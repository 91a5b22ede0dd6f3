"""Learning a policy: its gradient, what a choice brought, that it learns and repeats to the last bit."""

from dataclasses import replace

import numpy as np
import pytest
from sizes import sized

from evidence.learning.gradient import Adam, Graphs, gradient
from evidence.learning.rollouts import Choices, Rollout, advantages, job_seconds
from evidence.learning.training import TrainSettings, drawn_system, first_weights, rollouts_of, trained
from nona.core.errors import SimulationError
from nona.models.graph.dag import Dag
from nona.queries.schedulers.learned.card import Ranges, from_text, numbers_of, out_of_range, read_weights
from nona.queries.schedulers.learned.network import (
    BLIND_PAIR,
    LINK_PAIR,
    STATE,
    embed,
    leaky,
    network_of,
)
from tests.cli.calling import text

DAGS = (
    Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)], "diamond"),
    Dag.from_edges(3, [(0, 1), (1, 2), (0, 2)], "triangle"),
    Dag.from_edges(1, [], "one"),
)


def drawn(pair, seed, count=12):
    """Weights, graphs, and choices among two to four candidates of jobs in any stage."""
    rng = np.random.default_rng(seed)
    graphs = Graphs(DAGS, tuple(rng.normal(size=(len(d), 3)) for d in DAGS))
    each = rng.integers(2, 5, count)
    end = np.cumsum(each)
    rows = int(end[-1])
    taken = end - 1 - np.array([rng.integers(0, n) for n in each])
    query = rng.integers(0, len(DAGS), rows)
    first = np.cumsum([0, *(len(d) for d in DAGS)])
    task = np.array([first[q] + rng.integers(0, len(DAGS[q])) for q in query])
    open_tasks = np.array([rng.integers(1, 2 ** len(DAGS[q])) for q in query])
    choices = Choices(
        end, taken, np.sort(rng.random(count)), task, open_tasks, rng.random((rows, pair + STATE))
    )
    return first_weights(rng, pair), graphs, choices, rng.normal(size=count)


def objective(weights, pair, graphs, c, advantage, entropy):
    """Σ advantage · log p(taken) + entropy · H, candidate by candidate, as it is written."""
    network = network_of(weights, pair)
    made = [embed(network, d, x) for d, x in zip(graphs.dags, graphs.features, strict=True)]
    owner = [(q, t) for q, d in enumerate(graphs.dags) for t in range(len(d))]
    total, begin = 0.0, 0
    for k, end in enumerate(c.end.tolist()):
        scores = []
        for row in range(begin, end):
            q, t = owner[c.task[row]]
            job = sum(made[q].job[i] for i in range(len(graphs.dags[q])) if c.open_tasks[row] >> i & 1)
            x = np.concatenate([made[q].task[t], job, c.features[row]])
            scores.append(network.score3(leaky(network.score2(leaky(network.score1(x)))))[0])
        p = np.exp(scores) / np.exp(scores).sum()
        total += advantage[k] * np.log(p[c.taken[k] - begin]) - entropy * (p * np.log(p)).sum()
        begin = end
    return total


@pytest.mark.parametrize("pair", [BLIND_PAIR, LINK_PAIR])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_gradient_equals_differences(pair, seed):
    weights, graphs, choices, advantage = drawn(pair, seed)
    found = gradient(weights, pair, graphs, choices, advantage, 0.3)
    rng = np.random.default_rng(seed)
    for _ in range(30):  # along random directions: all layers at once
        way = rng.normal(size=len(weights))
        step = 1e-6 * way
        ahead, behind = (
            objective(w, pair, graphs, choices, advantage, 0.3) for w in (weights + step, weights - step)
        )
        assert (ahead - behind) / 2e-6 == pytest.approx(found @ way, rel=1e-4, abs=1e-5)


def test_equal_candidates_have_no_gradient_but_of_nothing():
    weights, graphs, choices, advantage = drawn(BLIND_PAIR, 4)
    values = {"task": 2, "open_tasks": 7, "features": 1}
    same = replace(choices, **{k: np.full_like(getattr(choices, k), v) for k, v in values.items()})
    assert np.abs(gradient(weights, BLIND_PAIR, graphs, same, advantage, 1.0)).max() < 1e-9


# Four servers whose link cannot carry what random choices send over it: to stay is learned at once.
LOADED = Ranges((4, 4), (1, 1), load=(0.4, 0.5), link=(0.5, 0.6), crossing=(2.0, 2.5), tasks=(4, 6))
SHORT = TrainSettings(iterations=40, rollouts=8, jobs=60, rate=2e-2, last_rate=5e-3, ranges=LOADED)


def rollout(arrival_s, completion_s, choice_s):
    none = np.zeros(0, dtype=np.int64)
    choices = Choices(none, none, np.array(choice_s), none, none, np.zeros((0, 0)))
    return Rollout(choices, np.array(arrival_s), np.array(completion_s))


def test_job_seconds_and_advantages_by_hand():
    run = rollout([0.0, 1.0], [3.0, 4.0], [])
    assert job_seconds(run, np.array([0.5, 2.0, 3.5, 9.0])).tolist() == [0.5, 3.0, 5.5, 6.0]
    # In the next 2 s from 1 s on: the first has two jobs for 2 s; the second one for 2 s, one for 1 s.
    a, b = rollout([0.0, 1.0], [3.0, 4.0], [1.0]), rollout([0.0, 1.0], [2.0, 3.0], [1.0])
    first, second = advantages([a, b], 2.0)
    assert first[0] == -second[0] == pytest.approx(-1.0)


def test_adam_finds_the_top_of_a_hill():
    at, adam = np.array([5.0, -3.0]), Adam(2)
    for _ in range(2000):
        adam.step(at, np.array([1.0, 2.0]) - at, 0.01)
    assert at == pytest.approx([1.0, 2.0], abs=1e-3)


@pytest.mark.verify
def test_runs_of_one_system_have_the_same_arrivals_and_other_choices():
    system = drawn_system(LOADED, np.random.default_rng(1))
    runs = rollouts_of(system, first_weights(np.random.default_rng(2), 8), SHORT)
    assert all((r.arrival_s == runs[0].arrival_s).all() for r in runs)
    assert len({r.completion_s.tobytes() for r in runs}) == len(runs)
    for r in runs:
        c = r.choices
        assert (np.diff(c.end, prepend=0) >= 2).all(), "a choice of one is none"
        assert (c.taken < c.end).all()
        assert (c.taken >= np.concatenate([[0], c.end[:-1]])).all()
        assert (np.diff(c.time_s) >= 0).all()


@pytest.mark.verify
@pytest.mark.parametrize("sees_link", [True, False])
def test_a_short_training_improves_on_its_start(sees_link):
    settings = replace(SHORT, sees_link=sees_link)
    weights, _ = trained(settings)
    start, _ = trained(replace(settings, iterations=1, rate=1e-12))  # it has not moved
    rng = np.random.default_rng(11)  # of no training
    systems = [drawn_system(LOADED, rng) for _ in range(4)]
    runs = [[r for s in systems for r in rollouts_of(s, w, settings)] for w in (start, weights)]
    before, after = (np.mean([r.mean_jct_s for r in group]) for group in runs)
    assert after < 0.75 * before


@pytest.mark.verify
@pytest.mark.sized
@pytest.mark.parametrize("sees_link", [True, False])
def test_training_repeats_to_the_bit(sees_link):
    settings = replace(SHORT, sees_link=sees_link, iterations=sized(2, 3), rollouts=2, jobs=sized(10, 30))
    weights, curve = trained(settings)
    again, same = trained(settings)
    assert weights.tobytes() == again.tobytes()
    assert curve.tobytes() == same.tobytes()
    other, _ = trained(replace(settings, seed=2, iterations=1))
    assert other.tobytes() != weights.tobytes()


def test_drawn_systems_lie_in_their_ranges_and_too_many_tasks_for_the_bits_of_a_number_are_refused():
    rng = np.random.default_rng(5)
    for _ in range(60):
        system = drawn_system(Ranges(), rng)
        assert out_of_range(Ranges(), system) == (), numbers_of(system)
    large = drawn_system(replace(LOADED, tasks=(51, 51)), rng)
    with pytest.raises(SimulationError, match="has 51 tasks, at most 50"):
        rollouts_of(large, first_weights(rng, 8), SHORT)


def test_the_command_writes_weights_that_can_be_read(tmp_path, capsys):
    file = tmp_path / "mine.json"
    words = ["train-decima", "-o", file, "--iterations", 2, "--rollouts", 2, "--jobs", 10, "--seed", 3]
    text(capsys, *words)
    found = read_weights(file)
    assert (found.card.seed, found.card.iterations, found.card.sees_link) == (3, 2, True)
    assert from_text(found.to_text(), "again").to_text() == file.read_text()
    assert len(file.read_bytes()) < 50_000
    text(capsys, *words, "--force", "--hide-link")
    assert not read_weights(file).card.sees_link
