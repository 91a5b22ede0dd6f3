"""The Placement page: every figure on it is the solver's own; classes, cards, racks and what does not fit."""

import json
from dataclasses import replace

import app_driver as app
import pytest
from drawn import texts
from streamlit.testing.v1 import AppTest

from nona.app.pages.queries.placement import PLACEMENT, solved_text, value_text
from nona.app.pages.queries.placement_result import FIRST, configuration_list
from nona.app.session.workspace import IDLE
from nona.core.units import format_time
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.placement.results import PlacedConfiguration, PlacedSubgraph, PredictedLink, SearchProgress
from nona.queries.report.placement import comparison
from nona.queries.report.placement import text as words
from nona.queries.report.placement.figures import link_waits_figure
from nona.queries.report.placement.tables import steps as rows_of
from nona.queries.report.times_off import off_text
from nona.queries.workflows import placements, preparation
from nona.queries.workflows.placement_times import simulated


@pytest.fixture(scope="module")
def placed():
    """The result of placing the slides' example."""
    at = app.solve_demo(lambda name: app.go(app.new_session().run(), name), "slides_example")
    return app.state_of(at).results["place"]


@pytest.fixture
def solved(open_page, placed):
    """The page with the placement of the slides' example."""
    at = app.open_demo(open_page, "slides_example")
    app.state_of(at).results["place"] = placed
    return app.go(at, "placement")


def test_findings_configurations_percentiles_and_the_warning_are_the_results(solved):
    at, state = solved, app.state_of(solved)
    data = state.results["place"].data
    shown = app.said(at.markdown)
    assert comparison.order_finding(data) in shown
    assert 0 <= data.nona.formula.gap <= 1e-4
    assert data.nona.notes
    assert all(f"- {note}" in shown for note in words.plain_notes(data.nona.notes))
    tree = json.loads(at.get("bidi_component")[0].proto.json)["tree"]
    subgraph = next(iter(data.nona.models.values())).subgraphs[0]
    assert tree == [configuration_list(subgraph)]
    assert "root's server" in texts(tree[0])
    held = state.results["place"]
    times = held.data.nona.simulated
    assert words.times_finding(times) in app.said(at.markdown)
    assert list(app.table(at, "p95")["p95"]) == ["14 ms"]
    nona = held.data.nona.model_copy(update={"warning": "Outside what was tested."})
    app.state_of(at).results["place"] = replace(held, data=held.data.model_copy(update={"nona": nona}))
    at.run()
    assert any("Outside what was tested" in c.value for c in at.caption)


def dots_of(at):
    """The chart of nona, local and spread."""
    return json.loads(next(c.proto.spec for c in at.get("plotly_chart") if '"spread"' in c.proto.spec))


def values_of(at):
    """What that chart shows of each."""
    return {dot["y"][0]: dot["x"][0] for dot in dots_of(at)["data"] if dot["x"][0] is not None}


def test_tiles_bars_and_table_are_simulated(open_page):
    """Headline, local and spread by the same jobs; the formula's own figures stand apart and say so."""
    at = app.solve_demo(open_page, "rag_pipeline")
    state = app.state_of(at)
    data, study = state.results["place"].data, preparation.prepare(state.scenario)
    report, wanted = data.nona, placements.place(study)
    assert report.objective_s == report.simulated.mean == wanted.objective_s
    for other, fixed in ((data.local, local_placement), (data.spread, spread_placement)):
        assert other.objective_s == simulated(study.system, fixed(study.system)).objective_s
    assert app.metrics(at)["Mean JCT"] == format_time(wanted.objective_s)
    shown = [x.value.replace("\\", "") for x in (*at.markdown, *at.caption)]
    assert f"**{report.simulated.candidates:,}**" in shown
    assert f"**{comparison.distance_text(data, 'local').removesuffix(' local')}**" in shown
    for line in (
        comparison.interval_text(report),
        comparison.lead_text(report),
        comparison.formula_text(report),
    ):
        assert any(line in text for text in shown)
    placed = {"nona": data.nona, "local": data.local, "spread": data.spread}
    assert values_of(at) == pytest.approx({name: 1e3 * r.objective_s for name, r in placed.items()})


