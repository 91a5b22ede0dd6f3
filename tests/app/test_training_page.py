"""The Training page, of rounds and of elastic jobs: how it begins, its fields, what a run shows."""

import json
from collections import Counter

import pytest
from app_driver import APP, edit, finish, go, metrics, named, new_session, put, run, said, state_of, until
from drawn import texts, within
from hypothesis import given
from hypothesis import strategies as st
from page_checks import EVIL, live, silent
from sizes import examples

from nona.app.layout.frame import facts
from nona.app.layout.job_panel import current_job
from nona.app.pages.training import drawings as training_drawings
from nona.app.pages.training import form as training_form
from nona.app.pages.training.elastic import TABS as ELASTIC_TABS
from nona.app.pages.training.page import DEMOS
from nona.app.session.workspace import jobs
from nona.core.figures import PALETTE
from nona.scenario.file import scenario_from_mapping
from nona.scenario.words import words
from nona.training.elastic.results import ElasticHistory
from nona.training.job_files import TEMPLATE
from nona.training.report import figures, findings, tables
from nona.training.workflows.preparation import prepare_training
from nona.training.workflows.run import simulate_training_scenario

PAGE = "training"
SMALL = {
    "version": 1,
    "name": "Small training cluster",
    "cluster": {"servers": [{"count": 2, "gpu": "v100"}, {"count": 1, "gpu": "k80", "gpus": 2}]},
    "simulation": {"replications": 2},
    "training": {
        "generate": {"jobs": 8, "mean_gap": "10 min"},
        "policies": ["max-min-fairness", "max-min-fairness-agnostic"],
    },
}
TRACE = b"ResNet-18 (batch size 64)\tpython3 main.py\tdir\t-n\t0\t9000\t1\t1\t-1\t0\n"


def adopt(at, **changes):
    """The small cluster with ``changes``, on the page."""
    state_of(at).adopt(scenario_from_mapping({**SMALL, **changes}))
    return at.run()


def test_jobs_are_generated_for_the_cluster_or_of_an_uploaded_trace_and_without_one_there_are_none(open_page):
    at = open_page(PAGE)
    before = state_of(at).scenario
    at.button(key="make-training").click().run()
    made = state_of(at).scenario
    assert made.training.generate.jobs == 60
    assert made.model_copy(update={"training": None}) == before
    assert [b for b in at.button if b.key == "run-training"]
    state_of(at).undo()
    assert state_of(at).scenario == before
    named(at.file_uploader, "Or your own jobs").upload("mine.trace", TRACE).run()
    spec = training(at)
    assert (spec.trace, spec.generate, spec.jobs) == ("mine.trace", None, ())
    named(at.get("button_group"), "Jobs from").set_value("generator").run()
    assert training(at).trace is None
    named(at.get("button_group"), "Jobs from").set_value("your file").run()
    assert training(at).trace == "mine.trace"
    at = adopt(open_page(PAGE))
    before = state_of(at).scenario
    named(at.get("button_group"), "Jobs from").set_value("your file").run()
    assert "There is no job file yet" in said(at.error)
    assert state_of(at).scenario == before


def test_fields_are_those_of_the_scenario(open_page):
    at = adopt(open_page(PAGE))
    [n for n in at.number_input if n.label == "Servers"][1].set_value(5).run()
    assert [g.count for g in state_of(at).scenario.cluster.servers] == [2, 5]
    named(at.number_input, "Price, $/h").set_value(3.5).run()
    assert training(at).prices == {"v100": 3.5}
    named(at.toggle, "Multi-GPU jobs").set_value(True).run()
    assert training(at).generate.multi_gpu
    typed(at, "Measured jobs", "2 to 5")
    assert training(at).generate.measured == (2, 5)
    typed(at, "Measured jobs", "some")
    assert at.error
    assert training(at).generate.measured == (2, 5)
    at.button(key="training-add-gpus").click().run()
    assert [g.gpu for g in state_of(at).scenario.cluster.servers] == ["v100", "k80", "p100"]


def switched(at, label, on=True):
    """The page after its toggle ``label`` was set."""
    return named(at.toggle, label).set_value(on).run()


