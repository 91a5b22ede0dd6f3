"""What a run of elastic jobs leaves for the page: nothing lost, nothing counted twice, reasons recorded."""

import pytest

from nona.app.pages.training.elastic import _jobs_frame, _ticks_frame
from nona.queries.sweeps.numbers import with_value
from nona.scenario.lookup import Sources
from nona.training.elastic.results import ElasticHistory
from nona.training.report.findings import training_finding
from nona.training.report.tables import changes, policies
from nona.training.report.traces import elastic_history, elastic_trace
from nona.training.workflows.elastic import measured_scenario, simulate_elastic_jobs
from tests.training.training_sample import ABOUT

POLICIES = ("optimus", "tiresias", "fifo")


@pytest.fixture(scope="module")
def result():
    scenario = measured_scenario(workload=1, load=0.25, policies=POLICIES)
    return simulate_elastic_jobs(with_value(scenario, "cluster.servers[0].count", 8))


@pytest.fixture(scope="module")
def history(result):
    return elastic_history(result.system, result.runs, result.report, ABOUT)


def records(result, name):
    return result.runs[name][0].records


def test_goodput_adds_up_to_all_jobs_and_gpus_in_use_to_the_moves_and_the_points(history, result):
    size = result.system.cluster.size
    for name, trace in history.traces.items():
        assert sum(trace.goodput) * result.system.tick_s / 3600 == pytest.approx(len(history.jobs), rel=1e-4)
        held = sum(records(result, name).points.gpus)
        assert held == sum(sum(course.gpus) for course in trace.courses)
        assert 0 < max(trace.used) <= size
        assert trace.used[-1] == 0
        given = dict.fromkeys(range(len(history.jobs)), 0)
        for move in trace.moves:
            given[move.job] = sum(gpus for _, gpus in move.gpus)
        assert not any(given.values())
        # A tick ends with the GPUs that the policy gave at the end of the tick before.
        points = records(result, name).points
        for time_s in (trace.time_s[5], trace.time_s[len(trace.time_s) // 2]):
            before = trace.used[trace.time_s.index(time_s) - 1]
            assert before == sum(points.gpus[points.time_s == time_s])
    assert ElasticHistory.from_json(history.to_json()) == history


def test_a_long_run_is_thinned_and_keeps_its_work(history, result, monkeypatch):
    monkeypatch.setattr("nona.training.report.traces.MOST_TICKS", 50)
    monkeypatch.setattr("nona.training.report.traces.MOST_POINTS", 40)
    whole = history.traces["fifo"]
    thin = elastic_trace(result.system, records(result, "fifo"))
    assert len(thin.time_s) <= 50
    assert len(thin.courses) < len(whole.courses)
    every = -(-len(whole.time_s) // 50)
    full = [every] * (len(thin.goodput) - 1) + [len(whole.goodput) - every * (len(thin.goodput) - 1)]
    work = sum(rate * ticks for rate, ticks in zip(thin.goodput, full, strict=True))
    assert work == pytest.approx(sum(whole.goodput), rel=1e-4)


def test_waiting_and_efficiency_are_within_their_bounds(history, result):
    for name, policy in history.report.policies.items():
        assert 0 < policy.efficiency <= 1
        for job in policy.jobs:
            assert 0 <= job.waited_s <= job.jct_s
            assert job.rho is None or job.rho > 0
        # GPU-seconds are the mean GPUs of jobs times the time that they had some.
        held = sum(job.jct_s - job.waited_s for job in policy.jobs)
        assert policy.mean_gpus * held == pytest.approx(sum(records(result, name).gpu_s))
        courses = [e for course in history.traces[name].courses for e in course.efficiency]
        assert min(courses) <= policy.efficiency <= max(courses)


def test_a_job_alone_has_a_rho_of_one_or_less_on_all_gpus():
    jobs = b"name,arrival_s,application,gpus,batch_size\na,0,cifar10,4,1024\n"
    scenario = with_value(
        measured_scenario(workload="own.csv", policies=["fifo"]), "cluster.servers[0].count", 1
    )
    alone = simulate_elastic_jobs(scenario, Sources(in_memory={"own.csv": jobs})).report
    (job,) = alone.policies["fifo"].jobs
    # Up to one tick until the policy is asked, and epochs that end at whole seconds.
    assert job.rho == pytest.approx(1, abs=0.1)
    assert job.waited_s == 60


def test_every_change_says_what_the_policy_knew(history):
    for name, fact in (("optimus", "seconds that its last GPU saves"), ("tiresias", "queue")):
        grown = [move for move in history.traces[name].moves if move.gpus]
        assert {fact in move.facts and move.value is not None for move in grown} == {True}
    assert {move.facts["queue"] for move in history.traces["tiresias"].moves if move.gpus} <= {1, 2}
    optimus = history.traces["optimus"]
    several = [m for m in optimus.moves if m.gpus and sum(g for _, g in m.gpus) > 1]
    assert min(m.facts["seconds that its last GPU saves"] for m in several) > 0
    rows = changes(optimus, optimus.moves[0].job).texts()
    assert (rows[0]["change"], rows[-1]["change"]) == ("starts", "completes")
    assert {"seconds that one more GPU would save", "iterations left"} <= rows[0].keys()


def test_finding_and_tables_agree_with_the_report(history):
    outcomes = history.report.policies
    best = min(outcomes, key=lambda name: outcomes[name].jct_s.mean)
    found = training_finding(history.report)
    assert found.lead.startswith(best)
    assert history.report.level == ()
    undecided = history.report.model_copy(update={"level": ("fifo",)})
    assert training_finding(undecided).lead.endswith(", without a clear difference from fifo.")
    assert [row["policy"] for row in policies(history.report).texts()] == list(POLICIES)
    assert len(_jobs_frame(history)) == len(POLICIES) * len(history.jobs)
    ticks = sum(len(c.time_s) for trace in history.traces.values() for c in trace.courses)
    assert len(_ticks_frame(history)) == ticks