def test_the_live_panel_shows_the_steps_of_the_search():
    names = ("elapsed_s", "mean_s", "ci95", "origin", "candidates")
    told = ((0.5, 0.09, (0.08, 0.1), "local", 5), (2.0, 0.08, (0.07, 0.09), "move", 17))
    steps = [dict(zip(names, row, strict=True)) for row in told]

    def page(steps):  # run without the imports above
        from types import SimpleNamespace

        from nona.app.pages.queries.placement import PLACEMENT

        PLACEMENT.live(SimpleNamespace(live={"steps": steps}))

    first = AppTest.from_function(page, kwargs={"steps": steps[:1]}).run()
    assert "5 candidates" in first.markdown[0].value
    assert not first.get("plotly_chart")
    at = AppTest.from_function(page, kwargs={"steps": steps}).run()
    assert "Best of 17 candidates so far" in at.markdown[0].value
    wanted = rows_of(SearchProgress.from_json({"steps": steps}).steps).to_pandas().data.to_dict("records")
    assert at.dataframe[0].value.to_dict("records") == wanted
    assert len(at.get("plotly_chart")) == 1


def test_a_cancelled_search_leaves_the_best_so_far(open_page):
    at = app.open_demo(open_page, "vision_language_8_servers")  # a large interior: local comes first
    app.state_of(at).edit(("background", "network", "utilization"), 0.23)  # which no test before has solved
    at = app.go(at, "placement")
    at.button(key="run-place").click().run()
    job = app.job_of(at, "place")
    assert app.until(lambda: not (job.unfinished and job.best is None))
    assert job.unfinished, f"{job.status} before its first answer: {job.error}"
    assert job.live.get("steps"), f"no answer after {job.elapsed_s:.0f} s: {job.text}"
    job.cancel()
    assert job.status == "cancelled"
    at.run()
    data = app.state_of(at).results["place"].data
    assert data.ended_early_s == pytest.approx(job.elapsed_s)
    assert data.nona.objective_s == data.steps[-1].mean_s
    assert app.metrics(at)["Mean JCT"] == format_time(data.nona.objective_s)
    assert words.early_text(data.ended_early_s) in [w.value.replace("\\", "") for w in at.warning]
    app.edit(at, ("workload", 0, "batching"), {"max_batch": 16})
    for name in PLACEMENT.tabs:  # everything below it can be opened
        app.put(at, "place-tabs", name)


def test_one_link_has_no_section_of_its_own(solved):
    at, state = solved, app.state_of(solved)
    app.put(at, "place-tabs", "Servers and links")
    assert "Where messages wait" not in [s.value for s in at.subheader]
    (link,) = state.results["place"].data.nona.predicted.links
    assert (link.kind, link.share) == ("link", 1.0)


def test_the_working_is_opened_by_a_switch_and_equals_the_solver(solved):
    at = app.put(solved, "place-tabs", "Formulas")
    assert not at.latex
    at.toggle(key="working-on").set_value(True).run()
    placement = placements.place(preparation.prepare(app.state_of(at).scenario))
    labels = [e.label.replace("\\", "") for e in at.expander]
    lines = {x.key: x for x in app.state_of(at).results["place"].data.working.lines}
    assert lines["objective"].value == pytest.approx(placement.prediction.jct_s)
    for line in lines.values():
        assert f"{line.title}: **{value_text(line)}**" in labels
    formulas = "".join(x.value for x in at.latex)
    for line in lines.values():
        assert line.formula in formulas
        assert line.filled in formulas
    rows = next(d.value for d in at.dataframe if "g" in d.value)
    assert rows["x"].sum() == pytest.approx(1)
    assert app.metrics(at)["Mean JCT"] == "14 ms"


