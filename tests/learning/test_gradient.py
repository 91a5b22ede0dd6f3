"""The policy's gradient by hand against differences, and against choices whose gradient is known."""

from __future__ import annotations

import numpy as np
import pytest

from nona.graph.dag import Dag
from nona.learning.gradient import Graphs, gradient
from nona.learning.rollouts import Choices
from nona.schedulers.learned.network import (
    BLIND_PAIR,
    LINK_PAIR,
    STATE,
    embed,
    first_weights,
    leaky,
    network_of,
)

DAGS = (
    Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)], "diamond"),
    Dag.from_edges(3, [(0, 1), (1, 2), (0, 2)], "triangle"),
    Dag.from_edges(1, [], "one"),
)


def drawn(pair: int, seed: int, count: int = 12) -> tuple[np.ndarray, Graphs, Choices, np.ndarray]:
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


def objective(
    weights: np.ndarray, pair: int, graphs: Graphs, c: Choices, advantage: np.ndarray, entropy: float
) -> float:
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
def test_the_gradient_equals_differences(pair: int, seed: int) -> None:
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


def test_every_layer_has_a_part_in_the_gradient() -> None:
    weights, graphs, choices, advantage = drawn(LINK_PAIR, 3, 60)
    given = network_of(gradient(weights, LINK_PAIR, graphs, choices, advantage, 0.0), LINK_PAIR)
    for name in (
        "prepare",
        "inner1",
        "inner2",
        "outer1",
        "outer2",
        "job1",
        "job2",
        "score1",
        "score2",
        "score3",
    ):
        assert np.abs(getattr(given, name).weight).max() > 0, name


def test_equal_candidates_have_no_gradient_but_of_nothing() -> None:
    weights, graphs, choices, advantage = drawn(BLIND_PAIR, 4)
    same = Choices(
        choices.end,
        choices.taken,
        choices.time_s,
        np.full_like(choices.task, 2),
        np.full_like(choices.open_tasks, 7),
        np.ones_like(choices.features),
    )
    assert np.abs(gradient(weights, BLIND_PAIR, graphs, same, advantage, 1.0)).max() < 1e-9
