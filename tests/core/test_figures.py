"""Figures: drawn is what was given; names are text; overload is labelled; looks that can be told apart."""

import itertools
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

import nona
from nona.allocation.registry import POLICIES as TRAINING_POLICIES
from nona.cluster.hardware.cluster import Network, Racks
from nona.cluster.sharing.registry import SHARING_MODES
from nona.cluster.topology import make_topology
from nona.core import figures as looks
from nona.core.document import UNKNOWN
from nona.core.registry import ChartStyle
from nona.queries.chart_data import Distribution, GanttBar, OverTime
from nona.queries.placement.results import PlacedConfiguration, PlacedModel, SimulatedModel
from nona.queries.report import figures, series
from nona.queries.report.comparison import changes
from nona.queries.report.placement.figures import comparison_figure, jct_split_figure, servers_of
from nona.queries.report.placement.text import PARTS, parts_of
from nona.queries.results import MeanConfidence, ReplicationMeans, Resources
from nona.queries.schedulers.registry import SCHEDULERS
from nona.queries.workflows.outcome import simulation_outcome
from nona.scenario.schema import Scenario
from nona.serverless.policies.registry import POLICIES
from tests.core.filled import NASTY, but, changed, drawn, filled
from tests.queries.report.placement_sample import MIX, SIMULATED, outcome, report
from tests.queries.report.simulation_rows import around, model, parts, scheduler


@pytest.mark.parametrize("mean_s", [0.02, 0.015, 0.0131])
def test_parts_add_up_to_what_simulated_jobs_take(mean_s):
    """Longer than by formula, as long, and shorter: joins are added, or waits are shortened."""
    path = PlacedModel(
        jct_s=0.015, compute_s=0.01, transfer_s=0.002, network_wait_s=0.002, server_wait_s=0.001, subgraphs=()
    )
    times = {"mean": mean_s, "ci95": None, "p50": mean_s, "p95": mean_s, "p99": mean_s, "misses": None}
    own = SimulatedModel(slo_s=None, **times)
    told = report(models={NASTY: path}, simulated=but(SIMULATED, models={NASTY: own}))
    found = parts_of(told)
    made = jct_split_figure(found)
    assert made.layout.barmode == "stack"
    assert "<b>x" not in drawn(made)
    assert sum(bar.x[0] for bar in made.data) == pytest.approx(1e3 * mean_s)
    times = found[NASTY]
    assert (times.jct_s, times.compute_s, times.transfer_s) == (mean_s, 0.01, 0.002)
    assert all(part(times) >= 0 for part in PARTS.values())
    assert parts_of(but(told, predicted=but(MIX, jct_s=None))) == {}


def test_parts_of_completion_times_stack_to_the_jct_and_overload_has_no_bar():
    waits = (0.002, 0.003, 0.005)
    of_m = {"m": model(0.04, parts(0.03, *waits))}
    stable = scheduler(0.02, parts_s=parts(0.01, *waits), models=of_m)
    over = scheduler(None, "overloaded", parts_s=parts(None, None, None, None))
    made = figures.parts_figure({NASTY: stable, "b": over})
    assert sum(bar.x[0] for bar in made.data) == pytest.approx(20.0)
    assert [bar.x[1] for bar in made.data] == [None] * 5
    assert made.layout.barmode == "stack"
    assert made.data[0].y[1] == "b (overloaded)"
    assert "<b>x" not in drawn(made)
    assert sum(bar.x[0] for bar in figures.parts_figure({NASTY: stable}, "m").data) == pytest.approx(40.0)


def test_what_has_no_value_has_no_bar():
    plain = outcome(0.01, None, None)
    times = but(plain.nona.simulated, ci95=(0.008, 0.012))
    made = comparison_figure(but(plain, nona=but(plain.nona, simulated=times)))
    drawn = [point for point in made.data if point.x[0] is not None]
    assert [(list(point.x), list(point.y)) for point in drawn] == [([10.0], ["nona"])]
    assert list(drawn[0].error_x.array) == pytest.approx([2.0])
    assert sum("overloaded" in tick for tick in made.layout.yaxis.ticktext) == 2
    half = Resources(compute=0.5, network=None)
    made = figures.utilisation_figure({"a": scheduler(0.01, utilization=half)})
    assert [list(bar.x) for bar in made.data] == [[50.0], [None]]


