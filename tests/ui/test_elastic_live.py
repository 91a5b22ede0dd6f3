"""What a run of elastic jobs tells while it goes on: goodput, who has which GPU, bounds of the picture."""

from __future__ import annotations

import json

import pytest

from nona.results.elastic import ElasticLive
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.system import Share
from nona.ui.pages.training_clusterview import MOST_NODES, live_drawing, nodes_of
from nona.ui.tasks.training import ELASTIC_PATIENCE as PATIENCE
from nona.ui.tasks.training import MOST_ELASTIC_POINTS as MOST_POINTS
from nona.ui.tasks.training import ElasticWatch


def report(policy: str, minute: int, *, replication: int = 0) -> ElasticProgress:
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


def test_goodput_is_work_over_simulated_time() -> None:
    watch = ElasticWatch(["fifo", "sjf"], 2, 4)
    for minute in range(1, 4):
        watch.take(report("fifo", minute))
        watch.take(report("fifo", minute, replication=1))  # another run: not shown
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


def test_what_is_kept_and_drawn_is_bounded_and_turns_to_who_runs() -> None:
    watch = ElasticWatch(["fifo", "sjf"], 100, 4)
    for minute in range(1, 4 * MOST_POINTS):
        watch.take(report("fifo", minute))
    assert len(watch.told().policies["fifo"].curve) <= MOST_POINTS
    for minute in range(1, PATIENCE + 1):
        assert watch.told().focus == "fifo"
        watch.take(report("sjf", minute))
    assert watch.told().focus == "sjf"
    drawn = live_drawing(watch.told(), 0.5, "half")
    assert len(drawn.nodes) == MOST_NODES
    assert drawn.more == "36 more nodes not drawn"
    points = [xy for chart in drawn.charts for _, line in chart.lines for xy in line]
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in points)
    assert all(len(node.gpus) == 4 for node in nodes_of(3, 4, {1: [(2, 4)]}))
