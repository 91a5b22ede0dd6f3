"""What holds for every policy of training clusters, those that are registered later too."""

import numpy as np
import pytest
from allocation_cases import problem

from nona.allocation.problem import EntityShare
from nona.allocation.registry import POLICIES
from nona.training.records import run_checks
from nona.training.rounds import simulate_training
from nona.training.system import NodeGroup, TrainingCluster, TrainingJob, TrainingSystem
from nona.training.throughput_table import shipped_throughputs

SEEDS = range(4)
MODELS = ("ResNet-18 (batch size 32)", "LM (batch size 20)", "A3C", "CycleGAN", "Transformer (batch size 64)")
SHARING = [
    (p, share) for p in POLICIES.values() for share in ((False, True) if p.space_sharing else (False,))
]
IDS = [f"{p.name}{', packed' if share else ''}" for p, share in SHARING]


def options(policy, share):
    return {**policy.defaults, "space_sharing": True} if share else dict(policy.defaults)


def random_problem(seed, single):
    """1 to 9 jobs; some types run some jobs not at all; pairs of equal jobs at 60 % of their rates each."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 10))
    rates = rng.uniform(0.5, 20, (m, 3)) * (rng.random((m, 3)) < 0.9)
    rates[:, 2] = np.maximum(rates[:, 2], 0.5)
    workers = np.ones(m) if single else rng.choice([1, 1, 2], m)
    a, b = np.triu_indices(m, 1)
    equal = workers[a] == workers[b]
    together = 0.6 * np.stack([rates[a], rates[b]], axis=2)[equal]
    together[(together == 0).any(axis=2)] = 0.0
    return problem(
        rates,
        rng.integers(2, 5, 3),
        workers=workers,
        weights=rng.uniform(0.5, 3, m),
        remaining=rng.uniform(100, 1e5, m),
        elapsed_s=rng.uniform(0, 1e4, m),
        isolated_s=rng.uniform(0, 1e4, m),
        slo_s=np.where(rng.random(m) < 0.4, rng.uniform(10, 1e5, m), np.nan),
        prices=rng.uniform(0.2, 3, 3),
        entities=(EntityShare("a"), EntityShare("b", 2.0, "fifo")),
        entity=rng.integers(0, 2, m),
        pairs=np.column_stack([a, b])[equal],
        pair_rates=together,
    )


def answer(policy, share, seed):
    asked = random_problem(seed, single=policy.name == "allox")
    return asked, policy.prepare(options(policy, share))(asked)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("policy", "share"), SHARING, ids=IDS)
def test_shares_are_feasible_and_certified(policy, share, seed):
    asked, found = answer(policy, share, seed)
    shares = found.shares
    assert shares.shape == (len(found.rows), 3)
    assert (shares >= 0).all()
    assert (shares <= 1 + 1e-9).all()
    time, used = np.zeros(asked.jobs), np.zeros(3)
    for row, part in zip(found.rows, shares, strict=True):
        time[list(row)] += part.sum()
        used += asked.workers[row[0]] * part
    assert time.max() <= 1 + 1e-6
    if policy.name != "proportional":  # what each job would have of the whole cluster, as in the paper
        assert (used <= asked.gpus * (1 + 1e-6)).all()
    if np.isfinite(found.objective):
        assert found.gap < 1e-4


def random_system(seed, policy, share):
    rng = np.random.default_rng(seed)
    jobs, at = [], 0.0
    for number in range(12):
        at += float(rng.exponential(500))
        kind = "interactive" if number % 6 == 5 else "training"
        workers = 1 if policy.name == "allox" or kind == "interactive" else int(rng.choice([1, 1, 2]))
        model = MODELS[int(rng.integers(3 if workers > 1 else len(MODELS)))] if workers == 1 else MODELS[0]
        jobs.append(
            TrainingJob(
                str(number),
                model,
                float(rng.uniform(300, 20_000)) if kind == "training" else 3000.0,
                workers=workers,
                arrival_s=at,
                slo_s=5000.0 if number % 3 == 0 else None,
                entity="ab"[number % 2],
                kind=kind,
            )
        )
    cluster = TrainingCluster((NodeGroup("v100", 1, 2), NodeGroup("k80", 2, 2)), {"v100": 2.5, "k80": 0.5})
    return TrainingSystem(cluster, tuple(jobs), shipped_throughputs(), seed=seed, space_sharing=share)


@pytest.mark.parametrize(("policy", "share"), SHARING, ids=IDS)
def test_runs_pass_their_checks_and_repeat_to_the_byte(policy, share):
    for seed in (1, 2):
        system = random_system(seed, policy, share)
        first, second = (simulate_training(system, policy, options(policy, share)) for _ in range(2))
        assert first.complete
        assert [c for c in run_checks(system, first) if not c.ok] == []
        assert first.completion_s.tobytes() == second.completion_s.tobytes()
        assert first.placed == second.placed
