"""What a sweep says: findings, tables and figures from reports whose answers are known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.core.document import UNKNOWN, Estimate
from nona.core.errors import ScenarioError
from nona.queries.results import Resources
from nona.queries.sweeps import figures as sweep_figures
from nona.queries.sweeps import findings as words
from nona.queries.sweeps import results as sweeps
from nona.queries.sweeps.figures import grid_figure
from nona.queries.sweeps.grids import cells, grid_points, grid_text
from nona.queries.sweeps.report import parse_value, parse_values, spaced, sweep_points, value_text
from nona.queries.sweeps.values import sign_changes
from tests.core.filled import but, filled
from tests.queries.report.simulation_rows import within


def point(value, mean, ratio=None, **more):
    """A point; without a mean it is overloaded."""
    state, hits = ("stable", 0.99) if mean is not None else ("overloaded", 0.5)
    measures = {"jct_s": within(mean, 0.02), "means_s": (mean,), "ratio": within(ratio, 0.05)}
    measures |= {"slo_hit_rate": Estimate(mean=hits, ci95=None)}
    busy = Resources(compute=0.4, network=0.8)
    fields = {"value": value, "state": state, "replications": 3, "utilization": busy, **measures}
    return filled(sweeps.SweptPoint, **(fields | more))


def curve(*points, formula=None):
    steady = {p.value: p.steady for p in points}
    turned = ((a, b) if steady[a] else (b, a) for a, b in sign_changes(list(steady.items())))
    ends = tuple(sweeps.SweptEdge(stable=a, overloaded=b) for a, b in turned)
    return sweeps.SweptCurve(points=points, edges=ends, formula=formula, formula_edges=())


def report(without="", **curves):
    """nona holds; slow gives up at 0.71; quick is faster; twin is not told apart.

    ``curves`` replace those of the same name; ``without`` leaves one out.
    """
    values = (0.0, 0.5, 0.9)
    formula = tuple(sweeps.FormulaPoint(value=v, jct_s=9e-3) for v in values)
    nona = [point(v, 10e-3, 1.0, predicted_s=9e-3, has_formula=True, error=-0.1) for v in values]
    ends = ((0.0, 20e-3, 2.0), (0.5, 31e-3, 3.1), (0.7, 90e-3), (0.71, None), (0.9, None))
    schedulers = {
        "nona": curve(*nona, formula=formula),
        "slow": curve(*(point(*end) for end in ends)),
        "quick": curve(*(point(v, 5e-3, 0.5) for v in values)),
        "twin": curve(*(point(v, 10.1e-3, 1.01) for v in values)),
    }
    names = {"key": "background.network.utilization", "label": "Link background", "unit": "fraction"}
    asked = {"values": values, "jobs": 4000, "replications": 3, "slo_s": 0.04, "reference": "nona"}
    done = {"engine": "compiled", "stage": "done", "complete": True}
    shown = {n: c for n, c in (schedulers | curves).items() if n != without}
    return filled(sweeps.SweepReport, **names, **asked, **done, schedulers=shown)


def alone(only):
    """A sweep of nona only."""
    return but(report(), schedulers={"nona": only})


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_spans_cover_just_the_unstable_points(flags):
    points = [point(float(i), 1e-3 if ok else None) for i, ok in enumerate(flags)]
    spans = words.unstable_spans(curve(*points), near=0.0)
    for i, ok in enumerate(flags):
        inside = any((low is None or low <= i) and (high is None or i <= high) for low, high in spans)
        assert inside != ok


def crosses(told):
    """Place and name of each cross in the chart."""
    drawn = sweep_figures.sweep_figure(told).data
    return [(t.x[0], t.name) for t in drawn if t.marker.symbol == "x"]


def test_near_an_edge_luck_does_not_make_three_edges_of_one_and_one_known_badly_is_not_marked():
    flags = [(0.0, True), (0.5, True), (0.69, True), (0.7, False), (0.705, True), (0.71, False), (0.9, False)]
    told = report(slow=curve(*(point(v, 20e-3 if ok else None) for v, ok in flags)))
    assert words.stability_text(told.schedulers["slow"], "fraction") == "unstable from 70 %"
    assert crosses(told) == [(70.0, "slow: unstable ≥ 70 %")]
    far = curve(point(0.0, 1e-3), point(0.1, None), point(0.5, 1e-3), point(0.9, None))
    assert words.stability_text(far, "fraction") == "unstable at 10 % and from 90 %"
    told = report(slow=curve(point(0.0, 20e-3), point(0.5, 31e-3), point(0.9, None)))
    assert crosses(told) == []
    assert len(crosses(report())) == 1


def test_rows_for_people_and_for_files_hold_the_sweep_s_own_numbers():
    told = report()
    rows = {r["scheduler"]: r for r in words.at_values(told, 0.9).texts()}
    assert rows["slow"]["mean JCT"] == rows["slow"]["times nona"] == "–"
    assert rows["slow"]["state"] == "overloaded"
    assert rows["quick"]["times nona"] == "0.5 × ± 0.025 ×"
    assert rows["nona"]["formula"] == "9 ms"
    assert rows["nona"]["formula's error"] == "-10.0 %"
    assert rows["quick"]["formula"] == "none"
    files = sweep_points(told).numbers()
    assert len(files) == sum(len(c.points) for c in told.schedulers.values())
    assert {"ratio_to_nona", "mean_jct_low_s", "predicted_jct_s"} <= {*files}
    assert all(sentence in words.sweep_text(told) for sentence in words.sweep_findings(told))
    assert "unstable from 71 %" in words.sweep_text(told)


def test_nothing_is_drawn_beyond_an_edge_and_a_cross_stands_there():
    told = report()
    for view in sweep_figures.views(told):
        figure = sweep_figures.sweep_figure(told, view, cursor=0.5)
        slow = next(t for t in figure.data if t.name.split(" · ")[0] == "slow")
        beyond = [y for x, y in zip(slow.x, slow.y, strict=True) if x > 70.0]
        assert all(y is None for y in beyond)
        (cross,) = [t for t in figure.data if t.name == "slow: unstable ≥ 71 %"]
        assert (cross.x[0], cross.marker.symbol) == (71.0, "x")
        assert slow.name == ("slow · up to 70 %" if view == "SLO hits" else "slow · to 71 %")
        nona = next(t for t in figure.data if t.name.split(" · ")[0] == "nona")
        assert (nona.y[0] is None) == (view == "none")
    jct = sweep_figures.sweep_figure(told, "JCT")
    assert jct.layout.yaxis.type == "log"
    assert [t.y[0] for t in jct.data if t.name == "nona by formula"] == [9.0]
    assert "SLO 40 ms" in [a.text for a in jct.layout.annotations]
    assert not [t for t in sweep_figures.sweep_figure(told, "SLO hits").data if "formula" in t.name]


def test_an_interval_that_reaches_below_zero_ends_on_the_axis():
    first, second, last = report().schedulers["quick"].points
    wide = but(second, jct_s=Estimate(mean=5e-3, ci95=(-1.0, 1.0)))
    figure = sweep_figures.sweep_figure(report(quick=curve(first, wide, last)))
    quick = next(t for t in figure.data if t.name == "quick")
    assert all(y - down > 0 for y, down in zip(quick.y, quick.error_y.arrayminus, strict=True))


def kept(*hits, unit="factor", values=()):
    """A sweep of the load in which nona keeps these shares at 0.5, 1, 1.5, …; ``None``: overloaded."""
    at = values or tuple(0.5 * (i + 1) for i in range(len(hits)))
    points = [
        point(v, None if h is None else 5e-3, slo_hit_rate=Estimate(mean=0.2 if h is None else h, ci95=None))
        for v, h in zip(at, hits, strict=True)
    ]
    told = but(alone(curve(*points)), key="load", label="Load", unit=unit)
    return but(told, values=at)


def test_where_the_target_holds_in_numbers_and_words():
    told = kept(1.0, 0.995, 0.985, None)
    (there,) = words.crossings(told.schedulers["nona"], 0.99)
    assert there.falls
    assert there.value == pytest.approx(1.25)
    assert words.holds_text(told.schedulers["nona"], told) == "up to +25 %"
    assert words.target_finding(told) == "99 % of the SLOs are kept up to +25 % (nona)."
    assert words.holds_text(kept(1.0, 1.0).schedulers["nona"], told) == "throughout"
    assert words.holds_text(kept(0.9, 0.5).schedulers["nona"], told) == "nowhere"
    assert [c.falls for c in words.crossings(kept(0.9, 1.0, None).schedulers["nona"], 0.99)] == [False, True]
    servers = but(kept(0.9, 0.995, unit="count", values=(4.0, 8.0)), key="servers")
    assert words.holds_text(servers.schedulers["nona"], servers) == "from 8"
    assert [words.change_text(f) for f in (1.3, 1.0, 0.5)] == ["+30 %", "±0 %", "−50 %"]
    told = kept(1.0, 1.0, None)
    *first, last = told.schedulers["nona"].points
    lost = but(told.schedulers["nona"], points=(*first, but(last, slo_hit_rate=UNKNOWN)))
    assert words.holds_text(lost, told) == "up to ±0 %"  # the next value is unstable


def test_the_servers_that_more_load_needs_are_said_and_the_target_and_its_crossing_drawn():
    need = sweeps.ServersNeeded(scheduler="nona", value=1.5, now=8, servers=10, most=32)
    said = words.target_finding(but(kept(1.0, 0.995, 0.985), needed=(need,)))
    assert said.endswith("At +50 % two more servers are needed (nona, simulated).")
    few = but(need, servers=None, value=1.0)
    said = words.target_finding(but(kept(1.0, 0.985), needed=(few,)))
    assert said.endswith("As the scenario stands 32 servers are too few (nona, simulated).")
    made = sweep_figures.sweep_figure(kept(1.0, 0.995, 0.985), "SLO hits")
    assert "target 99 %" in [a.text for a in made.layout.annotations]
    assert [s.y0 for s in made.layout.shapes] == [sweep_figures.nines(0.99)]
    (crossing,) = [t for t in made.data if t.name == "nona crosses the target"]
    assert (crossing.x[0], crossing.y[0]) == (pytest.approx(1.25), sweep_figures.nines(0.99))
    assert crossing.customdata[0] == "holds up to +25 %"
    assert made.data[0].name == "nona · up to +25 %"
    assert list(made.layout.yaxis.ticktext) == ["0", "50", "90", "99", "99.9", "≥ 99.99"]


def two():
    """nona is fastest but for the last value; slow keeps no steady state there."""
    lower, upper = report(), report(nona=curve(*(point(v, 4e-3, 1.0) for v in (0.0, 0.5, 0.9))))
    rows = (sweeps.GridRow(value=4.0, sweep=lower), sweeps.GridRow(value=8.0, sweep=upper))
    names = {"key": "cluster.servers[0].count", "label": "Servers", "unit": "count"}
    return filled(sweeps.SweepGrid, **names, values=(4.0, 6.0, 8.0), rows=rows)


def test_a_map_of_two_numbers_names_no_winner_where_paired_means_show_none():
    """Two schedulers at 567 µs each; at the second value one is shorter in every replication."""
    runs = {
        "a": ((567e-6, 569e-6, 566e-6), (4e-3, 5e-3, 6e-3)),
        "b": ((568e-6, 567e-6, 567e-6), (4.1e-3, 5.1e-3, 6.1e-3)),
    }
    curves = {
        name: curve(
            *(but(point(v, mean[0]), means_s=mean) for v, mean in zip((0.0, 0.5), means, strict=True))
        )
        for name, means in runs.items()
    }
    sweep = but(report(**curves), values=(0.0, 0.5), schedulers=curves)
    grid = filled(
        sweeps.SweepGrid, values=(4.0,), rows=(sweeps.GridRow(value=4.0, sweep=sweep),), unit="count"
    )
    found = cells(grid, "Mean JCT")
    assert [found[v, 4.0].leader for v in (0.0, 0.5)] == ["no clear lead", "a"]
    heat = grid_figure(grid, "Mean JCT").data[0]
    assert heat.text[0][0].startswith("no clear lead")


def test_a_map_of_two_numbers_has_the_winner_of_each_cell_or_one_scheduler_s_values():
    told = two()
    best = cells(told, "Mean JCT")
    assert {best[v, 4.0].scheduler for v in (0.0, 0.5, 0.9)} == {"quick"}
    assert cells(told, "Mean JCT", "slow")[0.9, 8.0].text("Mean JCT") == "unstable"
    assert sweeps.SweepGrid.from_json(told.to_json()) == told
    assert len(grid_points(told)) == sum(
        len(c.points) for r in told.rows for c in r.sweep.schedulers.values()
    )
    assert grid_text(told).splitlines()[-2].split()[:4] == ["4", "quick", "5", "ms"]
    heat = grid_figure(told, "Mean JCT").data[0]
    assert [list(row) for row in heat.z] == [[0, 0, 0], [None] * 3, [1, 1, 1]]
    assert heat.text[0][0] == "quick<br>5 ms"
    assert "not simulated yet" in heat.customdata[1][0]
    made = grid_figure(two(), "SLO hits", "slow")
    assert [round(v) if v is not None else None for v in made.data[0].z[0]] == [99, 99, None]
    line = made.data[-1]
    assert line.name == "99 % of the SLOs"
    assert list(line.x) == [1.5, 1.5, None] * 2  # between the second value and the third
    assert len(grid_figure(two(), "SLO hits", "nona").data) == 1  # all cells keep it


@examples(60)
@given(
    st.sampled_from(["fraction", "count", "factor", "bandwidth"]),
    st.integers(1, 50),
    st.integers(1, 500),
    st.integers(2, 30),
)
def test_values_lie_between_the_ends_and_are_about_as_many(unit, low, width, count):
    found = spaced(low, low + width, count, unit)
    assert (found[0], found[-1]) == (low, low + width)
    assert list(found) == sorted(set(found))
    assert len(found) <= count + 2
    assert unit != "count" or all(v == int(v) for v in found)


def test_values_are_read_as_they_are_written():
    assert parse_values("0:0.9:0.1", "fraction")[3:5] == (0.3, 0.4)
    assert parse_values("5 Gbit/s,25 Gbit/s", "bandwidth") == (6.25e8, 3.125e9)
    assert parse_values("3, 1, 3", "count") == (1.0, 3.0)
    assert parse_values("80 to 1", "count") == spaced(1, 80, 11, "count")
    for unit, value in (("fraction", 0.25), ("bandwidth", 1.25e9), ("count", 12.0), ("factor", 1.5)):
        assert parse_value(value_text(value, unit), unit, "x") == pytest.approx(value)
    for text, unit, why in (
        ("1:2", "count", "FIRST:LAST:STEP"),
        ("2:1:1", "count", "above 0"),
        ("0:1:0", "factor", "above 0"),
        ("1.5", "count", "whole"),
        ("inf", "factor", "finite"),
        ("", "count", "give 1 to"),
        ("0:1:1e-9", "fraction", "give 1 to"),
        ("5 apples", "bandwidth", "--values: '5 apples' is not a bandwidth"),
    ):
        with pytest.raises(ScenarioError, match=why):
            parse_values(text, unit)
