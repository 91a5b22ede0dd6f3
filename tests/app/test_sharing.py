"""Links, undo, and sessions: what a link carries, that it asks first, that nothing of a session leaks."""

import base64
import json
import re
import zlib
from urllib.parse import parse_qs, urlsplit

import pytest
from app_driver import edit, go, named, new_session, put, state_of, upload_model
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.app.layout.scenario_bar import scenario_file
from nona.app.session import opening, share
from nona.app.session.state import AppState
from nona.app.session.uploads import Uploads
from nona.core.errors import ScenarioError
from nona.queries.workflows.preparation import prepare
from nona.scenario import lookup
from nona.scenario import sample_files as samples
from nona.scenario.file import load_scenario, parse_scenario, scenario_from_mapping, scenario_to_mapping

SMALL = parse_scenario(
    "{version: 1, name: From <b>afar</b>, cluster: {servers: [{count: 2}]}, "
    "workload: [{model: gpt2, rate: 5}]}"
)


NET = json.dumps({"nodes": [{"id": "a", "compute_ms": 2.0}]}).encode()


def raw(data):
    return "1." + base64.urlsafe_b64encode(zlib.compress(data)).rstrip(b"=").decode()


@pytest.mark.parametrize("name", samples.scenario_names())
def test_every_shipped_scenario_fits_and_comes_back(name):
    scenario = load_scenario(samples.scenario_path(name))
    text = share.pack(share.Shared(scenario, {"model": "x"}))
    assert len(text) < 1200
    assert share.unpack(text) == share.Shared(scenario, {"model": "x"})
    assert share.pack(share.unpack(text)) == text


@examples(60)
@given(st.text(max_size=300) | st.binary(max_size=300).map(raw))
def test_whatever_stands_in_an_address_is_a_scenario_or_one_error(text):
    try:
        told = share.unpack(text).scenario.name
    except ScenarioError as error:
        told = str(error)
    assert "\n" not in told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not of this format"),
        ("2.abc", "not of this format"),
        ("1.abc$", "not of this format"),
        ("1." + "a" * share.LONGEST, "more than the 8,000"),
        ("1.abcd", "cannot be read"),
        (share.pack(share.Shared(SMALL))[:-9], "copy the whole link"),
        (raw(b"0" * 4_000_000), "unpacks to more than"),  # a small link: it cannot unpack without bound
        (raw(b"[" * 200_000), "cannot be read"),
        (raw(b"[1]"), "carries no scenario"),
        (raw(b'{"s": {}, "x": 1}'), "carries no scenario"),
        (raw(b'{"s": {"version": 1}}'), "cluster: is missing"),
        (raw(b'{"s": {"version": 1e999}}'), "version"),
        (raw(b"\xff\xfe"), "cannot be read"),
    ],
)
def test_bad_links_say_why(text, why):
    with pytest.raises(ScenarioError, match=rf"\A.*{re.escape(why)}.*\Z"):  # one line
        share.unpack(text)


def test_choices_that_are_not_plain_are_left_out():
    body = {"s": scenario_to_mapping(SMALL), "c": {"a": 1, "b": [1], "c": None, "d": "x"}}
    assert share.unpack(raw(json.dumps(body).encode())).choices == {"a": 1, "d": "x"}
    body["c"] = [1]
    assert share.unpack(raw(json.dumps(body).encode())).choices == {}


def opened(text, page=""):
    at = new_session()
    at.query_params["s"] = text
    at.run()
    return go(at, page) if page else at


def test_a_fresh_session_adopts_a_link_and_drops_it_from_the_address():
    at = opened(share.pack(share.Shared(SMALL)))
    assert state_of(at).scenario == SMALL
    assert state_of(at).model == "gpt2"
    assert "s" not in at.query_params
    assert at.sidebar.text_input[0].value == SMALL.name


def test_own_work_is_not_replaced_without_asking(open_page):
    at = open_page("home")
    at.sidebar.text_input[0].set_value("My own").run()
    mine = state_of(at).scenario
    at.query_params["s"] = share.pack(share.Shared(SMALL))
    at.run()
    assert state_of(at).scenario == mine
    named(at.button, "Keep mine").click().run()
    assert state_of(at).scenario == mine
    assert not [b for b in at.button if b.label == "Open it"]
    at.query_params["s"] = share.pack(share.Shared(SMALL))
    at.run()
    named(at.button, "Open it").click().run()
    assert state_of(at).scenario == SMALL
    at.sidebar.button(key="undo").click().run()
    assert state_of(at).scenario == mine


