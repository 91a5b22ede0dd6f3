"""The fluid bound: by hand, and rounds come near to it as they shrink."""

from __future__ import annotations

import numpy as np
import pytest

from nona.allocation.registry import get_policy
from nona.training.ideal import ideal_jcts_s
from nona.training.rounds import simulate_training
from nona.training.system import AloneKey, Job, NodeGroup, Throughputs, TrainingCluster, TrainingSystem


def _system(jobs: tuple[Job, ...], rates: dict[str, float], gpus: int, round_s: float) -> TrainingSystem:
    table = Throughputs({AloneKey("a", model, 1): rate for model, rate in rates.items()})
    cluster = TrainingCluster((NodeGroup("a", gpus),))
    return TrainingSystem(cluster, jobs, table, round_s=round_s, reallocation_s=0.0)


def test_equal_shares_by_hand() -> None:
    """Two jobs share one GPU: y alone needs 100 s, shared 200 s; x then has 200 s of its 300 s left."""
    system = _system((Job("x", "x", 300), Job("y", "y", 200)), {"x": 1.0, "y": 2.0}, 1, 360.0)
    assert ideal_jcts_s(system, get_policy("isolated"), {}).tolist() == pytest.approx([400, 200])


def test_shares_beyond_the_gpus_are_cut() -> None:
    """Proportional gives both jobs all of the one GPU: each has half."""
    system = _system((Job("x", "x", 300), Job("y", "x", 300)), {"x": 1.0}, 1, 360.0)
    assert ideal_jcts_s(system, get_policy("proportional"), {}).tolist() == pytest.approx([600, 600])


def test_a_notebook_takes_its_gpu_out_of_the_shares() -> None:
    """For its 100 s the other job has no GPU."""
    jobs = (Job("n", "x", 100, kind="interactive"), Job("x", "x", 300, arrival_s=10))
    system = _system(jobs, {"x": 1.0}, 1, 360.0)
    assert ideal_jcts_s(system, get_policy("isolated"), {}).tolist() == pytest.approx([100, 390])


def test_rounds_come_near_to_the_bound_as_they_shrink() -> None:
    jobs = tuple(Job(str(i), f"m{i}", 2000 * (i + 1), arrival_s=400.0 * i) for i in range(6))
    rates = {f"m{i}": 1.0 + i for i in range(6)}
    errors = []
    for round_s in (360.0, 30.0, 3.0):
        system = _system(jobs, rates, 2, round_s)
        policy = get_policy("max-min-fairness")
        found = simulate_training(system, policy, {}).jct_s
        errors.append(float(np.abs(found - ideal_jcts_s(system, policy, {})).max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 60