def test_lines_over_time_and_ecdfs_show_slo_overload_and_scale():
    curve = {"all": Distribution(x=(0.01, 0.02), y=(0.5, 1.0))}
    slos = {"m": 0.015, "n": 0.03, "o": None}
    made = figures.ecdf_figure({"a": curve, "b": curve}, "all", slos, {"b": "overloaded"})
    assert [s.x0 for s in made.layout.shapes] == [15.0, 30.0]
    assert [t.name for t in made.data] == ["a", "b (overloaded)"]
    assert made.data[1].line.dash == "dot"
    assert list(made.data[0].y) == [50.0, 100.0]
    near = {"a": OverTime(t=(1, 2), jct_s=(0.01, 0.02)), "b": OverTime(t=(1, 2), jct_s=(0.03, 0.02))}
    far = {**near, "b": OverTime(t=(1, 2), jct_s=(3.0, 9.0))}
    assert figures.jct_over_time_figure(near).layout.yaxis.type == "linear"
    assert figures.jct_over_time_figure(far).layout.yaxis.type == "log"
    assert figures.jct_over_time_figure({}).layout.yaxis.type == "linear"


@examples(100)
@given(st.data())
def test_every_task_stands_on_exactly_one_server(data):
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


def test_small_figures_show_what_they_are_given():
    kinds = {f"k{i}": float(i) for i in range(1, 15)}
    made = looks.time_by_kind_figure(kinds)
    assert sum(made.data[0].x) == pytest.approx(1e3 * sum(kinds.values()))
    assert made.data[0].y[0] == "all others"
    assert looks.text("<b>" * 100, 10).startswith("&lt;b&gt;")


@examples(60)
@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=700), st.integers(0, 20))
def test_condensed_ecdf_lies_on_the_true_one(times, unfinished):
    values = np.array(times + [np.nan] * unfinished)
    curve = series._ecdf(values)
    ordered = np.sort(np.array(times))
    assert len(curve.x) <= 240
    assert curve.x[-1] == ordered[-1]
    for x, y in zip(curve.x, curve.y, strict=True):
        below, upto = (np.searchsorted(ordered, x, side=side) for side in ("left", "right"))
        assert below / len(values) < y <= upto / len(values) + 1e-12


def test_dots_stand_at_their_values_with_their_intervals_on_axes_that_fit():
    dots = [
        looks.EstimateDot("a", 90.0, [70.0, 110.0], "90 %"),
        looks.EstimateDot(NASTY, 10.0, [-10.0, 30.0], "10 %"),
        looks.EstimateDot("c", None, None, "", "no SLO"),
    ]
    made = looks.dots_figure(dots, "SLO hits, %", most=100.0)
    first, second, third = made.data
    assert (list(first.x), list(second.x), list(third.x)) == ([90.0], [10.0], [None])
    assert (first.error_x.array[0], first.error_x.arrayminus[0]) == (10.0, 20.0)
    assert (second.error_x.array[0], second.error_x.arrayminus[0]) == (20.0, 10.0)
    assert "no SLO" in made.layout.yaxis.ticktext[2]
    assert "<b>x" not in drawn(made)
    assert list(made.layout.yaxis.categoryarray)[::-1] == list(made.layout.yaxis.tickvals)
    for values in ([99.0, 99.9], [20.0, 100.0], [100.0]):
        near = [looks.EstimateDot(f"{v}", v, [v - 1, v + 1], "") for v in values]
        axis = looks.dots_figure(near, "%", most=100.0).layout.xaxis
        assert axis.range[0] <= max(0.0, values[0] - 1)
        assert 100.0 < axis.range[1] < 103.0, "room for a marker at 100 %, and no more"
    signed = looks.dots_figure([looks.EstimateDot("a", -5.0, [-6.0, -4.0], "")], "ms", zero=True)
    assert signed.layout.shapes[0].x0 == 0
    assert (signed.data[0].error_x.arrayminus[0], signed.layout.xaxis.type) == (1.0, "linear")
    far = looks.dots_figure(
        [looks.EstimateDot("a", 1.0, None, ""), looks.EstimateDot("b", 90.0, None, "")], "ms"
    )
    assert far.layout.xaxis.type == "log"


