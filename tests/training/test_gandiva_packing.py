"""Gandiva's packing by trial, where pairs were measured; and why elastic jobs have none."""

import numpy as np
import pytest

from nona.allocation.registry import get_policy
from nona.training.elastic.engine import simulate_elastic
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.system import Cluster, ElasticSystem
from nona.training.elastic.workload import SHIPPED, shipped_workload
from nona.training.records import TrainingRecords, run_checks
from nona.training.rounds import simulate_training
from nona.training.state import Rates
from nona.training.system import Job, NodeGroup, TrainingCluster, TrainingSystem
from nona.training.throughput_table import shipped_throughputs

LIGHT = "ResNet-18 (batch size 32)"
HEAVY = ("ResNet-50 (batch size 64)", "Transformer (batch size 64)")
HOURS = 5 * 3600.0


def system(models: tuple[str, ...], arrivals: tuple[float, ...], share: bool) -> TrainingSystem:
    """One V100; every job would take five hours alone."""
    table = shipped_throughputs()
    jobs = tuple(
        Job(str(n), model, HOURS * table.rate("v100", model, 1), arrival_s=at)
        for n, (model, at) in enumerate(zip(models, arrivals, strict=True))
    )
    cluster = TrainingCluster((NodeGroup("v100", 1, 1),), {"v100": 2.5})
    return TrainingSystem(cluster, jobs, table, space_sharing=share)


def gain(asked: TrainingSystem) -> float:
    """Σ T_pair / T_alone of the first two jobs."""
    rates = Rates(asked)
    return float((np.array(rates.pair(0, 1)[0]) / rates.alone[:2, 0]).sum())


def run(asked: TrainingSystem) -> TrainingRecords:
    options = {"space_sharing": asked.space_sharing, "seed": 0}
    found = simulate_training(asked, get_policy("gandiva"), options)
    assert [check for check in run_checks(asked, found) if not check.ok] == []
    return found


def test_a_pair_that_pays_shares_the_gpu_and_both_run_at_their_measured_speed() -> None:
    packed, sliced = (run(system((LIGHT, LIGHT), (0.0, 0.0), share)) for share in (True, False))
    assert gain(system((LIGHT, LIGHT), (0.0, 0.0), True)) == pytest.approx(2.0)
    assert {p.jobs for p in packed.placed} == {(0, 1)}
    assert packed.completion_s == pytest.approx([HOURS, HOURS])  # as if each were alone
    assert {len(p.jobs) for p in sliced.placed} == {1}
    assert sliced.completion_s.max() == pytest.approx(2 * HOURS)


def test_a_pair_that_does_not_pay_is_given_up_at_the_next_answer() -> None:
    asked = system((*HEAVY, LIGHT), (0.0, 0.0, 4000.0), share=True)
    assert gain(asked) < 1
    found = run(asked)
    tried = [found.round_start_s[p.round] for p in found.placed if set(p.jobs) == {0, 1}]
    came = found.admitted_s[2]
    assert min(tried) < came  # the trial
    assert max(tried) <= came + 1920  # the least time between two answers
    later = [p.jobs for p in found.placed if found.round_start_s[p.round] > came + 1920]
    assert {0, 1, 2} <= {job for jobs in later for job in jobs}


@pytest.mark.parametrize("number", SHIPPED)
def test_what_packing_could_free_of_the_elastic_workloads(number: int) -> None:
    """All jobs on one GPU are of one application, and take less than half a per cent of the GPU time."""
    jobs = shipped_workload(number)
    single = np.array([job.gpus == 1 for job in jobs])
    assert {job.application.name for job, one in zip(jobs, single, strict=True) if one} == {"ncf"}
    records = simulate_elastic(ElasticSystem(Cluster(), jobs), ELASTIC["gandiva"], {})
    assert records.gpu_s[single].sum() < 0.005 * records.gpu_s.sum()
