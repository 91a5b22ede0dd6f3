"""Elastic jobs in runs: published figures, a second simulator, the link, pauses, Gavel's rounds."""

import csv
import math
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise

import elastic_oracle as oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples, first

from nona.cluster.hardware.cluster import Network
from nona.core.errors import ScenarioError, SimulationError
from nona.training.elastic.applications import BatchSizes
from nona.training.elastic.engine import simulate_elastic
from nona.training.elastic.policy import ActiveJob, alone_s, pack
from nona.training.elastic.profiles import ProfileFiles, read_applications, shipped_applications
from nona.training.elastic.records import elastic_checks, measure_elastic
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.system import (
    CoreLink,
    ElasticCluster,
    ElasticSystem,
    SendingJob,
    balance,
    ring_bytes,
)
from nona.training.elastic.workload import SHIPPED, at_load, read_workload, shipped_workload

# Mean JCT in seconds of the original programs on these files: whole seconds, averaged over 160 jobs.
PUBLISHED = {
    "tiresias": (2473.65, 5144.9625, 3876.25625, 3280.2625),
    "optimus": (4087.0625, 6913.875, 3944.00625, 5967.75),
}
SECOND = {"tiresias": oracle.tiresias, "optimus": oracle.optimus}


def simulated(system, name, **options):
    records = simulate_elastic(system, ELASTIC[name], options)
    assert [check for check in elastic_checks(system, records) if not check.ok] == []
    return records


@pytest.mark.parametrize("number", first(2, [1, 2, 3, 4]))
@pytest.mark.parametrize("name", PUBLISHED)
def test_replays_give_the_published_means_to_the_last_digit(name, number):
    system = ElasticSystem(ElasticCluster(16, 4), shipped_workload(number))
    mean_s = measure_elastic(system, simulated(system, name)).jct_s.mean
    assert mean_s == pytest.approx(PUBLISHED[name][number - 1], abs=1e-9)


HEADER = "name,arrival_s,application,gpus,batch_size\n"
# Applications that end soon, and sizes that each of them takes.
ASKED = {"bert": (12, 48, 100), "cifar10": (128, 700, 2048), "ncf": (512, 32768)}