def test_a_dumbbell_joins_two_values_and_the_forest_has_prediction_simulation_and_bound():
    def of(jct):
        half = (0.5,) * len(jct)
        return ReplicationMeans(jct_s=tuple(jct), slo_hit_rate=half, compute=half, network=half)

    found = changes(
        {"a": of([0.01, 0.03]), "b": of([None, None])}, {"a": of([0.01, 0.01]), "b": of([0.02, 0.02])}, True
    )
    made = figures.dumbbell_figure(found, "jct_s")
    join, old, new = made.data[:3]
    assert list(join.x) == pytest.approx([20.0, 10.0])
    assert (list(old.x), list(new.x)) == ([pytest.approx(20.0)], [pytest.approx(10.0)])
    assert old.marker.symbol == "circle-open"
    assert "−10 ms" in made.layout.yaxis.ticktext[0]
    assert "no value before" in made.layout.yaxis.ticktext[1]
    assert list(figures.dumbbell_figure(found, "compute").data[0].x) == [50.0, 50.0]
    times = {"predicted_s": 0.019, "jct_s": around(0.02, 0.002), "little_s": 0.0201, "idle_s": 0.01}
    row = filled(MeanConfidence, scheduler="nona", state="stable", prediction="formula", error=-0.05, **times)
    over = but(row, scheduler="spread", state="overloaded", jct_s=UNKNOWN, error=None)
    made = figures.forest_figure([row, over])
    simulated, predicted, little, idle = made.data
    assert list(simulated.x) == [20.0, None]
    assert list(simulated.error_x.array) == pytest.approx([2.0, 0.0])
    assert list(predicted.x) == [19.0, 19.0]
    assert list(little.x) == [pytest.approx(20.1), None]  # of a queue that grows it says nothing
    assert list(idle.x) == [10.0, 10.0]
    assert "prediction −5.0 %" in made.layout.yaxis.ticktext[0]
    assert "overloaded" in made.layout.yaxis.ticktext[1]


def interval(row, job, start, length=0.002):
    times = {"start_s": start, "end_s": start + length, "wait_s": 0.001}
    return GanttBar(row=row, job=job, model=NASTY, what="w", **times)


def test_gantt_lanes_are_in_order_messages_hatched_and_rare_jobs_stand_below_each_other():
    rows = [interval("server 10", 5, 0.001), interval("link", 5, 0.0), interval("server 2", 6, 0.0)]
    made = figures.gantt_figure(rows)
    assert list(made.layout.yaxis.categoryarray)[::-1] == ["link", "server 2", "server 10"]
    bars = {bar.y[0]: bar for bar in made.data}
    assert (list(bars["server 10"].base), list(bars["server 10"].x)) == ([1.0], [pytest.approx(2.0)])
    assert bars["link"].marker.pattern.shape == "/"
    assert not bars["server 2"].marker.pattern.shape
    assert bars["link"].marker.color == bars["server 10"].marker.color != bars["server 2"].marker.color
    assert "<b>x" not in drawn(made)
    rows = [interval("server 0", 1, 3.0), interval("link", 1, 3.001), interval("server 0", 2, 900.0)]
    made = figures.gantt_figure(rows)
    wanted = {"job 1 · link": pytest.approx(1.0), "job 1 · server 0": 0.0, "job 2 · server 0": 0.0}
    assert list(made.layout.yaxis.categoryarray)[::-1] == list(wanted)
    assert {bar.y[0]: bar.base[0] for bar in made.data} == wanted
    link = [interval("link", 7, 0.0, 1.0)]  # rare: most of the time none is there
    assert not figures.are_rare([*link, interval("link", 8, 2.0, 1.0)])
    assert figures.are_rare([*link, interval("link", 8, 1e6, 1.0)])
    assert not figures.are_rare(link)


@pytest.mark.parametrize("network", [Network(), Network(nic=1e9), Network(nic=1e9, racks=Racks(3, 2e9))])
def test_stages_count_every_link_once(network):
    stages = series.link_stages(network, 8)
    racks = (network.racks.size, network.racks.uplink) if network.racks else (None, None)
    topology = make_topology(8, network.capacity, network.nic, *racks)
    assert sum(r.links for r in stages) == topology.links
    assert sum(r.total_capacity for r in stages) == pytest.approx(topology.link_capacity.sum())
    longest = [topology.link_names[k] for k in topology.path(0, 7)]
    kinds = [" ".join(w for w in name.split() if not w.isdigit()) for name in longest]
    assert kinds == [r.stage for r in stages]


def test_the_narrowest_stage_and_the_busiest_links_stand_out():
    made = series.stages_figure(series.link_stages(Network(capacity=1e9, nic=1e9), 8))
    colours = dict(zip(made.data[0].y, made.data[0].marker.color, strict=True))
    assert colours["core"] != colours["server out"] == colours["server in"]
    assert list(made.data[0].x) == [64.0, 8.0, 64.0]
    row = series.STAGES.fill(series.link_stages(Network(nic=1.25e9), 1200)).texts()[0]
    assert row == {"link": "server out", "number": "1,200", "each": "10 Gbit/s", "together": "12 Tbit/s"}
    names = ("core", "a", "b")
    runs = [link_run([1, 4, 2], names, 10), link_run([2, 12, 4], names, 20)]
    found = series.busiest_links(runs)
    assert [r.link for r in found] == ["a", "b", "core"]
    assert [r.utilization for r in found] == pytest.approx([0.5, 0.2, 0.1])
    assert list(series.links_figure(found).data[0].x) == pytest.approx([50, 20, 10])
    each = series.each_link(runs)
    assert [x.link for x in each] == list(names), "in the order of the topology"
    assert [x.utilization for x in each] == pytest.approx([0.1, 0.5, 0.2])
    assert series.busiest_links([link_run([1.0], ("link",), 10)]) == [], "one link needs no list"
    many = tuple(f"l{i}" for i in range(3000))
    assert series.each_link([link_run([1.0] * 3000, many, 10)]) == []
    dozen = series.busiest_links([link_run(list(range(100)), many[:100], 100)])
    assert [r.link for r in dozen] == [f"l{i}" for i in range(99, 87, -1)]