def test_a_bad_link_is_one_line_leaves_the_page_alone_and_its_text_is_kept_as_far_as_it_can_be_read():
    at = opened("1.nonsense")
    assert (len(at.error), at.title[0].value) == (1, "Home")
    assert state_of(at).scenario == AppState().scenario
    assert "Download its text" in {b.label for b in at.get("download_button")}
    assert state_of(at).choices.get(opening.OpeningProblems).text == "1.nonsense"
    at.button(key="dismiss").click().run()
    assert "Download its text" not in {b.label for b in at.get("download_button")}
    body = '{"s": {"version": 1, "name": "Mine"}}'
    assert share.held_text(raw(body.encode())) == body
    assert share.held_text(raw(b"\xff\xfe")) == raw(b"\xff\xfe")
    assert len(share.held_text(raw(b"0" * 4_000_000))) == share.MOST_BYTES
    cut = share.pack(share.Shared(SMALL))[:-9]
    assert share.held_text(cut).startswith('{"s":{"version":1')


def link_of(at):
    put(at, "file-menu", True)
    return next(c.value for c in at.sidebar.code if "s=1." in c.value)


def test_the_link_carries_the_scenario_and_no_token(open_page):
    at = open_page("scenario")
    state_of(at).adopt(load_scenario(samples.scenario_path("mig_layouts")))
    link = link_of(at)
    token = at.session_state["nona_token"]
    assert len(token) > 40
    assert token not in link
    query = parse_qs(urlsplit(link).query)
    assert set(query) == {"s"}
    assert share.unpack(query["s"][0]).scenario == state_of(at).scenario


def test_small_uploaded_workflows_travel_in_the_link_and_what_does_not_fit_is_named(open_page):
    at = open_page("models")
    upload_model(at, "tiny.json", NET)
    state_of(at).replace_list(("workload",), [{"model": "tiny.json", "rate": 1}])
    query = parse_qs(urlsplit(link_of(at)).query)
    fresh = opened(query["s"][0])
    assert state_of(fresh).scenario.models.keys() == {"tiny.json"}
    assert state_of(fresh).problem() == ""
    nodes = [{"id": f"task {i} of {i * 7919}", "compute_ms": 1.0 + i / 7} for i in range(900)]
    upload_model(at, "my_big_net.json", json.dumps({"nodes": nodes, "edges": []}).encode())
    state_of(at).replace_list(("workload",), [{"model": "my_big_net.json", "rate": 1}])
    put(at, "file-menu", True)
    told = next(w.value for w in at.sidebar.warning if "A link cannot carry" in w.value)
    assert "my\\_big\\_net.json" in told
    assert not [c for c in at.sidebar.code if "s=1." in c.value]


def test_undo_and_redo_say_what_they_changed(open_page):
    at = open_page("scenario")
    state = state_of(at)
    name, count = state.scenario.name, state.scenario.cluster.servers[0].count
    state.edit(("cluster", "servers", 0, "count"), count + 1)
    state.edit(("seed",), 77)
    state.adopt(SMALL)
    at.run()
    told = []
    for button in ("undo", "undo", "undo", "redo"):
        at.sidebar.button(key=button).click().run()
        told += [t.value.replace("\\", "") for t in at.toast]
    assert told == [
        f"Undone: “{SMALL.name}” → “{name}”",
        "Undone: seed 77 → 0",
        f"Undone: servers {count + 1} → {count}",
        f"Redone: servers {count} → {count + 1}",
    ]
    state.edit(("cluster", "network", "capacity"), "many apples")  # a draft: the scenario stays what it is
    edit(at, ("seed",), 78)
    for told in ("Undone: seed 78 → 0", "Undone: what was typed for Capacity"):
        assert state.drafts
        at.sidebar.button(key="undo").click().run()
        assert [t.value.replace("\\", "") for t in at.toast] == [told]
    assert not state.drafts
    at.sidebar.button(key="redo").click().run()
    assert state.drafts


def test_undo_and_redo_bring_back_edits_drafts_and_replaced_scenarios_and_hold_a_large_model_once():
    state = AppState()
    first = state.scenario
    state.edit(("seed",), 5)
    state.edit(("cluster", "network", "capacity"), "5 apples")
    state.adopt(SMALL)
    assert not state.drafts
    state.undo()
    assert state.scenario.seed == 5
    assert state.drafts[("cluster", "network", "capacity")].value == "5 apples"
    state.undo()
    assert (state.scenario.seed, state.drafts) == (5, {})
    state.undo()
    assert state.scenario == first
    assert state.history.undone == ""
    state.undo()
    assert state.scenario == first
    for _ in range(3):
        state.redo()
    assert state.scenario == SMALL
    assert state.history.redone == ""
    state.undo()
    state.edit(("seed",), 9)
    assert state.history.redone == ""
    state = AppState()
    held = {"net": {"nodes": [{"id": "a", "compute_ms": 1}], "edges": []}}
    state.adopt(state.scenario.model_copy(update={"models": held}))
    before = state.scenario.models
    assert state.edit(("seed",), 3)
    assert state.scenario.models is before
    assert state.scenario.seed == 3


