"""The Training page of elastic jobs: demos, fields, an upload, a run, hostile names."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

from app_driver import Open, finish, tab
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples
from test_every_control import silent
from test_hostile_names import live

from nona.report.figures import PALETTE
from nona.results.elastic import ElasticHistory
from nona.scenario.file import load_scenario
from nona.sources.samples import scenario_path
from nona.study.training.elastic import expected_s, expected_text
from nona.ui.pages.training import ELASTIC_DEMOS
from nona.ui.pages.training_clusterview import colours_of
from nona.ui.pages.training_elastic import TABS
from nona.ui.shell.job_panel import current_job

PAGE = "10_training"
EVIL = "<img src=x>[a](http://a.b)**b**$x$"
JOBS = f"name,arrival_s,application,gpus,batch_size\n{EVIL},0,ncf,1,32768\nb,30,cifar10,4,1024\n"


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def test_demos_fields_an_upload_and_a_run(open_page: Open) -> None:
    at = open_page(PAGE)
    for demo in ELASTIC_DEMOS:
        at.button(key=f"open-training-{demo.name}").click().run()
        assert not at.exception
        assert state_of(at).scenario == load_scenario(scenario_path(demo.name))
        assert at.session_state["training-elastic-tabs"] == next(iter(TABS))
        state_of(at).undo()
        at.run()
    at.button(key=f"open-training-{ELASTIC_DEMOS[0].name}").click().run()
    fields(at)
    at.file_uploader[0].upload("mine.csv", JOBS.encode()).run()
    elastic = state_of(at).scenario.training.elastic
    assert (elastic.workload, elastic.load, elastic.profiles) == ("mine.csv", 1.0, None)
    assert silent(at) == []
    at.button(key="run-training-elastic").click().run()
    finish(at, "training-elastic")
    history = state_of(at).held("training-elastic", ElasticHistory)
    assert history is not None, state_of(at).notice
    assert history.jobs == (EVIL, "b")
    for name in TABS:
        tab(at, "training-elastic-tabs", name)
        assert silent(at) == []
        assert live(at) == []
    assert {b.label for b in at.get("download_button")} >= {"Report (JSON)", "Jobs (CSV)", "Jobs (Parquet)"}


def test_a_cancelled_run_keeps_what_is_known_and_says_so(open_page: Open) -> None:
    at = open_page(PAGE)
    at.button(key=f"open-training-{ELASTIC_DEMOS[0].name}").click().run()
    assert state_of(at).edit(("training", "elastic", "tick"), "1 s")
    assert state_of(at).edit(("training", "elastic", "policies"), ["tiresias"])
    at.run()
    at.button(key="run-training-elastic").click().run()
    job = current_job(state_of(at), "training-elastic")
    assert job is not None
    until = time.monotonic() + 300
    while not job.live.get("given") and time.monotonic() < until:
        time.sleep(0.05)
    job.cancel()
    at.run()
    assert job.status == "cancelled"
    assert [i.value for i in at.info if "The run was cancelled after" in i.value]
    (picture,) = [json.loads(c.proto.json) for c in at.get("bidi_component") if "GPUs" in c.proto.json]
    assert picture["told"].startswith("Cancelled at ")
    assert picture["nodes"]
    assert picture["policies"][0]["name"] == "tiresias"
    assert silent(at) == []


def test_a_demo_says_about_how_long_its_run_takes() -> None:
    for demo in ELASTIC_DEMOS:
        scenario = load_scenario(scenario_path(demo.name))
        assert scenario.training is not None
        assert scenario.training.elastic is not None
        seconds = expected_s(scenario.training.elastic, scenario.simulation.replications)
        assert demo.takes == expected_text(seconds)


@examples(60)
@given(st.dictionaries(st.integers(0, 60), st.integers(0, 5), max_size=30))
def test_jobs_on_one_node_differ_in_colour(nodes: dict[int, int]) -> None:
    """Up to nine jobs share a node, and there are ten colours."""
    there = Counter(nodes.values())
    shares = {job: [(node, 1)] for job, node in nodes.items() if there[node] <= 9}
    found = colours_of(shares)
    for node in there:
        own = [found[job] for job, of in shares.items() if of[0][0] == node]
        assert len(own) == len(set(own))
    assert {job: found[job] for job in shares if there[nodes[job]] == 1} == {
        job: PALETTE[job % len(PALETTE)] for job in shares if there[nodes[job]] == 1
    }


def fields(at: Any) -> None:
    """The fields of the page are those of the scenario."""
    next(b for b in at.get("button_group") if b.label == "Policies").set_value(["fifo", "optimus"]).run()
    assert [p.name for p in state_of(at).scenario.training.elastic.policies] == ["optimus", "fifo"]
    next(n for n in at.number_input if n.label == "Nodes").set_value(2).run()
    assert state_of(at).scenario.cluster.servers[0].count == 2
    next(n for n in at.number_input if n.label == "Relative load").set_value(0.5).run()
    assert state_of(at).scenario.training.elastic.load == 0.5
    next(t for t in at.text_input if t.label == "Tick").set_value("1.5 s").run()
    assert at.error
    assert state_of(at).scenario.training.elastic.tick == 60
    next(t for t in at.text_input if t.label == "Tick").set_value("2 min").run()
    assert state_of(at).scenario.training.elastic.tick == 120