@st.composite
def workloads(draw):
    rows = []
    for _ in range(draw(st.integers(1, 7))):
        name = draw(st.sampled_from(sorted(ASKED)))
        batch = draw(st.sampled_from(ASKED[name]))
        least = {"bert": 4, "cifar10": 32, "ncf": 32}[name]
        gpus = 1 if name == "ncf" else draw(st.integers(1, min(8, batch // least)))
        rows.append((draw(st.integers(0, 900)), name, gpus, batch))
    lines = (f"j{i},{at},{app},{gpus},{batch}\n" for i, (at, app, gpus, batch) in enumerate(sorted(rows)))
    return HEADER + "".join(lines)


@examples(12)
@given(workloads(), st.sampled_from(sorted(SECOND)), st.integers(2, 4), st.sampled_from([0.0, 0.25, 0.5]))
def test_a_second_simulator_agrees_job_by_job(text, name, nodes, interference):
    jobs = read_workload(text.encode(), "drawn", shipped_applications())
    system = ElasticSystem(ElasticCluster(nodes, 4), jobs, interference=interference)
    found = zip((job.name for job in jobs), simulated(system, name).jct_s.tolist(), strict=True)
    rows = list(csv.DictReader(text.splitlines()))
    assert dict(found) == oracle.simulate(rows, SECOND[name], nodes, interference=interference)


@examples(10)
@given(workloads(), st.sampled_from(sorted(ELASTIC)), st.integers(2, 4), st.integers(0, 99))
def test_every_policy_keeps_the_rules(text, name, nodes, seed):
    """Nodes give what they have, progress never falls, all jobs end; equal seeds give equal runs."""
    jobs = read_workload(text.encode(), "drawn", shipped_applications())
    system = ElasticSystem(ElasticCluster(nodes, 4), jobs, interference=0.25, seed=seed)
    options = {"population": 20, "generations": 10} if name == "pollux" else {}
    records = simulated(system, name, **options)
    assert simulate_elastic(system, ELASTIC[name], options).changes == records.changes
    had = {}
    for time_s in sorted({change.time_s for change in records.changes}) if name == "pollux" else ():
        had.update({change.job: change.given for change in records.changes if change.time_s == time_s})
        nodes = [share.node for given in had.values() if len(given) > 1 for share in given]
        assert len(nodes) == len(set(nodes)), "at most one wide job a node"


@pytest.mark.verify
def test_pollux_replays_the_first_jobs_faster_than_what_users_tuned():
    """The order of the published means, on the first 40 jobs and a quarter of the cluster."""
    system = ElasticSystem(ElasticCluster(4, 4), shipped_workload(3)[:40], seed=1)
    small = {"population": 40, "generations": 40}
    mean = {
        name: measure_elastic(system, simulate_elastic(system, ELASTIC[name], options)).jct_s.mean
        for name, options in (("pollux", small), ("tiresias", {}), ("optimus", {}), ("fifo", {}))
    }
    assert mean["pollux"] < mean["tiresias"] < mean["fifo"]
    assert mean["pollux"] < mean["optimus"]


JOBS = shipped_workload(3)[:24]
CLUSTER = ElasticCluster(4, 4)
SENDERS = st.lists(
    st.builds(SendingJob, st.integers(2, 16), st.floats(1e6, 4e9), st.floats(0.05, 3.0), st.floats(0.0, 0.5)),
    min_size=1,
    max_size=8,
).map(tuple)
LINKS = st.builds(
    CoreLink,
    st.builds(Network, st.floats(1e8, 1e10), discipline=st.sampled_from(["fifo", "processor-sharing"])),
    st.floats(0.0, 0.8),
)


def run(name, link=None, **options):
    return simulated(ElasticSystem(CLUSTER, JOBS, link=link), name, **options)


@examples(40)
@given(LINKS, SENDERS)
def test_the_fixed_point_is_one(link, senders):
    """Each job's utilisation is that of its step, which is that of the others' utilisations."""
    link_s, used = balance(link, senders)
    service_s = np.array([link.service_s(sender.size) for sender in senders])
    for i, sender in enumerate(senders):
        load, moment = used.sum() - used[i], float(used @ service_s) - used[i] * service_s[i]
        again = link.all_reduce_s(sender.size, sender.nodes, load, moment)
        assert link_s[i] == pytest.approx(again, rel=0.05)
        assert used[i] == pytest.approx(service_s[i] / sender.stepped_s(link_s[i]), abs=0.01)
        assert link_s[i] >= service_s[i] - 1e-12


@examples(30)
@given(LINKS, st.floats(1e6, 1e9), st.integers(2, 16))
def test_background_never_helps(link, size, nodes):
    times = [replace(link, background=b).all_reduce_s(size, nodes, 0.0, 0.0) for b in (0.0, 0.3, 0.6, 0.9)]
    assert times == sorted(times)


def test_a_wait_is_that_of_an_m_m_1_queue():
    """Exponential background alone: W = ρ/(1 − ρ)·E[S]."""
    link = CoreLink(Network(1e9, latency_s=0.0), background=0.5, mean_bytes=1e8)
    assert link.all_reduce_s(1e9, 2, 0.0, 0.0) == pytest.approx(1.0 + 0.1)
    assert ring_bytes(25e6, 4) == pytest.approx(1.5e8)


def test_a_link_that_is_fast_enough_changes_nothing():
    for name in ("tiresias", "optimus"):
        fast = run(name, CoreLink(Network(1e15, latency_s=0.0)))
        assert fast.changes == run(name).changes
        assert fast.link_gpu_s.sum() == 0.0


def test_policies_without_a_view_decide_as_if_there_were_none():
    """N0: the same jobs at the first ticks, later completions; only N4 gets the traffic."""
    slow = CoreLink(Network(3e8), background=0.5)
    blind, calm = run("fifo", slow), run("fifo")
    assert (blind.jct_s >= calm.jct_s).all()
    assert blind.jct_s.mean() > calm.jct_s.mean()
    assert blind.link_gpu_s.sum() > 0
    asked = {}
    for name in ("optimus", "optimus-link"):
        policy = ELASTIC[name]

        def prepare(system, options, rng, policy=policy, name=name):
            planner = policy.prepare(system, options, rng)
            plan = planner.plan
            planner.plan = lambda question: (
                asked.setdefault(name, []).append(question.traffic) or plan(question)
            )
            return planner

        simulate_elastic(ElasticSystem(CLUSTER, JOBS, link=slow), replace(policy, build=prepare), {})
    assert set(asked["optimus"]) == {None}
    assert any(traffic.load for traffic in asked["optimus-link"] if traffic)


def test_not_seeing_a_slow_link_costs_and_fewer_nodes_help():
    slow = CoreLink(Network(3e8), background=0.5)
    blind = run("optimus", slow).jct_s.mean()
    assert run("optimus", slow, compact=True, most_nodes=1).jct_s.mean() < blind
    assert run("optimus-link", slow).jct_s.mean() < blind


@examples(60)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 5), st.integers(1, 8))
def test_packing_is_within_capacity_and_never_takes_more_nodes_than_before(counts, changed, size):
    while sum(counts) > CLUSTER.size or sum(counts) - counts[changed % len(counts)] + size > CLUSTER.size:
        counts = counts[1:] or [1]
    jobs = [ActiveJob(n, JOBS[0], 0, (), 0.0, 0, 0.0) for n in range(len(counts))]
    first = pack(CLUSTER, jobs, dict(enumerate(counts)))
    jobs = [replace(job, given=first[job.number]) for job in jobs]
    wanted = {**dict(enumerate(counts)), changed % len(counts): size}
    second = pack(CLUSTER, jobs, wanted)
    used = np.zeros(CLUSTER.nodes, int)
    for n, found in second.items():
        assert sum(share.gpus for share in found) == wanted[n]
        if wanted[n] == counts[n]:
            assert len(found) <= len(first[n])
        for share in found:
            used[share.node] += share.gpus
    assert used.max() <= CLUSTER.gpus


@pytest.mark.parametrize("policy", ["max-min-fairness", "finish-time-fairness", "makespan", "themis-auction"])
def test_gavel_changes_at_rounds_only(policy):
    records = run("gavel", policy=policy, reallocation_s=360.0)
    begun = sorted({change.time_s for change in records.changes if change.given})
    assert all(b - a >= 360 for a, b in pairwise(begun))


def test_gandiva_grows_on_idle_gpus_and_shrinks_when_somebody_waits():
    job = next(job for job in shipped_workload(1) if job.application.name == "cifar10")
    alone = replace(job, name="a", arrival_s=0.0, gpus=4, batch=2048)
    later = replace(alone, name="b", arrival_s=400.0, gpus=12)
    system = ElasticSystem(CLUSTER, (alone, later))
    records = simulated(system, "gandiva")
    sizes = [(c.time_s, sum(share.gpus for share in c.given)) for c in records.changes if c.job == 0]
    assert max(size for at, size in sizes if at < 400) == 8  # twice what it asked for
    assert next(size for at, size in sizes if at >= 400) == 4
    fixed = simulate_elastic(system, ELASTIC["gandiva"], {"grow": False, "migrate": False})
    assert {sum(share.gpus for share in c.given) for c in fixed.changes if c.job == 0} == {0, 4}
    assert records.jct_s[0] < fixed.jct_s[0]


ONE = ElasticCluster(1, 1)
NCF = next(job for job in shipped_workload(1) if job.application.name == "ncf" and job.gpus == 1)
TWO = (replace(NCF, name="a", arrival_s=0.0), replace(NCF, name="b", arrival_s=0.0))


@pytest.mark.parametrize(
    ("tick_s", "restart_s", "turn"), [(1, 30, 10), (1, 10, 10), (5, 32, 4), (60, 3600, 1)]
)
def test_a_turn_under_gandiva_brings_progress_however_long_a_restart_takes(tick_s, restart_s, turn):
    """Two equal jobs on one GPU take turns of ``turn`` ticks that train: each starts once a turn."""
    system = ElasticSystem(ONE, TWO, tick_s=tick_s, restart_s=restart_s)
    records = simulated(system, "gandiva", slice_ticks=turn)
    starts = records.restarts + 1
    assert records.paused_gpu_s == pytest.approx(starts * restart_s)  # no pause is broken off
    first = turn * tick_s - restart_s % tick_s  # seconds that train, where a pause ends within a tick
    turns = math.ceil(alone_s(ONE, NCF) / (first if restart_s % tick_s else turn * tick_s))
    assert starts == pytest.approx(turns, abs=1)  # epochs end at whole seconds


SLOW = ElasticSystem(ONE, TWO, tick_s=1, restart_s=30)
UNKNOWN = replace(NCF, application=replace(NCF.application, parameters=None, most_gpus=None))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ElasticSystem(ONE, TWO, restart_s=3601), "restart 3601 s must be from 0 to 3600 s"),
        (lambda: ElasticSystem(ONE, TWO, restart_s=-1), "restart -1 s must be from 0 to 3600 s"),
        (lambda: ElasticSystem(ONE, TWO, tick_s=0), "tick 0 s must be from 1 to 86400 s"),
        (lambda: ElasticSystem(ONE, TWO, tick_s=86401), "tick 86401 s must be from 1 to 86400 s"),
        (lambda: ElasticSystem(ONE, TWO, interference=1), "interference 1 must be at least 0 and below 1"),
        (lambda: ElasticSystem(ONE, (NCF, NCF)), "two jobs have one name"),
        (lambda: ElasticSystem(ONE, (UNKNOWN,), link=CoreLink()), "has no number of parameters"),
        (lambda: at_load(2, 0.006), r"Load 0\.006 leaves none of the 160 jobs of workload 2"),
        (lambda: at_load(4, 0.0), "Load 0 must be above 0"),
        (lambda: simulated(SLOW, "gavel", round_ticks=30), "=30 makes rounds of 30 s.*set it to 31 or more"),
    ],
)
def test_what_cannot_be_simulated_is_refused(make, said):
    with pytest.raises(SimulationError, match=said):
        make()


