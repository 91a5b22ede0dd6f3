"""What a running training cluster tells: means, jobs by state, stays joined over rounds."""

from __future__ import annotations

import json

import pytest

from nona.results.training import TrainingLive
from nona.training.rounds import TrainingProgress
from nona.training.system import NodeGroup, TrainingCluster
from nona.ui.pages.training_clusterview import MOST_LANES, cluster_data
from nona.ui.tasks.training import MOST_POINTS, MOST_STAYS, PATIENCE, TrainingWatch

CLUSTER = TrainingCluster((NodeGroup("v100", 2), NodeGroup("k80", 40)))


def report(policy: str, number: int, *, job: int = 0, replication: int = 0) -> TrainingProgress:
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


def test_means_are_those_of_all_completed_jobs_and_rounds_are_joined() -> None:
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


def test_what_is_kept_and_drawn_is_bounded() -> None:
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


def test_rounds_that_were_not_reported_are_bridged() -> None:
    watch = TrainingWatch(CLUSTER, ["fifo"])
    for number, job in ((0, 3), (4, 3), (9, 5)):
        watch.take(report("fifo", number, job=job))
    assert [(s.jobs, s.start_s, s.end_s) for s in watch.told().stays] == [
        ((3,), 0.0, 1800.0),
        ((5,), 1800.0, 3600.0),
    ]


def test_a_policy_that_is_silent_leaves_the_picture() -> None:
    watch = TrainingWatch(CLUSTER, ["fifo", "isolated"])
    watch.take(report("fifo", 0))
    for number in range(PATIENCE):
        watch.take(report("isolated", number))
    assert watch.told().focus == "isolated"


def test_the_picture_goes_on_to_the_next_policy() -> None:
    watch = TrainingWatch(CLUSTER, ["fifo", "isolated"])
    watch.take(report("fifo", 198))
    watch.take(report("isolated", 0, job=7))
    assert watch.told().focus == "isolated"
    assert [s.jobs for s in watch.told().stays] == [(7,)]