def test_many_configurations_are_folded_repeated_notes_told_once_and_a_bottleneck_named():
    of = {"parts": (("a",), ("b",)), "root_part": 0, "sink_part": -1}
    many = [PlacedConfiguration(probability=p, **of) for p in (0.4, 0.2, 0.15, 0.1, 0.1, 0.05)]
    tree = configuration_list(PlacedSubgraph(root="r", sink=None, configurations=tuple(many)))
    shown = texts(tree)
    assert f"Show {len(many) - FIRST} more, together 15 %" in shown
    assert shown.count("(end)") == len(many)
    shares = [t for t in shown if t.endswith(" %") and t[0].isdigit()]
    assert shares == ["40 %", "20 %", "15 %", "10 %", "10 %", "5 %"]
    twice = "Restricted: interior of 10 tasks, 9 listed."
    other, _ = words.plain_notes([twice, twice, "Other."])
    assert other == "Other."
    of = {"links": 1, "share": 1.0, "capacity": 1.0, "utilization": 1.2}
    core = PredictedLink(name="core", kind="core", wait_s=None, **of)
    assert words.link_finding([core]).startswith("Bottleneck: core, 120.0 % busy: overloaded")
    idle = core.model_copy(update={"utilization": 0.0, "wait_s": 0.0})
    assert words.link_finding([idle]).endswith("messages do not wait")


def test_the_objective_is_chosen_and_what_was_searched_is_told(open_page):
    at = app.go(app.open_demo(open_page, "slides_example"), "placement")
    box = app.named(at.selectbox, "Objective")
    box.select("Missed SLOs").run()
    assert app.state_of(at).scenario.objective == "slo"
    app.run(at, "place")
    report = app.state_of(at).results["place"].data.nona
    assert report.objective == "slo"
    shown = app.said(at.markdown)
    assert comparison.origin_text(report) in shown
    assert app.metrics(at) == {"SLO hits": comparison.hits_text(report)}
    assert "more SLOs than local" in comparison.order_finding(app.state_of(at).results["place"].data)
    assert dots_of(at)["layout"]["xaxis"]["title"]["text"] == "SLO hits, %"


@pytest.mark.verify
def test_the_headline_is_simulated_when_the_formula_was_minimised(open_page):
    """The formula's figure stands beside as such."""
    at = app.go(app.open_demo(open_page, "vision_language_8_servers"), "placement")
    state = app.state_of(at)
    app.edit(at, ("workload",), state.value(("workload",))[:3])  # without the one whose times are given
    app.edit(at, ("objective",), "formula")
    app.run(at, "place")
    data = state.results["place"].data
    assert data.nona.origin == "formula"
    assert app.metrics(at) == {"Mean JCT": format_time(data.nona.simulated.mean)}
    shown = [x.value.replace("\\", "") for x in (*at.markdown, *at.caption)]
    assert any("By formula its mean is" in text for text in shown)
    assert any(off_text(data.if_times_off) in text for text in shown)
    placed = {"nona": data.nona, "local": data.local, "spread": data.spread}
    assert values_of(at) == pytest.approx({name: 1e3 * r.simulated.mean for name, r in placed.items()})


def test_a_placement_from_the_cache_does_not_claim_to_have_been_solved(open_page):
    at = app.solve_demo(open_page, "slides_example")
    first = app.state_of(at).results["place"].data
    runs = (app.run(at, "place") for _ in range(IDLE + 2))
    again = next((run for run in runs if run.known), first)  # each worker knows what it has solved itself
    assert again.known
    assert solved_text(again).startswith("Reused from an earlier search")
    fresh = first.model_copy(update={"known": False})
    assert solved_text(fresh).startswith("Solved in")
    early = solved_text(fresh.model_copy(update={"ended_early_s": 3.0}))
    assert early == "Cancelled after 3 s"


