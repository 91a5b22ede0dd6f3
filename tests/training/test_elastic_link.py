"""Elastic jobs on a shared link: formulas, fixed point, who sees it, what it costs; Gavel's rounds."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cli.main import main
from nona.errors import SimulationError
from nona.hardware.cluster import Network
from nona.results.elastic import ElasticReport
from nona.training.elastic.engine import simulate_elastic
from nona.training.elastic.policy import Active, pack
from nona.training.elastic.records import elastic_checks
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.system import Cluster, ElasticSystem, Link, Sender, balance, ring_bytes
from nona.training.elastic.workload import shipped_workload

JOBS = shipped_workload(3)[:24]
CLUSTER = Cluster(4, 4)
SENDERS = st.lists(
    st.builds(Sender, st.integers(2, 16), st.floats(1e6, 4e9), st.floats(0.05, 3.0), st.floats(0.0, 0.5)),
    min_size=1,
    max_size=8,
).map(tuple)
LINKS = st.builds(
    Link,
    st.builds(Network, st.floats(1e8, 1e10), discipline=st.sampled_from(["fifo", "processor-sharing"])),
    st.floats(0.0, 0.8),
)


def run(name, link=None, **options):
    system = ElasticSystem(CLUSTER, JOBS, link=link)
    records = simulate_elastic(system, ELASTIC[name], options)
    assert [check for check in elastic_checks(system, records) if not check.ok] == []
    return records


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
    link = Link(Network(1e9, latency_s=0.0), background=0.5, mean_bytes=1e8)
    assert link.all_reduce_s(1e9, 2, 0.0, 0.0) == pytest.approx(1.0 + 0.1)
    assert ring_bytes(25e6, 4) == pytest.approx(1.5e8)


def test_a_link_that_is_fast_enough_changes_nothing():
    for name in ("tiresias", "optimus"):
        fast = run(name, Link(Network(1e15, latency_s=0.0)))
        assert fast.changes == run(name).changes
        assert fast.link_gpu_s.sum() == 0.0


def test_policies_without_a_view_decide_as_if_there_were_none():
    """N0: the same jobs at the first ticks, later completions; only N4 gets the traffic."""
    slow = Link(Network(3e8), background=0.5)
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

        simulate_elastic(ElasticSystem(CLUSTER, JOBS, link=slow), replace(policy, prepare=prepare), {})
    assert set(asked["optimus"]) == {None}
    assert any(traffic.load for traffic in asked["optimus-link"] if traffic)


def test_not_seeing_a_slow_link_costs_and_fewer_nodes_help():
    slow = Link(Network(3e8), background=0.5)
    blind, fewer, seeing = (
        run(name, slow, **options).jct_s.mean()
        for name, options in (
            ("optimus", {}),
            ("optimus", {"compact": True, "most_nodes": 1}),
            ("optimus-link", {}),
        )
    )
    assert seeing < blind
    assert fewer < blind


@examples(60)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 5), st.integers(1, 8))
def test_packing_is_within_capacity_and_never_takes_more_nodes_than_before(counts, changed, size):
    while sum(counts) > CLUSTER.size or sum(counts) - counts[changed % len(counts)] + size > CLUSTER.size:
        counts = counts[1:] or [1]
    jobs = [Active(n, JOBS[0], 0, (), 0.0, 0, 0.0) for n in range(len(counts))]
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


def test_equal_jobs_have_equal_time_under_max_min_fairness():
    """Four equal jobs that want the whole cluster take turns: attained GPU-seconds stay within two rounds."""
    job = replace(JOBS[0], arrival_s=0.0, gpus=16, batch=2048)
    jobs = tuple(replace(job, name=f"j{n}") for n in range(4))
    records = simulate_elastic(ElasticSystem(CLUSTER, jobs), ELASTIC["gavel"], {})
    first = [c for c in records.changes if c.time_s < records.completion_s.min()]
    had = np.zeros(4)
    for change, after in zip(first, [*first[1:], None], strict=True):
        end = after.time_s if after else records.completion_s.min()
        running = [
            n
            for n in range(4)
            if [c for c in first if c.job == n and c.time_s <= change.time_s][-1:]
            and [c for c in first if c.job == n and c.time_s <= change.time_s][-1].given
        ]
        for n in running:
            had[n] += end - change.time_s
    assert had.max() - had.min() <= 720


def test_the_command_states_the_link(tmp_path, capsys):
    own = tmp_path / "jobs.csv"
    own.write_text("name,arrival_s,application,gpus,batch_size\na,0,cifar10,8,2048\nb,0,bert,8,96\n")
    words = ["training", "elastic", "--json", "--workload", str(own), "--nodes", "4", "--policy", "fifo"]
    assert main([*words, "--background", "0.5", "--capacity", "2 Gbit/s"]) == 0
    report = ElasticReport.from_json(json.loads(capsys.readouterr().out))
    assert report.setting.link.capacity == 2.5e8
    assert 0 < report.policies["fifo"].link_share < 1
    assert main([*words, "--background", "1"]) == 2
    assert "background 1" in capsys.readouterr().err
    without = replace(JOBS[0], application=replace(JOBS[0].application, parameters=None, most_gpus=None))
    with pytest.raises(SimulationError, match="has no number of parameters"):
        ElasticSystem(CLUSTER, (without,), link=Link())


def test_gandiva_grows_on_idle_gpus_and_shrinks_when_somebody_waits():
    job = next(job for job in shipped_workload(1) if job.application.name == "cifar10")
    alone = replace(job, name="a", arrival_s=0.0, gpus=4, batch=2048)
    later = replace(alone, name="b", arrival_s=400.0, gpus=12)
    system = ElasticSystem(CLUSTER, (alone, later))
    records = simulate_elastic(system, ELASTIC["gandiva"], {})
    assert [check for check in elastic_checks(system, records) if not check.ok] == []
    sizes = [(c.time_s, sum(share.gpus for share in c.given)) for c in records.changes if c.job == 0]
    assert max(size for at, size in sizes if at < 400) == 8  # twice what it asked for
    assert next(size for at, size in sizes if at >= 400) == 4
    fixed = simulate_elastic(system, ELASTIC["gandiva"], {"grow": False, "migrate": False})
    assert {sum(share.gpus for share in c.given) for c in fixed.changes if c.job == 0} == {0, 4}
    assert records.jct_s[0] < fixed.jct_s[0]
