"""What runs of training jobs tell while they go on: means, goodput, who has which GPU; all of it bounded."""

import json

import pytest

from nona.results.elastic import ElasticLive
from nona.results.training import TrainingLive
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.system import Share
from nona.training.rounds import TrainingProgress
from nona.training.system import NodeGroup, TrainingCluster
from nona.ui.pages.training_clusterview import MOST_LANES, MOST_NODES, cluster_data, live_drawing, nodes_of
from nona.ui.tasks.training import (
    ELASTIC_PATIENCE,
    MOST_POINTS,
    MOST_STAYS,
    PATIENCE,
    ElasticWatch,
    TrainingWatch,
)
from nona.ui.tasks.training import MOST_ELASTIC_POINTS as MOST_ELASTIC

CLUSTER = TrainingCluster((NodeGroup("v100", 2), NodeGroup("k80", 40)))


def report(policy, number, *, job=0, replication=0):
    """Round ``number`` of 360 s: ``job`` is on V100 0, and one job of 100 s · (number + 1) is complete."""
    start_s = 360.0 * number
    return TrainingProgress(
        policy=policy,
        replication=replication,
        fraction=(number + 1) / 200,
        time_s=start_s + 360.0,
        running=1,
        waiting=2,
        jcts_s=(100.0 * (number + 1),),
        placed=(((job,), 1, (0,), start_s, start_s + 360.0),),
    )


def test_means_are_those_of_all_completed_jobs_and_rounds_are_joined():
    watch = TrainingWatch(CLUSTER, ["fifo", "isolated"])
    for number in range(4):
        watch.take(report("fifo", number, job=number // 2))
        watch.take(report("fifo", number, replication=1))  # another run: not shown
    told = watch.told()
    assert TrainingLive.from_json(json.loads(json.dumps(told.to_json()))) == told
    fifo = told.policies["fifo"]
    assert fifo.mean_jct_s == pytest.approx(250.0)
    assert (fifo.completed, fifo.running, fifo.waiting) == (4, 1, 2)
    assert told.policies["isolated"].mean_jct_s is None
    assert [(s.jobs, s.gpu, s.start_s, s.end_s) for s in told.stays] == [
        ((0,), "v100", 0.0, 720.0),
        ((1,), "v100", 720.0, 1440.0),
    ]


def test_what_is_kept_and_drawn_is_bounded():
    watch = TrainingWatch(CLUSTER, ["fifo"])
    for number in range(2 * MOST_STAYS):
        watch.take(report("fifo", number, job=number))
    told = watch.told()
    assert len(told.stays) == MOST_STAYS
    assert len(told.policies["fifo"].curve) <= MOST_POINTS
    data = cluster_data(told, 0.5, "half")
    assert len(data.lanes) <= MOST_LANES
    assert data.more.startswith(str(42 - len(data.lanes)))
    bars = next(lane.bars for lane in data.lanes if lane.name == "v100 0")
    assert bars
    assert all(0 <= start < end <= 1 for start, end, *_ in bars)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in data.policies[0].curve)


def test_rounds_that_were_not_reported_are_bridged():
    watch = TrainingWatch(CLUSTER, ["fifo"])
    for number, job in ((0, 3), (4, 3), (9, 5)):
        watch.take(report("fifo", number, job=job))
    assert [(s.jobs, s.start_s, s.end_s) for s in watch.told().stays] == [
        ((3,), 0.0, 1800.0),
        ((5,), 1800.0, 3600.0),
    ]


def test_a_policy_that_is_silent_leaves_the_picture():
    watch = TrainingWatch(CLUSTER, ["fifo", "isolated"])
    watch.take(report("fifo", 0))
    for number in range(PATIENCE):
        watch.take(report("isolated", number))
    assert watch.told().focus == "isolated"


def test_the_picture_goes_on_to_the_next_policy():
    watch = TrainingWatch(CLUSTER, ["fifo", "isolated"])
    watch.take(report("fifo", 198))
    watch.take(report("isolated", 0, job=7))
    assert watch.told().focus == "isolated"
    assert [s.jobs for s in watch.told().stays] == [(7,)]


def elastic_report(policy, minute, *, replication=0):
    """After so many minutes: half a job's worth of work each minute, one job on two nodes."""
    return ElasticProgress(
        policy=policy,
        replication=replication,
        fraction=minute / 1000,
        time_s=60.0 * minute,
        running=1,
        waiting=2,
        mean_jct_s=float("nan") if minute < 2 else 90.0,
        given={7: (Share(1, 4), Share(0, 2)), 8: ()},
        jobs=500,
        work=minute / 2,
    )


def test_goodput_is_work_over_simulated_time():
    watch = ElasticWatch(["fifo", "sjf"], 2, 4)
    for minute in range(1, 4):
        watch.take(elastic_report("fifo", minute))
        watch.take(elastic_report("fifo", minute, replication=1))  # another run: not shown
    told = watch.told()
    assert ElasticLive.from_json(json.loads(json.dumps(told.to_json()))) == told
    curve = told.policies["fifo"].curve
    assert [row.goodput for row in curve] == pytest.approx([30.0] * 3)
    assert [row.mean_jct_s for row in curve] == [None, 90.0, 90.0]
    assert {row.used for row in curve} == {6}
    assert told.given == {7: ((1, 4), (0, 2))}
    drawn = live_drawing(told, 0.1, "half")
    assert [[job for _, job in node.gpus] for node in drawn.nodes] == [["7", "7", "", ""], ["7"] * 4]
    assert drawn.alts[1] == "6 GPUs run 1 job, 1 of them on several nodes."
    assert [p.started for p in drawn.policies] == [True, False]


def test_what_is_kept_of_elastic_jobs_is_bounded_and_turns_to_who_runs():
    watch = ElasticWatch(["fifo", "sjf"], 100, 4)
    for minute in range(1, 4 * MOST_ELASTIC):
        watch.take(elastic_report("fifo", minute))
    assert len(watch.told().policies["fifo"].curve) <= MOST_ELASTIC
    for minute in range(1, ELASTIC_PATIENCE + 1):
        assert watch.told().focus == "fifo"
        watch.take(elastic_report("sjf", minute))
    assert watch.told().focus == "sjf"
    drawn = live_drawing(watch.told(), 0.5, "half")
    assert len(drawn.nodes) == MOST_NODES
    assert drawn.more == "36 more nodes not drawn"
    points = [xy for chart in drawn.charts for _, line in chart.lines for xy in line]
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in points)
    assert all(len(node.gpus) == 4 for node in nodes_of(3, 4, {1: [(2, 4)]}))