def test_cards_and_racks_reach_the_scenario_and_leave_it(open_page):
    at = open_page("scenario")
    assert app.state_of(at).scenario.cluster.network.nic is None
    app.named(at.selectbox, "Discipline").set_value("shared equally").run()
    at.segmented_control[0].set_value("Cards and racks").run()
    network = app.state_of(at).scenario.cluster.network
    assert (network.nic, network.discipline) == (10e9 / 8, "fifo")
    assert network.racks is not None
    assert not [s for s in at.selectbox if s.label == "Discipline"]
    app.named(at.text_input, "Uplink of each rack").set_value("16 Gbit/s").run()
    app.named(at.number_input, "Servers per rack").set_value(2).run()
    racks = app.state_of(at).scenario.cluster.network.racks
    assert (racks.size, racks.uplink) == (2, 2e9)
    rows = app.table(at, "number")
    assert rows["link"].tolist() == ["server out", "rack up", "core", "rack down", "server in"]
    assert rows["number"].tolist() == ["8", "4", "1", "4", "8"]
    at.segmented_control[0].set_value("Cards").run()
    network = app.state_of(at).scenario.cluster.network
    assert (network.nic, network.racks) == (10e9 / 8, None)
    at.segmented_control[0].set_value("One link").run()
    assert app.state_of(at).scenario.cluster.network.nic is None


@pytest.mark.verify
def test_placement_over_cards_and_racks_shows_where_messages_wait(open_page):
    at = app.adopt(open_page("placement"), "racks_and_nics", objective="formula")
    app.run(at, "place")
    app.put(at, "place-tabs", "Servers and links")
    links = app.state_of(at).results["place"].data.nona.predicted.links
    shown = app.said(at.markdown)
    assert words.link_finding(links) in shown
    rows = app.table(at, "crossed by")
    assert rows["link"].tolist() == ["server out", "rack up", "core", "rack down", "server in"]
    bars = link_waits_figure(links).data[0].x
    assert sum(bars) == pytest.approx(
        1e3 * app.state_of(at).results["place"].data.nona.predicted.network_wait_s
    )


@pytest.mark.verify
def test_slices_of_three_kinds_show_load_shares_and_replicas(open_page):
    at = app.adopt(open_page("scenario"), "mig_layouts", objective="formula")
    memory = app.table(at, "weights of all that fit")
    assert memory["executors"].tolist() == ["8", "4", "14"]
    app.go(at, "placement")
    app.run(at, "place")
    app.put(at, "place-tabs", "Servers and links")
    app.put(at, "all-columns-classes", True)
    classes = next(d.value for d in at.dataframe if {"wait of a visit", "executor class"} <= set(d.value))
    report = app.state_of(at).results["place"].data.nona
    assert classes["executors"].tolist() == [8, 4, 14]
    shares = next(d.value for d in at.dataframe if set(classes["executor class"]) <= set(d.value.columns))
    assert shares["model"].tolist() == list(report.class_shares)
    replicas = app.table(at, "replicas in all")
    total = sum(m.replicas_bytes for m in report.memory.models.values())
    assert total == pytest.approx(report.memory.replicas_bytes)
    assert replicas["replicas"].tolist() == [str(m.replicas) for m in report.memory.models.values()]


def test_a_model_that_fits_nowhere_stops_the_placement_in_one_line(open_page):
    at = open_page("scenario")
    state = app.state_of(at)
    assert state.edit(("cluster", "devices"), {"tiny": {"base": "t4", "memory": "10 MB"}})
    for number in range(len(state.scenario.cluster.servers)):
        assert state.edit(("cluster", "servers", number, "gpu"), "tiny")
    at.run()
    assert any("do not fit an executor of tiny" in w.value for w in at.warning)
    app.go(at, "placement")
    app.run(at, "place")
    (error,) = [e.value for e in at.error if "weights" in e.value]
    assert "tiny" in error
    assert "larger GPU" in error