def typed(at, label, text):
    """The page after ``text`` was typed into its field ``label``."""
    return named(at.text_input, label).set_value(text).run()


def training(at):
    """What the scenario says of training."""
    return state_of(at).scenario.training


def test_every_switch_is_a_field_and_is_undone_and_its_fields_are_those_of_the_scenario(open_page):
    at = adopt(open_page(PAGE))
    before = state_of(at).scenario
    for name in training_form.SWITCHES:
        label = words(("training", name)).title
        switched(at, label)
        assert getattr(training(at), name) is not None
        state_of(at).edit(("seed",), 5)
        switched(at, label, False)
        state_of(at).undo()
        assert getattr(training(at), name) is not None
        state_of(at).undo()
        state_of(at).undo()
        at.run()
        assert state_of(at).scenario == before
        assert not named(at.toggle, label).value
    switched(at, "Failures")
    typed(at, "Mean time between failures", "72 h")
    interval = named(at.selectbox, "Checkpoint interval")
    assert interval.value == "Daly's formula"
    interval.set_value("best by simulation").run()
    failures = training(at).failures
    assert (failures.mtbf, failures.interval) == (3 * 86400.0, "best")
    typed(at, "Restart takes", "soon")
    assert "soon" in said(at.error)
    assert training(at).failures == failures
    switched(at, "Failures", False)
    switched(at, "Moves cost time")
    switched(at, "Policies are charged for moves")
    typed(at, "Horizon", "1 h")
    typed(at, "Overhead", "10 %")
    moves = training(at).moves
    assert (moves.charge, moves.horizon, moves.overhead) == (True, 3600.0, 0.1)
    switched(at, "Users' estimates")
    named(at.number_input, "Error, factor").set_value(2.5).run()
    switched(at, "Claims are corrected", False)
    estimates = training(at).estimates
    assert (estimates.error, estimates.correct) == (2.5, False)
    switched(at, "Estimated pairs")
    typed(at, "Profiled pairs", "40 %")
    assert training(at).estimator.profiled == pytest.approx(0.4)


def test_regions_follow_the_groups_of_servers(open_page):
    at = adopt(open_page(PAGE))
    switched(at, "Regions")
    assert training(at).regions.groups == {"east": (0,), "west": (1,)}
    typed(at, "Region of group 1: 2 k80", "north")
    assert training(at).regions.groups == {"east": (0,), "north": (1,)}
    at.button(key="training-add-gpus").click().run()
    added = state_of(at).scenario
    assert added.training.regions.groups == {"east": (0,), "north": (1, 2)}
    at.button(key=f"training-remove-{state_of(at).revision}-0").click().run()
    kept = state_of(at).scenario
    assert [g.gpu for g in kept.cluster.servers] == ["k80", "p100"]
    assert kept.training.regions.groups == {"north": (0, 1)}
    state_of(at).undo()
    assert state_of(at).scenario == added
    prepare_training(added)


@pytest.mark.parametrize("jobs_alone", [True, False])
def test_every_page_opens_without_queries_and_says_what_is_next(open_page, jobs_alone):
    at = open_page("home")
    before = state_of(at).scenario
    if jobs_alone:
        adopt(at)
    else:
        put(at, "file-menu", True).button(key="new-scenario").click().run()
        assert (at.title[0].value, state_of(at).scenario.workload) == ("Scenario", ())
    told = "This scenario has training jobs only." if jobs_alone else "The workload is empty."
    for page in sorted(path.stem for path in (APP.parent / "pages").glob("*.py")):
        assert not go(at, page).error, page
        if page in ("placement", "simulation", "plan"):
            assert told in said(at.markdown)
            assert not [b for b in at.button if b.key in ("run-place", "run-simulate", "run-plan")]
    assert "No queries arrive." in said(go(at, "scenario").caption)
    state_of(at).undo()
    assert state_of(at).scenario == before