def test_the_least_that_is_not_refused():
    assert ElasticSystem(ONE, TWO, tick_s=86_400, restart_s=3_600, interference=0.99).jobs == TWO
    assert len(at_load(2, 0.00625)) == 1
    assert simulated(SLOW, "gavel", round_ticks=31)


OWN = ProfileFiles(
    applications=b"application,task,epochs,least_batch,most_batch,least_local,most_local,fixed_batch,most_gpus\n"
    b"mine,Toy,2,8,64,4,32,,\n",
    placements=b"application,placement,local_bsz,step_s,sync_s\n"
    b"mine,1,4,1.0,0.0\nmine,1,32,2.0,0.0\nmine,2,4,1.5,0.5\nmine,2,32,2.5,0.5\n",
    scalability=b"application,num_nodes,num_replicas,local_bsz,step_s,sync_s\n",
    epochs=b"application,batch_size,progress,iteration,grad_sqr,grad_var\n"
    b"mine,8,10,10,1,4\nmine,8,20,20,1,8\nmine,64,12,3,2,4\nmine,64,24,6,2,8\n",
)


def test_an_own_profile_is_interpolated_as_described():
    mine = read_applications(OWN, "mine")["mine"]
    assert mine.times.step_time((1,), 18).step_s == pytest.approx(1.5)
    assert mine.ends == (10.0, 20.0)  # the least over the batch sizes
    assert mine.noise(36, 1) == pytest.approx((1.5, 8.0))
    split = mine.batches.split(32, 2)
    gain = (4 + 1.428571) / (4 / 4 + 1.428571)
    assert mine.rate((2,), split, 0) == pytest.approx(gain / (1.5 + 12 / 28), rel=1e-6)
    with pytest.raises(SimulationError, match="33 samples on each GPU of placement 1 were not measured"):
        mine.times.step_time((1,), 33)


