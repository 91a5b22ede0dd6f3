"""The Workload page: its gauges, shares, pictures and verdicts are what theory says of the scenario."""

import json

import pytest
from app_driver import edit, metrics, named, said, state_of
from drawn import texts

from nona.app.pages.scenario.workload_facts import (
    arrivals_of,
    arrivals_picture,
    fastest,
    gauge,
    offered,
    sample_of,
    shares_picture,
)
from nona.app.session.opening import open_shipped_scenario
from nona.core.tables import share_text
from nona.core.units import format_number
from nona.models.report import batched_times, fit_text
from nona.queries.placement.capacity import executor_utilization
from nona.queries.report.full_batches import gain_text
from nona.queries.report.workloads import host_text
from nona.queries.workflows.preparation import prepare
from nona.scenario.rows import ArrivalsSpec


def trees(at):
    data = [json.loads(b.proto.json) for b in at.get("bidi_component")]
    return [d["tree"] for d in data if "tree" in d]


def words(at):
    return [t for tree in trees(at) for node in tree for t in texts(node)]


def test_load_and_shares_are_those_of_the_prepared_system(open_page):
    at = open_page("scenario")
    state = state_of(at)
    rows = [{"model": "resnet18", "rate": "300/s"}, {"model": "gpt2", "rate": "50/s"}]
    state.replace_list(("workload",), rows)
    edit(at, ("background", "compute", "utilization"), 0.2)
    system = prepare(state.scenario).system
    background, queries = executor_utilization(system)
    load = offered(state)
    assert (load.background, load.even) == (pytest.approx(background), pytest.approx(max(queries)))
    assert metrics(at)["Load if servers are picked at random"] == share_text(background + max(queries), 1)
    shown = trees(at)
    assert shown[0][0][2][0] == gauge("Executors", "executors", 0.2, load.best, load.even)
    for index, rate in enumerate((300 / 350, 50 / 350)):
        assert shown[1 + index] == [
            shares_picture(rate, load.shares[index], index),
            arrivals_picture(sample_of(state, index), arrivals_of(state, index), index),
        ]
    told = " ".join(words(at))
    assert f"{(1 - background) / max(queries):.3g} times the rate saturates them" in told
    assert any("depends on the placement" in t for t in words(at))


def test_a_row_is_batched_as_it_says_or_as_all_rows_and_its_fold_shows_the_times(open_page):
    at = open_page("scenario")
    state = state_of(at)
    row = {"model": "resnet18", "rate": "300/s"}
    own = {"max_batch": 6, "allowed": [1, 4, 8], "rule": "static", "delay": "1 ms"}
    state.replace_list(("workload",), [row, {**row, "batching": own}])
    edit(at, ("batching",), {"max_batch": 4})
    prepared = prepare(state.scenario)
    load = offered(state)
    assert load.even == pytest.approx(max(executor_utilization(prepared.system)[1]))
    for query in prepared.system.queries:
        times = batched_times(query.batching.step_s[:, 0].sum(axis=1))
        assert f"On a100-40gb: {fit_text(times)}." in said(at.caption)
        assert gain_text(times) in said(at.markdown)
    assert "This row uses" in said(at.caption)
    assert "a delay does not count under the rule static" in said(at.warning)
    named(at.text_input, "Allowed sizes").set_value("2, 4").run()
    assert "allowed [2, 4] must have 1" in said(at.error)
    named(at.text_input, "Allowed sizes").set_value("").run()
    named(at.number_input, "Largest batch").set_value(1).run()
    assert state.scenario.batching_of(state.scenario.workload[1]) is None
    assert said(at.caption).count("s(b) ≈") == 1


def test_the_load_of_stages_is_that_of_their_own_full_batches_without_the_hosts(open_page):
    at = open_page("scenario")
    state = state_of(at)
    open_shipped_scenario(state, "documents_as_deployed", {})
    at.run()
    system = prepare(state.scenario, state.uploads.sources).system
    load = offered(state)
    assert load.even == load.best == pytest.approx(max(executor_utilization(system)[1]))
    assert load.even < 60 * system.queries[0].tasks.compute_s.min(axis=0).sum() / 2, "less than one by one"
    told = " ".join(words(at))
    assert f"In full batches the mix would need {format_number(100 * load.even)} % of the executors" in told
    assert load.host == ("scan of documents", pytest.approx(60 * 6e-3 / 4))  # four processes of one server
    assert host_text(*load.host) in said(at.caption)


def test_users_are_never_more_than_servers_that_are_picked_at_random_can_take(open_page):
    at = open_page("scenario")
    state = state_of(at)
    state.replace_list(("workload",), [{"model": "resnet18", "concurrency": 64}])
    at.run()
    assert offered(state).even == offered(state).best < 1
    assert "Load if servers are picked at random" not in metrics(at)
    assert "under local" not in " ".join(words(at))