def test_a_model_is_added_to_training_jobs_only_when_asked_to(open_page):
    before = state_of(adopt(at := open_page("models"))).scenario
    for answer, kept in (("Leave it", True), ("Add it here", False), ("Begin a new scenario", False)):
        named(go(at, "models").button, "Add to the workload").click().run()
        assert state_of(at).scenario == before, "it asks first"
        named(at.button, answer).click().run()
        now = state_of(at).scenario
        assert kept == (now == before)
        assert kept or (len(now.workload), now.training is None) == (1, answer.startswith("Begin"))
        state_of(at).adopt(before)


@pytest.fixture(scope="module")
def ran():
    """The page with the result of a small run under two policies."""
    at = go(new_session().run(), PAGE)
    adopt(at)
    at.button(key="run-training").click().run()
    yield finish(at, "training")
    jobs().close()


def result_of(at, kind="training"):
    return state_of(at).results[kind].data


def test_the_finding_the_table_and_the_strip_are_those_of_the_report(ran):
    at = put(ran, "training-tabs", "Policies")
    report = result_of(at).report
    again = simulate_training_scenario(state_of(at).scenario).report
    assert {n: p.jct_s for n, p in report.policies.items()} == {n: p.jct_s for n, p in again.policies.items()}
    finding = findings.training_finding(report)
    assert metrics(at)[finding.label] == finding.value
    assert findings.gain_sentence(report.policies) in said(at.subheader)
    shown = at.dataframe[0].value
    assert shown["policy"].tolist() == list(report.policies)
    assert list(shown.columns) == list(tables.policies(report).deciding)
    assert not report.failed_checks
    told = " ".join(fact.text for fact in facts(state_of(at)))
    assert "8 training jobs" in told
    assert "mean JCT" in told


def test_any_round_is_explained_and_one_more_gpu_of_each_type_is_simulated(ran):
    at = put(ran, "training-tabs", "Rounds")
    data = result_of(at)
    name = next(iter(data.traces))
    wanted = next(r for r in data.traces[name].rounds if r.priorities and r.number > 2)
    at.number_input(key="training-shown-round").set_value(wanted.number).run()
    assert f"Round {wanted.number}" in said(at.markdown)
    shown = at.dataframe[0].value
    assert len(shown) == len(wanted.priorities)
    assert (shown["ran"] == "yes").sum() == sum(r.ran for r in wanted.priorities)
    at = put(ran, "training-tabs", "One more GPU")
    run(at, "training-one-more")
    report = result_of(at, "training-one-more")
    assert [r.gpu for r in report.rows] == ["k80", "v100"]
    base = result_of(at).report.policies["max-min-fairness"]
    assert report.base.mean_jct_s == base.jct_s.mean
    assert figures.one_more_finding(report).removesuffix(".") in said(at.markdown)
    assert at.get("plotly_chart")


def test_another_scenario_does_not_show_this_result(ran):
    at = put(ran, "training-tabs", "Policies")
    assert [b.label for b in at.get("download_button") if b.label == "Jobs (trace)"]
    adopt(at, name="Another cluster", seed=8)
    assert not at.get("plotly_chart")
    assert "Nothing has been run of this scenario yet" in said(at.caption)
    adopt(at, seed=8)  # the same scenario, changed: the result stays, and says so
    assert at.get("plotly_chart")
    assert "has changed since" in said(at.warning)
    assert not [b for b in at.get("download_button") if b.label == "Jobs (trace)"]
    adopt(at)


JOBS = f"name,arrival_s,application,gpus,batch_size\n{EVIL},0,ncf,1,32768\nb,30,cifar10,4,1024\n"


