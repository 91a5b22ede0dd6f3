"""Figures of the Simulation page: drawn equals given; what has no value says so; jobs that are rare."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest
from simulation_rows import NO_MEAN, around

from nona.report.figures import Dot, dots_figure
from nona.report.simulations.comparison import changes
from nona.report.simulations.figures import (
    are_rare,
    dumbbell_figure,
    forest_figure,
    gantt_figure,
    gantt_title,
)
from nona.results.simulation import ReplicationMeans, Sureness
from nona.results.simulation_charts import GanttBar

NASTY = "<b>x</b>"


def drawn(figure: go.Figure) -> str:
    return json.dumps(json.loads(figure.to_json()), ensure_ascii=False)


def test_dots_stand_at_their_values_with_their_intervals_cut_where_no_value_can_lie() -> None:
    dots = [
        Dot("a", 90.0, [70.0, 110.0], "90 %"),
        Dot(NASTY, 10.0, [-10.0, 30.0], "10 %"),
        Dot("c", None, None, "", "no SLO"),
    ]
    made = dots_figure(dots, "SLO hits, %", most=100.0)
    first, second, third = made.data
    assert (list(first.x), list(second.x), list(third.x)) == ([90.0], [10.0], [None])
    assert (first.error_x.array[0], first.error_x.arrayminus[0]) == (10.0, 20.0)
    assert (second.error_x.array[0], second.error_x.arrayminus[0]) == (20.0, 10.0)
    assert "no SLO" in made.layout.yaxis.ticktext[2]
    assert "<b>x" not in drawn(made)
    assert list(made.layout.yaxis.categoryarray)[::-1] == list(made.layout.yaxis.tickvals)


def test_differences_keep_zero_in_view_and_means_far_apart_get_a_logarithmic_axis() -> None:
    for values in ([99.0, 99.9], [20.0, 100.0], [100.0]):
        axis = dots_figure([Dot(f"{v}", v, [v - 1, v + 1], "") for v in values], "%", most=100.0).layout.xaxis
        assert axis.range[0] <= max(0.0, values[0] - 1)
        assert 100.0 < axis.range[1] < 103.0, "room for a marker at 100 %, and no more"
    signed = dots_figure([Dot("a", -5.0, [-6.0, -4.0], "")], "ms", zero=True)
    assert signed.layout.shapes[0].x0 == 0
    assert (signed.data[0].error_x.arrayminus[0], signed.layout.xaxis.type) == (1.0, "linear")
    assert dots_figure([Dot("a", 1.0, None, ""), Dot("b", 90.0, None, "")], "ms").layout.xaxis.type == "log"


def test_a_dumbbell_joins_the_old_value_and_the_new_one() -> None:
    def of(jct: list[float | None]) -> ReplicationMeans:
        half = (0.5,) * len(jct)
        return ReplicationMeans(jct_s=tuple(jct), slo_hit_rate=half, compute=half, network=half)

    found = changes(
        {"a": of([0.01, 0.03]), "b": of([None, None])}, {"a": of([0.01, 0.01]), "b": of([0.02, 0.02])}, True
    )
    made = dumbbell_figure(found, "jct_s")
    join, old, new = made.data[:3]
    assert list(join.x) == pytest.approx([20.0, 10.0])
    assert (list(old.x), list(new.x)) == ([pytest.approx(20.0)], [pytest.approx(10.0)])
    assert old.marker.symbol == "circle-open"
    assert "−10 ms" in made.layout.yaxis.ticktext[0]
    assert "no value before" in made.layout.yaxis.ticktext[1]
    assert list(dumbbell_figure(found, "compute").data[0].x) == [50.0, 50.0]


def test_the_forest_has_prediction_simulation_and_bound() -> None:
    row = Sureness(
        scheduler="nona",
        state="stable",
        reason="",
        prediction="formula",
        predicted_s=0.019,
        jct_s=around(0.02, 0.002),
        relative_half_width=0.1,
        error=-0.05,
        explained=True,
        little_s=0.0201,
        little_error=0.005,
        idle_s=0.01,
        over_idle=2.0,
        load=0.5,
        bottleneck="link",
        replications=5,
    )
    changes = {"scheduler": "spread", "state": "overloaded", "jct_s": NO_MEAN, "error": None}
    over = row.model_copy(update=changes)
    made = forest_figure([row, over])
    simulated, predicted, little, idle = made.data
    assert list(simulated.x) == [20.0, None]
    assert list(simulated.error_x.array) == pytest.approx([2.0, 0.0])
    assert list(predicted.x) == [19.0, 19.0]
    assert list(little.x) == [pytest.approx(20.1), None]  # of a queue that grows it says nothing
    assert list(idle.x) == [10.0, 10.0]
    assert "prediction −5.0 %" in made.layout.yaxis.ticktext[0]
    assert "overloaded" in made.layout.yaxis.ticktext[1]


def interval(row: str, job: int, start: float, length: float = 0.002) -> GanttBar:
    return GanttBar(
        row=row, job=job, model=NASTY, what="w", start_s=start, end_s=start + length, wait_s=0.001
    )


def test_jobs_are_rare_where_most_of_the_time_none_is_there() -> None:
    assert not are_rare([interval("link", 7, 0.0, 1.0), interval("link", 8, 2.0, 1.0)])
    assert are_rare([interval("link", 7, 0.0, 1.0), interval("link", 8, 1e6, 1.0)])
    assert not are_rare([interval("link", 7, 0.0)])


def test_gantt_lanes_are_in_order_and_messages_are_hatched() -> None:
    rows = [interval("server 10", 5, 0.001), interval("link", 5, 0.0), interval("server 2", 6, 0.0)]
    made = gantt_figure(rows)
    assert list(made.layout.yaxis.categoryarray)[::-1] == ["link", "server 2", "server 10"]
    bars = {bar.y[0]: bar for bar in made.data}
    assert (list(bars["server 10"].base), list(bars["server 10"].x)) == ([1.0], [pytest.approx(2.0)])
    assert bars["link"].marker.pattern.shape == "/"
    assert not bars["server 2"].marker.pattern.shape
    assert bars["link"].marker.color == bars["server 10"].marker.color != bars["server 2"].marker.color
    assert "<b>x" not in drawn(made)
    assert (
        gantt_title(rows)
        == "In the first 2 jobs, tasks and messages, all added up, wait for 33 % of their time"
    )


def test_rare_jobs_stand_below_each_other_each_from_its_own_start() -> None:
    made = gantt_figure(
        [interval("server 0", 1, 3.0), interval("link", 1, 3.001), interval("server 0", 2, 900.0)]
    )
    assert list(made.layout.yaxis.categoryarray)[::-1] == [
        "job 1 · link",
        "job 1 · server 0",
        "job 2 · server 0",
    ]
    starts = {bar.y[0]: bar.base[0] for bar in made.data}
    assert starts == {
        "job 1 · server 0": 0.0,
        "job 1 · link": pytest.approx(1.0),
        "job 2 · server 0": 0.0,
    }
