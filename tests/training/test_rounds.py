"""Rounds of training: golden numbers, a second loop, conservation, the fluid bound."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.allocation.registry import get_policy
from nona.queries.simulation.run import Cancelled
from nona.training.metrics import measure, shares_of_time
from nona.training.records import run_checks
from nona.training.replications import ideal_jcts_s
from nona.training.rounds import RoundOptions, simulate_training
from nona.training.system import (
    AloneKey,
    NodeGroup,
    Throughputs,
    TrainingCluster,
    TrainingJob,
    TrainingSystem,
)
from nona.training.throughput_table import shipped_throughputs
from tests.training.loop_cases import PlainLoop

SMALL = (  # Gavel's small_test.trace (MIT): model, batch size, steps, GPUs; all arrive at 0
    "Transformer 128 346 2; Recommendation 8192 36 1; Transformer 256 102 1; ResNet-18 32 3948 2; "
    "ResNet-50 16 170 1; LM 10 8601 1; LM 5 10027 1; Transformer 128 346 1; CycleGAN - 295 1; "
    "Transformer 16 770 1; LM 5 10027 2; Transformer 64 574 1; LM 40 4303 1; ResNet-50 32 595 1; "
    "LM 10 8601 1; ResNet-18 16 1019 1; Transformer 16 770 1; ResNet-18 16 1019 1; "
    "Recommendation 8192 36 1; ResNet-18 16 1817 1"
)


def _small():
    jobs = []
    for number, row in enumerate(SMALL.split("; ")):
        name, batch, steps, workers = row.split()
        model = name if batch == "-" else f"{name} (batch size {batch})"
        jobs.append(TrainingJob(str(number), model, int(steps), int(workers)))
    cluster = TrainingCluster((NodeGroup("v100", 1, 2), NodeGroup("k80", 1, 4)))
    return TrainingSystem(cluster, tuple(jobs), shipped_throughputs())


def _run(system, policy, replay=False):
    records = simulate_training(system, get_policy(policy), {}, RoundOptions(replay=replay))
    assert [c for c in run_checks(system, records) if not c.ok] == []
    return records


@pytest.mark.parametrize(
    ("policy", "jct_s", "makespan_s", "utilization"),
    [("fifo", 876.2011, 1745.5256, 0.463409), ("max-min-fairness", 714.667, 1687.611, 0.402999)],
)
def test_golden_numbers_of_the_public_simulator(policy, jct_s, makespan_s, utilization):
    system = _small()
    found = measure(system, _run(system, policy, replay=True))
    assert found.jct_s.mean == pytest.approx(jct_s, abs=1e-3)
    assert found.makespan_s == pytest.approx(makespan_s, abs=1e-3)
    assert found.utilization == pytest.approx(utilization, abs=2e-6)


def _two_types(jobs, rates, **more):
    """One A and one B; ``rates``: (on A, on B) by model."""
    every = [(gpu, model, pair[n]) for model, pair in rates.items() for n, gpu in enumerate("ab")]
    alone = {AloneKey(gpu, model, 1): rate for gpu, model, rate in every if rate}
    cluster = TrainingCluster((NodeGroup("a", 1), NodeGroup("b", 1)), {"a": 3.6, "b": 0.36})
    return TrainingSystem(cluster, jobs, Throughputs(alone), **more)


def test_an_example_by_hand():
    """Two jobs on one fast and one slow GPU, FIFO: the first has the fast one until it is done.

    Rounds of 100 s: x does 1000 of 1500 steps, y 200 of 800. In the second round x ends after 50 s, y has
    its 100 s. At 200 s y is asked about again (gap 0), takes the fast GPU, and needs 40 s for its last 400.
    """
    jobs = (TrainingJob("x", "x", 1500), TrainingJob("y", "y", 800))
    system = _two_types(jobs, {"x": (10, 1), "y": (10, 2)}, round_s=100.0, reallocation_s=0.0)
    records = _run(system, "fifo")
    assert records.completion_s.tolist() == pytest.approx([150, 240])
    placed = [(*p.jobs, p.kind) for p in records.placed]
    assert placed == [(0, 0), (1, 1), (0, 0), (1, 1), (1, 0)]
    assert records.booked_s.tolist() == pytest.approx([190, 200])
    assert (records.moves.tolist(), records.preemptions.tolist()) == ([0, 1], [0, 0])
    found = measure(system, records)
    assert [job.cost_usd for job in found.jobs] == pytest.approx([0.15, 0.04 + 0.02])
    assert found.utilization == pytest.approx(390 / 480)


def test_jobs_that_hold_gpus_are_never_moved_and_replicas_stand_apart():
    """A notebook takes the fast GPU in the round after it came and keeps it to its end."""
    notebook = TrainingJob("n", "x", 500, arrival_s=50, kind="interactive")
    jobs = (TrainingJob("x", "x", 10_000), notebook, TrainingJob("y", "x", 5000, arrival_s=60))
    system = _two_types(jobs, {"x": (10, 5)}, round_s=100.0, reallocation_s=0.0)
    records = _run(system, "isolated")
    (held,) = records.leases
    assert (held.job, held.kind, held.start_s, held.end_s) == (1, 0, 100.0, 600.0)
    assert records.jct_s[1] == pytest.approx(550)
    # replicas stand on different nodes
    cluster = TrainingCluster((NodeGroup("a", 2, 4),))
    jobs = (TrainingJob("serve", "s", 1000, 2, kind="inference"), TrainingJob("x", "x", 100, 4))
    rates = Throughputs({AloneKey("a", "s", 2): 1.0, AloneKey("a", "x", 4): 1.0})
    records = _run(TrainingSystem(cluster, jobs, rates), "isolated")
    (held,) = records.leases
    assert {g // 4 for g in held.gpus} == {0, 1}


def _random_system(seed, gap, reallocation_s):
    draw = np.random.default_rng(seed)
    jobs, alone = [], {}
    for i, arrival in enumerate(np.cumsum(draw.exponential(gap, 9)).round(3)):
        workers = int(draw.choice([1, 1, 2]))
        for gpu, speed in (("k80", 1.0), ("p100", 3.0), ("v100", 5.0)):
            if gpu == "p100" or draw.random() < 0.8:
                alone[AloneKey(gpu, f"m{i}", workers)] = round(speed * draw.uniform(0.3, 2), 3)
        jobs.append(
            TrainingJob(str(i), f"m{i}", round(draw.uniform(50, 9000)), workers, arrival_s=float(arrival))
        )
    groups = (NodeGroup("k80", 2, 1), NodeGroup("p100", 1, 2), NodeGroup("v100", 1, 1))
    return TrainingSystem(
        TrainingCluster(groups), tuple(jobs), Throughputs(alone), reallocation_s=reallocation_s, seed=seed
    )


@examples(25)
@given(
    seed=st.integers(0, 10_000),
    gap=st.sampled_from([1.0, 300.0, 2000.0]),
    reallocation_s=st.sampled_from([0.0, 1920.0]),
    policy=st.sampled_from(["isolated", "proportional", "fifo", "fifo-agnostic", "sjf"]),
)
def test_a_second_loop_leaves_the_same_records(seed, gap, reallocation_s, policy):
    system = _random_system(seed, gap, reallocation_s)
    records = _run(system, policy)
    plain = PlainLoop(system, get_policy(policy)).run()
    starts = records.round_start_s
    ours = sorted((p.jobs[0], records.types[p.kind], starts[p.round], p.end_s) for p in records.placed)
    theirs = sorted(plain.stays)
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    assert np.allclose([row[2:] for row in ours], [row[2:] for row in theirs], rtol=1e-9, atol=1e-6)
    assert plain.end == pytest.approx(dict(enumerate(records.completion_s)))
    assert records.booked_s.sum() == pytest.approx(plain.booked)


def test_time_received_comes_nearer_to_the_shares_in_shorter_rounds():
    """Three equal jobs on two types, shares fixed by the policy, all GPUs wanted all the time."""
    jobs = tuple(TrainingJob(n, n, 20_000) for n in "xyz")
    rates = {"x": (4.0, 1.0), "y": (1.2, 0.4), "z": (10.0, 5.0)}
    errors = []
    for round_s in (360.0, 60.0, 10.0):
        system = _two_types(jobs, rates, round_s=round_s, measured=(2, 2))
        planned, received = shares_of_time(_run(system, "max-min-fairness"))
        errors.append(np.abs(planned - received).sum(axis=1).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02
    # nor does anybody receive more than all of its time: jobs that ran before their first allocation too
    records = _run(_random_system(3, 300.0, 1920.0), "max-min-fairness")
    _, received = shares_of_time(records)
    assert (records.received_s < records.busy_s).any()
    assert np.nanmax(received.sum(axis=1)) <= 1 + 1e-9


def test_a_run_ends_with_the_measured_jobs():
    jobs = tuple(TrainingJob(str(i), "x", 100, arrival_s=1000.0 * i) for i in range(20))
    records = _run(_two_types(jobs, {"x": (10, 0)}, measured=(2, 4)), "isolated")
    assert records.end_s == pytest.approx(4010)
    assert np.isfinite(records.completion_s).sum() == 5


def test_a_listener_may_stop_a_run():
    def listen(progress):
        assert progress.running > 0
        raise Cancelled

    with pytest.raises(Cancelled):
        simulate_training(_small(), get_policy("isolated"), {}, RoundOptions(), listen)


def test_checks_find_what_is_wrong():
    system = _small()
    records = _run(system, "fifo")
    two = replace(records, placed=(*records.placed, replace(records.placed[0], jobs=(19,))))
    names = {c.name for c in run_checks(system, two) if not c.ok}
    assert {"no GPU given twice", "busy time = booked time"} <= names
    less = replace(records, done=records.done - 1)
    assert not run_checks(system, less)[0].ok


def _one_type(jobs, rates, gpus, round_s):
    table = Throughputs({AloneKey("a", model, 1): rate for model, rate in rates.items()})
    cluster = TrainingCluster((NodeGroup("a", gpus),))
    return TrainingSystem(cluster, jobs, table, round_s=round_s, reallocation_s=0.0)


X = TrainingJob("x", "x", 300)


@pytest.mark.parametrize(
    ("policy", "jobs", "jcts_s"),
    [
        # y alone needs 100 s, shared 200 s; x then has 200 s of its 300 s left
        ("isolated", (X, TrainingJob("y", "y", 200)), [400, 200]),
        # proportional gives both jobs all of the one GPU: each has half
        ("proportional", (X, TrainingJob("y", "x", 300)), [600, 600]),
        # for the 100 s of the notebook the other job has no GPU
        ("isolated", (TrainingJob("n", "x", 100, kind="interactive"), replace(X, arrival_s=10)), [100, 390]),
    ],
)
def test_ideal_shares_of_one_gpu_by_hand(policy, jobs, jcts_s):
    system = _one_type(jobs, {"x": 1.0, "y": 2.0}, 1, 360.0)
    assert ideal_jcts_s(system, get_policy(policy), {}).tolist() == pytest.approx(jcts_s)


def test_rounds_come_near_to_the_bound_as_they_shrink():
    jobs = tuple(TrainingJob(str(i), f"m{i}", 2000 * (i + 1), arrival_s=400.0 * i) for i in range(6))
    rates = {f"m{i}": 1.0 + i for i in range(6)}
    errors = []
    for round_s in (360.0, 30.0, 3.0):
        system = _one_type(jobs, rates, 2, round_s)
        policy = get_policy("max-min-fairness")
        found = simulate_training(system, policy, {}).jct_s
        errors.append(float(np.abs(found - ideal_jcts_s(system, policy, {})).max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 60