def test_shipped_times_are_those_measured_where_they_were_and_rotations_are_equal():
    text = files("nona.training.elastic").joinpath("data/placements.csv").read_text(encoding="utf-8")
    for line in text.splitlines()[1::97]:
        name, digits, local, step, sync = line.split(",")
        times = shipped_applications()[name].times.step_time(tuple(map(int, digits)), int(local))
        assert times == pytest.approx((float(step), float(sync)))
    times = shipped_applications()["cifar10"].times
    assert times.step_time((4, 1, 2), 64) == times.step_time((1, 2, 4), 64) == times.step_time((2, 4, 1), 64)


def test_the_smallest_batch_gains_one_a_step():
    for application in shipped_applications().values():
        least = application.batches.least
        assert application.noise(least, 0).gain(1.0) == 1.0
        gains = np.array([application.noise(least, 0).gain(k) for k in (1.0, 2.0, 4.0, 8.0)])
        assert (np.diff(gains) >= 0).all()
        assert (gains <= (1.0, 2.0, 4.0, 8.0)).all()


def test_a_split_covers_the_batch_within_the_limits():
    batches = BatchSizes(128, 4096, 32, 1024)
    for batch in (128, 700, 2048, 4096):
        for gpus in range(1, min(64, batch // 32) + 1):
            split = batches.split(batch, gpus)
            assert 32 <= split.local <= 1024
            assert split.batch(gpus) <= 4096
            assert split.batch(gpus) > batch - gpus * (split.extra + 1)


def profiles(table, old, new):
    return read_applications(OWN._replace(**{table: getattr(OWN, table).replace(old, new, 1)}), "mine")


def jobs_of(row):
    return read_workload((HEADER + row + "\n").encode(), "jobs", shipped_applications())


@pytest.mark.parametrize(
    ("read", "of", "reason"),
    [
        (profiles, ("applications", b"2,8,64", b"2,80,64"), "least batch sizes must not be above the most"),
        (profiles, ("applications", b"mine,Toy", b"other,Toy"), "application 'mine' has no limits"),
        (profiles, ("placements", b"mine,1,4,1.0", b"mine,10,4,1.0"), "one digit from 1 to 9 for each node"),
        (profiles, ("placements", b"1.5,0.5", b"1.5,1.5"), "step_s=1.5 must be above sync_s=1.5"),
        (profiles, ("placements", b",local_bsz", b",samples"), "the column 'local_bsz' is missing"),
        (profiles, ("epochs", b"mine,64,24,6,2,8\n", b""), "2 epochs at each batch size"),
        (profiles, ("epochs", b"mine,8,20", b"mine,8,10"), "progress and iteration must grow"),
        (profiles, ("epochs", b"1,8\n", b"nan,8\n"), "grad_sqr='nan' must be a number"),
        (profiles, ("epochs", b"mine,8,20,20,1,8", b"mine,8,20,20,0,0"), "grad_var must not both be 0"),
        (profiles, ("epochs", b"mine,8,10,10,1,4", b"mine,8,0,10,1,4"), "iteration must grow from 0 on"),
        (jobs_of, ("a,0,word2vec,1,8",), "application='word2vec' is not known; choose from bert"),
        (jobs_of, ("a,-1,bert,1,12",), "arrival_s='-1' must be a number"),
        (jobs_of, ("a,0,bert,0,12",), "gpus='0' must be a whole number"),
        (jobs_of, ("a,0,bert,1,500",), "batch_size='500' must be a whole number from 12 to 384"),
        (jobs_of, ("a,0,bert,4,12",), "gpus=4 need a batch of at least 16 samples, not 12"),
        (jobs_of, ("a,0,bert,1",), "4 cells where the header has 5"),
        (jobs_of, ("",), "it has no jobs"),
    ],
)
def test_wrong_profiles_and_jobs_are_refused(read, of, reason):
    with pytest.raises(ScenarioError, match=reason):
        read(*of)


def test_load_keeps_hours_and_adds_or_leaves_out_jobs():
    own, half, double = shipped_workload(4), at_load(4, 0.5), at_load(4, 2)
    assert at_load(4, 1) == own
    assert set(half) < set(own) < set(double)
    assert {job.arrival_s for job in double} == {job.arrival_s for job in (*own, *shipped_workload(1))}
    assert sum(job.name.startswith("w1-") for job in double) == 160


@pytest.mark.parametrize("counts", [(1, 1), (3,), (2, 2)])
def test_what_lies_outside_a_flat_profile_is_refused_in_one_line(counts):
    """All of these measurements are on one node: there is nothing to triangulate."""
    mine = read_applications(OWN, "mine")["mine"]
    with pytest.raises(SimulationError, match="were not measured") as raised:
        mine.times.step_time(counts, 8)
    assert "\n" not in str(raised.value)
    assert ("most_gpus bounds them" in str(raised.value)) == (max(counts) <= 2)


def test_equal_jobs_have_equal_time_under_max_min_fairness():
    """Four equal jobs that want the whole cluster take turns: until the first one ends their times on it
    stay within two rounds of each other."""
    job = replace(JOBS[0], arrival_s=0.0, gpus=16, batch=2048)
    jobs = tuple(replace(job, name=f"j{n}") for n in range(4))
    records = simulate_elastic(ElasticSystem(CLUSTER, jobs), ELASTIC["gavel"], {})
    end_s, had = records.completion_s.min(), []
    for n in range(4):
        own = [(c.time_s, bool(c.given)) for c in records.changes if c.job == n and c.time_s < end_s]
        had.append(sum(b[0] - a[0] for a, b in pairwise([*own, (end_s, False)]) if a[1]))
    assert max(had) - min(had) <= 720


@pytest.mark.parametrize("number", SHIPPED)
def test_packing_could_free_next_to_nothing_of_the_elastic_workloads(number):
    """All jobs on one GPU are of one application, and take less than half a per cent of the GPU time."""
    jobs = shipped_workload(number)
    single = np.array([job.gpus == 1 for job in jobs])
    assert {job.application.name for job, one in zip(jobs, single, strict=True) if one} == {"ncf"}
    records = simulate_elastic(ElasticSystem(ElasticCluster(), jobs), ELASTIC["gandiva"], {})
    assert records.gpu_s[single].sum() < 0.005 * records.gpu_s.sum()