def test_an_slo_that_cannot_be_met_and_overload_are_told_plainly(open_page):
    at = open_page("scenario")
    state = state_of(at)
    cost = fastest(state, 0)
    edit(at, ("workload", 0, "slo"), cost.critical_s * 0.9)
    assert "can never be met" in said(at.error)
    edit(at, ("workload", 0, "slo"), (cost.critical_s + cost.total_s) / 2)
    assert not at.error
    assert "only a query that is split can meet it" in said(at.warning)
    edit(at, ("workload", 0, "slo"), cost.total_s * 2)
    assert not at.error
    assert not at.warning
    assert "for waits on one server" in said(at.caption)
    edit(at, ("workload", 0, "rate"), "1000000/s")
    assert any("Add servers below" in e.value for e in at.error)
    assert float(metrics(at)["Load, best placement"].split()[0].replace(",", "")) > 100


def test_a_trace_is_previewed_with_what_was_read(open_page):
    at = open_page("scenario")
    at.file_uploader(key="trace-file").upload("t.csv", b"timestamp\n0\n0.5\n2\n").run()
    assert "3 arrivals over 2 s, 1/s on average, longest gap 1.5 s" in said(at.markdown)
    named(at.selectbox, "Arrivals").select("Trace t.csv").run()
    told = words(at)
    assert not any("seed" in t for t in told), "a trace is recorded: no seed draws it"
    assert sum("The first run replays these arrivals" in t for t in told) == 1
    assert named(at.text_input, "Length").placeholder == "to its end"
    at.file_uploader(key="trace-file").upload("bad.csv", b"time\nsoon\n").run()
    assert "soon" in said(at.error)


def test_a_picked_trace_keeps_its_own_rate_and_rows_divide_it(open_page):
    at = open_page("scenario")
    state = state_of(at)
    lines = "".join(f"{i / 2},{'resnet18' if i % 4 else 'gpt2'}\n" for i in range(20_000))
    at.file_uploader(key="trace-file").upload("hour.csv", b"time,model\n" + lines.encode()).run()
    named(at.selectbox, "Arrivals").select("Trace hour.csv").run()
    spec = state.scenario.workload[0].arrivals
    assert (spec.trace, spec.scale_to_rate, state.scenario.workload[0].rate) == ("hour.csv", False, 2.0)
    assert metrics(at)["Queries/s"] == "2"
    told = "A run of 4,000 jobs, all rows together, lasts about 2,000 s: it replays 20 % of these 10,000 s"
    assert told in said(at.caption)
    next(b for b in at.button if b.label.startswith("Replay all")).click().run()
    assert state.scenario.simulation.jobs == 20_000
    named(at.selectbox, "This row takes").select("a share of them").run()
    assert state.scenario.workload[0].arrivals.share == 0.5
    named(at.selectbox, "This row takes").select("those with a value").run()
    assert state.scenario.workload[0].arrivals.column == "model"
    assert metrics(at)["Queries/s"] == "1.5"
    named(at.selectbox, "Arrivals").select("Poisson").run()
    assert state.scenario.workload[0].arrivals == ArrivalsSpec()


def test_workload_rows_can_be_added_edited_and_removed(open_page):
    at = open_page("scenario")
    at.selectbox(key="another-model").select("gpt2").run()
    named(at.button, "Add it to the mix").click().run()
    assert state_of(at).scenario.labels == ("resnet18", "gpt2")
    [t for t in at.text_input if t.label == "Rate"][1].set_value("7/s").run()
    named(at.text_input, "SLO").set_value("").run()
    [s for s in at.selectbox if s.label == "Arrivals"][1].select("Gamma (bursty or regular)").run()
    named(at.number_input, "CV of the gaps").set_value(2.5).run()
    rows = state_of(at).scenario.workload
    assert (rows[1].rate, rows[0].slo) == (7, None)
    assert (rows[1].arrivals.process, rows[1].arrivals.cv) == ("gamma", 2.5)
    named(at.button, "Remove").click().run()
    assert state_of(at).scenario.labels == ("gpt2",)


def test_a_row_asks_for_a_share_or_a_percentile_and_keeps_what_was_typed(open_page):
    at = open_page("scenario")
    [label] = state_of(at).scenario.labels
    before = state_of(at).scenario
    named(at.text_input, "p99 at most").set_value("50 ms").run()
    assert state_of(at).scenario.plan.targets[label].p99 == 0.05
    named(at.text_input, "p95 at most").set_value("soon").run()
    assert any("soon" in e.value for e in at.error)
    assert state_of(at).scenario.plan.targets[label].p99 == 0.05
    named(at.text_input, "p95 at most").set_value("").run()
    named(at.text_input, "p99 at most").set_value("").run()
    assert not at.error
    assert state_of(at).scenario == before