def link_run(busy, names, length):
    return SimpleNamespace(link_busy_s=np.array(busy), link_names=names, window_s=(1.0, 1.0 + length))


def test_windows_add_up_and_stand_in_the_report():
    row = {"model": "slides_example", "rate": "5/s"}
    rows = [{**row, "rate": "20/s", "slo": "40 ms"}, row]
    effort = {"jobs": 900, "replications": 2, "warmup": 50}
    parts = {"cluster": {"servers": [{}]}, "workload": rows, "simulation": effort, "schedulers": ["local"]}
    prepared = nona.prepare(changed(**parts))
    result = nona.simulate(prepared, engine="simpy")
    report = simulation_outcome(prepared, result, "now").report
    (windows,) = report.slo_over_time.values()
    record = result.records["local"][0]
    taken = record.completion_time_s[record.query == 0]
    assert sum(w.jobs for w in windows) == len(taken)
    assert sum(w.hits for w in windows) == int((taken <= 0.04).sum())
    assert len(windows) == min(24, len(taken) // 30)
    assert all(a.end_s == b.start_s for a, b in pairwise(windows))
    assert len(figures.hits_over_time_figure(report.slo_over_time).data) == 1
    assert type(report).from_json(report.to_json()) == report
    assert series.hits_over_time({}, [None]) == {}, "without an SLO there is nothing to keep"


# Never mixed on one chart.
CHARTS = tuple({t.name: t.style for t in things.values()} for things in (SCHEDULERS, POLICIES, SHARING_MODES))
BACKGROUNDS = ("#ffffff", "#0e1120")
# Linear RGB as one without red-green vision sees it (Viénot, Brettel, Mollon 1999).
DEUTERANOPIA = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


def linear(colour):
    raw = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(raw <= 0.04045, raw / 12.92, ((raw + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ (0.2126, 0.7152, 0.0722))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_name_has_the_look_that_it_declares_and_that_no_other_of_its_chart_has():
    for styles in CHARTS:
        assert all(isinstance(look, ChartStyle) for look in styles.values())
        assert len({s.symbol for s in styles.values()}) == len(styles)
        assert all(
            s.dash != looks.OVERLOADED_DASH and s.symbol != looks.UNSTABLE_SYMBOL for s in styles.values()
        )
        assert looks.scheduler_style("mine") not in styles.values(), "one from outside"
    for name, declared in (*SCHEDULERS.items(), *POLICIES.items()):
        assert looks.scheduler_style(name) == declared.style
    assert all(looks.scheduler_style(way.title) == way.style for way in SHARING_MODES.values())
    both = set(TRAINING_POLICIES) & set(SCHEDULERS)
    assert both, "policies of training clusters look as the schedulers of their names"
    assert all(TRAINING_POLICIES[name].style == SCHEDULERS[name].style for name in both)


def test_colours_stand_out_on_both_themes():
    for name, style in [pair for styles in CHARTS for pair in styles.items()]:
        for background in BACKGROUNDS:
            assert contrast(style.colour, background) >= 3.0, (name, background)
    assert contrast(looks.scheduler_style("mine").colour, "#ffffff") >= 3.0


def distance(one, other, sight=1.0):
    seen = [np.cbrt(np.clip(np.dot(sight, linear(s.colour)), 0, 1)) for s in (one, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))


def test_like_hues_differ_in_dash_for_eyes_without_red_and_green_and_the_default_ones_in_hue():
    usual = [SCHEDULERS[s.name].style for s in Scenario.model_fields["schedulers"].default]
    assert len(usual) > 4
    assert min(itertools.starmap(distance, itertools.combinations(usual, 2))) > 0.2
    like = [
        (a, b)
        for styles in CHARTS
        for a, b in itertools.combinations(styles, 2)
        if distance(styles[a], styles[b], DEUTERANOPIA) <= 0.08 and styles[a].dash == styles[b].dash
    ]
    assert not like
