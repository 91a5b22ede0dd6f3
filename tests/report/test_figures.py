"""Figures: what is drawn equals what was given; names are text; overload is labelled, its mean not drawn."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_sample import RESPONSE, outcome
from simulation_rows import model, parts, scheduler
from sizes import examples

from nona.report.figures import text, time_by_kind_figure
from nona.report.placements.figures import comparison_figure, jct_split_figure, servers_of
from nona.report.placements.text import PARTS, TimeParts, parts_of
from nona.report.simulations.figures import (
    ecdf_figure,
    executor_figure,
    jct_over_time_figure,
    parts_figure,
    utilisation_figure,
)
from nona.report.simulations.series import _binned, _ecdf
from nona.results.placement import ModelResponse, PlacedConfiguration, PlacedModel
from nona.results.simulation import Resources
from nona.results.simulation_charts import Distribution, OverTime, ResourceLoad

NASTY = "<b>x</b><a href='http://e'>"


def drawn(figure: go.Figure) -> str:
    return str(json.dumps(json.loads(figure.to_json()), ensure_ascii=False))


def test_jct_split_stacks_to_the_jct() -> None:
    parts = TimeParts(0.015, compute_s=0.01, transfer_s=0.002, network_wait_s=0.003, server_wait_s=0.0)
    made = jct_split_figure({"a": parts, NASTY: parts})
    assert [sum(bar.x[i] for bar in made.data) for i in range(2)] == pytest.approx([15.0, 15.0])
    assert made.layout.barmode == "stack"
    assert "<b>x" not in drawn(made)


@pytest.mark.parametrize("mean_s", [0.02, 0.015, 0.0131])
def test_parts_add_up_to_what_sampled_jobs_take(mean_s: float) -> None:
    """Longer than by formula, as long, and shorter: joins are added, or waits are shortened."""
    path = PlacedModel(
        jct_s=0.015,
        compute_s=0.01,
        transfer_s=0.002,
        network_wait_s=0.002,
        server_wait_s=0.001,
        subgraphs=(),
    )
    times = {"p50_s": mean_s, "p95_s": mean_s, "p99_s": mean_s}
    response = ModelResponse(mean_s=mean_s, slo_s=None, miss=None, **times)
    found = parts_of({"a": path}, RESPONSE.model_copy(update={"models": {"a": response}}))
    made = jct_split_figure(found)
    assert sum(bar.x[0] for bar in made.data) == pytest.approx(1e3 * mean_s)
    assert found["a"].jct_s == mean_s
    assert all(part(found["a"]) >= 0 for part in PARTS.values())
    assert (found["a"].compute_s, found["a"].transfer_s) == (0.01, 0.002)
    assert parts_of({"a": path}, None)["a"].jct_s == 0.015


def test_parts_of_completion_times_stack_to_the_jct_and_overload_has_no_bar() -> None:
    waits = (0.002, 0.003, 0.005)
    of_m = {"m": model(0.04, parts(0.03, *waits))}
    stable = scheduler(0.02, parts_s=parts(0.01, *waits), models=of_m)
    over = scheduler(None, "overloaded", parts_s=parts(None, None, None, None))
    made = parts_figure({NASTY: stable, "b": over})
    assert sum(bar.x[0] for bar in made.data) == pytest.approx(20.0)
    assert [bar.x[1] for bar in made.data] == [None] * 5
    assert made.layout.barmode == "stack"
    assert made.data[0].y[1] == "b (overloaded)"
    assert "<b>x" not in drawn(made)
    assert sum(bar.x[0] for bar in parts_figure({NASTY: stable}, "m").data) == pytest.approx(40.0)


def test_an_overloaded_placement_has_no_bar_but_a_label() -> None:
    plain = outcome(0.01, None, None)
    response = plain.nona.response.model_copy(update={"sampling_s": 0.002})
    made = comparison_figure(
        plain.model_copy(update={"nona": plain.nona.model_copy(update={"response": response})})
    )
    assert list(made.data[0].y) == [10.0, 0, 0]
    assert list(made.data[0].text) == ["10 ms", "overloaded", "overloaded"]
    assert list(made.data[0].error_y.array) == [2.0, 0, 0]


def test_utilisation_without_a_value_has_no_bar() -> None:
    half = Resources(compute=0.5, network=None)
    made = utilisation_figure({"a": scheduler(0.01, utilization=half)})
    assert [list(bar.x) for bar in made.data] == [[50.0], [None]]
    assert list(executor_figure(ResourceLoad(executors=(0.25, 1.0), link=0.0, links=())).data[0].y) == [
        25.0,
        100.0,
    ]


def test_ecdf_shows_the_slo_and_marks_overload() -> None:
    curve = {"all": Distribution(x=(0.01, 0.02), y=(0.5, 1.0))}
    slos = {"m": 0.015, "n": 0.03, "o": None}
    made = ecdf_figure({"a": curve, "b": curve}, "all", slos, {"b": "overloaded"})
    assert [s.x0 for s in made.layout.shapes] == [15.0, 30.0]
    assert [t.name for t in made.data] == ["a", "b (overloaded)"]
    assert made.data[1].line.dash == "dot"
    assert list(made.data[0].y) == [50.0, 100.0]


def test_over_time_turns_logarithmic_only_where_lines_lie_far_apart() -> None:
    near = {"a": OverTime(t=(1, 2), jct_s=(0.01, 0.02)), "b": OverTime(t=(1, 2), jct_s=(0.03, 0.02))}
    far = {**near, "b": OverTime(t=(1, 2), jct_s=(3.0, 9.0))}
    assert jct_over_time_figure(near).layout.yaxis.type == "linear"
    assert jct_over_time_figure(far).layout.yaxis.type == "log"
    assert jct_over_time_figure({}).layout.yaxis.type == "linear"


@examples(100)
@given(st.data())
def test_every_task_stands_on_exactly_one_server(data: st.DataObject) -> None:
    tasks = [f"t{i}" for i in range(data.draw(st.integers(0, 6)))]
    labels = [data.draw(st.integers(0, 3)) for _ in tasks]
    parts = [[t for t, k in zip(tasks, labels, strict=True) if k == g] for g in sorted(set(labels))]
    root = data.draw(st.integers(-1, len(parts) - 1))
    sink = data.draw(st.integers(-1, len(parts) - 1))
    whole = tuple(tuple(part) for part in parts)
    configuration = PlacedConfiguration(parts=whole, root_part=root, sink_part=sink, probability=1.0)
    servers = servers_of(configuration, "root", "sink")
    assert sorted(t for _, own in servers for t in own) == sorted([*tasks, "root", "sink"])
    where = {t: name for name, own in servers for t in own}
    assert where["root"] == "root's server"
    assert (where["sink"] == "root's server") == (sink in (-1, root))
    for part in parts:
        assert len({where[t] for t in part}) == 1


def test_small_figures_show_what_they_are_given() -> None:
    kinds = {f"k{i}": float(i) for i in range(1, 15)}
    made = time_by_kind_figure(kinds)
    assert sum(made.data[0].x) == pytest.approx(1e3 * sum(kinds.values()))
    assert made.data[0].y[0] == "all others"
    assert text("<b>" * 100, 10).startswith("&lt;b&gt;")


@examples(60)
@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=700), st.integers(0, 20))
def test_condensed_ecdf_lies_on_the_true_one(times: list[float], unfinished: int) -> None:
    values = np.array(times + [np.nan] * unfinished)
    curve = _ecdf(values)
    ordered = np.sort(np.array(times))
    assert len(curve.x) <= 240
    assert curve.x[-1] == ordered[-1]
    for x, y in zip(curve.x, curve.y, strict=True):
        below, upto = (
            np.searchsorted(ordered, [x, x], side="left")[0],
            np.searchsorted(ordered, x, side="right"),
        )
        assert below / len(values) < y <= upto / len(values) + 1e-12


@examples(60)
@given(
    st.lists(st.tuples(st.floats(0, 1e3), st.floats(1e-3, 10)), min_size=1, max_size=300), st.integers(1, 50)
)
def test_stretches_of_time_lie_between_the_extremes(jobs: list[tuple[float, float]], bins: int) -> None:
    at, jct = np.array([a for a, _ in jobs]), np.array([v for _, v in jobs])
    series = _binned(at, jct, bins)
    assert 0 < len(series.t) <= bins
    assert jct.min() - 1e-9 <= min(series.jct_s)
    assert max(series.jct_s) <= jct.max() + 1e-9
    assert list(series.t) == sorted(series.t)