def test_history_is_bounded_and_a_drag_is_one_step():
    state = AppState()
    state.history.clock = iter(range(1000)).__next__  # a second between two changes
    for seed in range(1, 40):
        state.edit(("seed",), seed)
    state.undo()
    assert state.scenario.seed == 0
    state.history.clock = iter(range(0, 100_000, 10)).__next__
    for seed in range(1, 400):
        state.edit(("seed",), seed)
    steps = 0
    while state.history.undone:
        state.undo()
        steps += 1
    assert steps == state.history.limit
    assert state.scenario.seed == 399 - steps


def test_two_sessions_do_not_see_each_other_and_an_address_with_a_token_opens_nothing(open_page):
    one, two = open_page("home"), open_page("home")
    one.sidebar.text_input[0].set_value("Secret of one").run()
    two.run()
    assert state_of(two).untouched
    assert one.session_state["nona_token"] != two.session_state["nona_token"]
    page = " ".join(str(e) for e in two.main) + " ".join(str(e) for e in two.sidebar)
    assert "Secret of one" not in page
    two = new_session()
    two.query_params["workspace"] = one.session_state["nona_token"]
    two.run()
    assert state_of(two).untouched
    assert "workspace" not in two.query_params


@pytest.mark.parametrize("token", ["", "x", "../../etc", "a" * 10_000, "'; drop table"])
def test_a_foreign_token_gives_a_fresh_session(token):
    at = new_session()
    put(at, "nona_token", token)
    assert token != at.session_state["nona_token"]
    assert state_of(at).untouched


def test_a_link_whose_files_are_elsewhere_asks_for_them():
    text = "{version: 1, cluster: {servers: [{}]}, workload: [{model: nets/my.onnx, rate: 5}]}"
    at = opened(share.pack(share.Shared(parse_scenario(text))))
    told = " ".join(m.value for m in at.markdown).replace("\\", "")
    assert "**my.onnx** (model)" in told
    assert "bundle" in told
    assert at.sidebar.text_input[0].value == "Untitled scenario"
    at.file_uploader(key="missing-files-1-1").upload("any.onnx", b"x").run()
    assert state_of(at).uploads.names() == ("my.onnx",)


def test_a_scenario_is_opened_with_its_files_under_names_of_their_own(tmp_path):
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "net.json").write_text(json.dumps({"nodes": [{"id": place, "compute_ms": 1}]}))
    (tmp_path / "t.csv").write_text("time_s\n0\n1\n")
    rows = [{"model": f"{p}/net.json", "rate": 1} for p in "ab"]
    rows[0]["arrivals"] = {"process": "trace", "trace": "t.csv"}
    scenario = scenario_from_mapping(scenario_to_mapping(SMALL) | {"workload": rows})
    uploads = Uploads()
    scenario = opening.with_files(scenario, lookup.Sources(tmp_path), uploads)
    assert len({r.model for r in scenario.workload}) == 2
    uploads.sources.check(scenario)
    names = [uploads.sources.model(r.model).operators[0].id for r in scenario.workload]
    assert names == ["a", "b"]


def test_the_server_starts_with_the_scenario_that_it_was_given(tmp_path, monkeypatch):
    path = samples.scenario_path("rag_pipeline")
    monkeypatch.setenv("NONA_SCENARIO", str(path))
    at = new_session().run()
    assert state_of(at).scenario == load_scenario(path)
    assert state_of(at).untouched
    monkeypatch.setenv("NONA_SCENARIO", str(tmp_path / "gone.yaml"))
    at = new_session().run()
    assert "gone.yaml" in at.error[0].value.replace("\\", "")


def test_scenario_file_round_trip_with_an_uploaded_model(open_page):
    at = open_page("models")
    upload_model(at, "diamond.json", NET)
    named(at.button, "Add to the workload").click().run()
    text = scenario_file(state_of(at))
    other = open_page("models")
    named(other.file_uploader, "Scenario").upload("s.yaml", text.encode()).run()
    assert state_of(other).scenario == parse_scenario(text)
    assert state_of(other).scenario.labels == ("resnet18", "diamond")
    assert prepare(state_of(other).scenario).models[1].costed[0].total_compute_s == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("name", "data", "title"),
    [
        ("mine.yaml", b"{cluster: {servers: [{count: 2}]}, workload: [{model: gpt2, rate: 5}]}", "Home"),
        (
            "mine.json",
            b'{"cluster": {"servers": [{"count": 2}]}, "workload": [{"model": "gpt2", "rate": 5}]}',
            "Home",
        ),
        ("net.json", b'{"nodes": [{"id": "a", "compute_ms": 1}], "edges": []}', "Models"),
        ("calls.csv", b"timestamp\n0\n1\n", "Scenario"),
    ],
)
def test_a_file_dropped_anywhere_is_taken_as_what_it_is(open_page, name, data, title):
    at = open_page("home")
    next(f for f in at.file_uploader if str(f.key).startswith("dropped")).upload(name, data).run()
    state = state_of(at)
    assert not at.error
    assert at.title[0].value == title
    if title == "Home":
        assert state.scenario.labels == ("gpt2",)
    else:
        assert name in state.uploads.names()
        assert state.model == (name if title == "Models" else "resnet18")