def test_an_example_fields_an_upload_and_a_run(open_page):
    at = open_page(PAGE)
    at.button(key=f"open-training-{DEMOS[2].name}").click().run()
    edit(at, ("training", "elastic", "policies"), ["optimus", "fifo"])
    named(at.number_input, "Nodes").set_value(2).run()
    assert state_of(at).scenario.cluster.servers[0].count == 2
    named(at.number_input, "Relative load").set_value(0.5).run()
    assert training(at).elastic.load == 0.5
    typed(at, "Tick", "1.5 s")
    assert at.error
    assert training(at).elastic.tick == 60
    typed(at, "Tick", "2 min")
    assert training(at).elastic.tick == 120
    named(at.file_uploader, "Or upload a workload").upload("mine.csv", JOBS.encode()).run()
    elastic = training(at).elastic
    assert (elastic.workload, elastic.load, elastic.profiles) == ("mine.csv", 1.0, None)
    assert silent(at) == []
    run(at, "training-elastic")
    history = state_of(at).result_of("training-elastic", ElasticHistory)
    assert history is not None, state_of(at).notice
    assert history.jobs == (EVIL, "b")
    for name in ELASTIC_TABS:
        put(at, "training-elastic-tabs", name)
        assert silent(at) == []
        assert live(at) == []
    assert {b.label for b in at.get("download_button")} >= {"Report (JSON)", "Jobs (CSV)", "Jobs (Parquet)"}


def test_a_cancelled_run_keeps_what_is_known_and_says_so(open_page):
    at = open_page(PAGE)
    at.button(key=f"open-training-{DEMOS[2].name}").click().run()
    assert state_of(at).edit(("training", "elastic", "tick"), "1 s")
    edit(at, ("training", "elastic", "policies"), ["tiresias"])
    at.button(key="run-training-elastic").click().run()
    job = current_job(state_of(at), "training-elastic")
    assert until(lambda: job.live.get("given") or not job.unfinished)
    job.cancel()
    at.run()
    assert job.status == "cancelled"
    assert [i.value for i in at.info if "The run of elastic jobs was cancelled after" in i.value]
    assert [c for c in at.caption if c.value.startswith("Cancelled at ")]
    drawings = [json.loads(c.proto.json) for c in at.get("bidi_component") if '"tree"' in c.proto.json]
    (picture,) = [p["tree"][0] for p in drawings if within(p["tree"][0], "policies")]
    assert within(picture, "node")
    assert "tiresias" in texts(picture)
    assert silent(at) == []


@examples(60)
@given(st.dictionaries(st.integers(0, 60), st.integers(0, 5), max_size=30))
def test_jobs_on_one_node_differ_in_colour(nodes):
    """Up to nine jobs share a node, and there are ten colours."""
    there = Counter(nodes.values())
    shares = {job: [(node, 1)] for job, node in nodes.items() if there[node] <= 9}
    found = training_drawings.colours_of(shares)
    for node in there:
        own = [found[job] for job, of in shares.items() if of[0][0] == node]
        assert len(own) == len(set(own))
    alone = [job for job in shares if there[nodes[job]] == 1]
    assert all(found[job] == PALETTE[job % len(PALETTE)] for job in alone)


def test_own_jobs_come_first_are_checked_when_they_are_chosen_and_shown(open_page):
    at = open_page("training")
    state = state_of(at)
    named(at.file_uploader, "Your jobs").upload("wrong.csv", b"name,hours,gpu\na,5,v1000\n").run()
    assert "gpu='v1000' is no GPU" in said(at.error).replace("\\", "")
    assert state.scenario.training is None
    named(at.file_uploader, "Your jobs").upload("mine.csv", TEMPLATE.encode()).run()
    assert state.scenario.training.trace == "mine.csv"
    shown = next(t.value for t in at.dataframe if "length" in t.value.columns)
    assert list(shown["name"]) == ["fine-tune", "pretrain", "sweep"]
    assert list(shown["length"]) == ["6 h on a100-40gb", "30 h on a100-40gb", "2.5 h on v100"]


def test_a_table_that_is_dropped_on_this_page_is_offered_to_it_first(open_page):
    at = open_page("training")
    drop(at, "jobs.csv", TEMPLATE.encode())
    assert state_of(at).scenario.training.trace == "jobs.csv"
    assert at.title[0].value == "Training"
    drop(at, "arrivals.csv", b"time\n0\n1\n2.5\n")
    assert at.title[0].value == "Scenario", "it is no table of jobs, but arrivals"


def drop(at, name, data):
    """Drop a file on the window."""
    next(f for f in at.file_uploader if str(f.key).startswith("dropped")).upload(name, data).run()
