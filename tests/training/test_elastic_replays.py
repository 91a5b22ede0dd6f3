"""Elastic jobs against the public simulator's figures and against a second simulator."""

import csv

import elastic_oracle as oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.training.elastic.engine import simulate_elastic
from nona.training.elastic.profiles import shipped_applications
from nona.training.elastic.records import elastic_checks, measure_elastic
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.system import Cluster, ElasticSystem
from nona.training.elastic.workload import read_workload, shipped_workload

# Mean JCT in seconds of the original programs on these files: whole seconds, averaged over 160 jobs.
PUBLISHED = {
    "tiresias": (2473.65, 5144.9625, 3876.25625, 3280.2625),
    "optimus": (4087.0625, 6913.875, 3944.00625, 5967.75),
}
SECOND = {"tiresias": oracle.tiresias, "optimus": oracle.optimus}


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("name", PUBLISHED)
def test_replays_give_the_published_means_to_the_last_digit(name, number):
    system = ElasticSystem(Cluster(16, 4), shipped_workload(number))
    records = simulate_elastic(system, ELASTIC[name], {})
    assert measure_elastic(system, records).mean_jct_s == pytest.approx(PUBLISHED[name][number - 1], abs=1e-9)
    assert [check for check in elastic_checks(system, records) if not check.ok] == []


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
    system = ElasticSystem(Cluster(nodes, 4), jobs, interference=interference)
    records = simulate_elastic(system, ELASTIC[name], {})
    expected = oracle.simulate(
        list(csv.DictReader(text.splitlines())),
        SECOND[name],
        nodes,
        interference=interference,
    )
    assert dict(zip((job.name for job in jobs), records.jct_s.tolist(), strict=True)) == expected
    assert [check for check in elastic_checks(system, records) if not check.ok] == []


def test_interference_slows_jobs_that_share_a_node_and_no_others():
    text = HEADER + "a,0,cifar10,6,2048\nb,0,cifar10,6,2048\n"
    jobs = read_workload(text.encode(), "two", shipped_applications())
    alone = {
        part: simulate_elastic(
            ElasticSystem(Cluster(nodes, 4), jobs, interference=part), ELASTIC["tiresias"], {}
        ).jct_s
        for nodes in (3,)
        for part in (0.0, 0.5)
    }
    apart = simulate_elastic(ElasticSystem(Cluster(4, 4), jobs, interference=0.5), ELASTIC["tiresias"], {})
    calm = simulate_elastic(ElasticSystem(Cluster(4, 4), jobs), ELASTIC["tiresias"], {})
    assert (alone[0.5] > 1.8 * alone[0.0]).all()  # a on nodes 0 and 1, b on 2 and 1
    assert (apart.jct_s == calm.jct_s).all()  # a on 0 and 1, b on 2 and 3


@examples(10)
@given(workloads(), st.sampled_from(sorted(ELASTIC)), st.integers(2, 4), st.integers(0, 99))
def test_every_policy_keeps_the_rules(text, name, nodes, seed):
    """Nodes give what they have, progress never falls, all jobs end; equal seeds give equal runs."""
    jobs = read_workload(text.encode(), "drawn", shipped_applications())
    system = ElasticSystem(Cluster(nodes, 4), jobs, interference=0.25, seed=seed)
    options = {"population": 20, "generations": 10} if name == "pollux" else {}
    records = simulate_elastic(system, ELASTIC[name], options)
    assert [check for check in elastic_checks(system, records) if not check.ok] == []
    assert simulate_elastic(system, ELASTIC[name], options).changes == records.changes
    if name == "pollux":
        _at_most_one_wide_job_a_node(records)


def _at_most_one_wide_job_a_node(records):
    had = {}
    for time_s in sorted({change.time_s for change in records.changes}):
        had.update({change.job: change.given for change in records.changes if change.time_s == time_s})
        nodes = [share.node for given in had.values() if len(given) > 1 for share in given]
        assert len(nodes) == len(set(nodes))


def test_pollux_replays_the_first_jobs_faster_than_what_users_tuned():
    """The order of the published means, on the first 40 jobs and a quarter of the cluster."""
    system = ElasticSystem(Cluster(4, 4), shipped_workload(3)[:40], seed=1)
    small = {"population": 40, "generations": 40}
    mean = {
        name: measure_elastic(system, simulate_elastic(system, ELASTIC[name], options)).mean_jct_s
        for name, options in (("pollux", small), ("tiresias", {}), ("optimus", {}), ("fifo", {}))
    }
    assert mean["pollux"] < mean["tiresias"] < mean["fifo"]
    assert mean["pollux"] < mean["optimus"]
