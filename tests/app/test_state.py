"""The session's state: edits, drafts, stale results, uploads, workspaces."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.app.session.opening import open_file
from nona.app.session.saving import WorkspaceStore
from nona.app.session.state import AppState, Result
from nona.app.session.uploads import Uploads
from nona.app.session.workspace import Workspaces
from nona.core.errors import NonaError, ScenarioError
from nona.scenario.file import parse_scenario
from nona.scenario.lookup import safe_name


def test_an_edit_replaces_the_scenario_and_an_invalid_one_is_a_draft_until_it_is_mended():
    state = AppState()
    old = state.scenario
    assert state.edit(("workload", 0, "rate"), "12/s")
    assert (state.scenario.workload[0].rate, old.workload[0].rate) == (12, 300)
    state = AppState()
    assert not state.edit(("workload", 0, "slo"), "soon")
    assert state.shown(("workload", 0, "slo")) == "soon"
    assert state.value(("workload", 0, "slo")) == "40 ms"
    assert "'soon' is not a time" in state.problem()
    assert state.edit(("workload", 0, "rate"), "5/s")  # another field can be edited meanwhile
    assert state.scenario.workload[0].rate == 5
    assert state.shown(("workload", 0, "slo")) == "soon"
    assert state.edit(("workload", 0, "slo"), "1 s")
    assert state.problem() == ""


def test_two_edits_that_are_only_valid_together_and_a_file_that_is_missing():
    state = AppState()
    arrivals = ("workload", 0, "arrivals")
    assert state.edit((*arrivals, "process"), "mmpp")
    assert not state.edit((*arrivals, "burst_fraction"), 0.5)  # 3 × 0.5 > 1
    assert state.edit((*arrivals, "burst_factor"), 1.5)
    spec = state.scenario.workload[0].arrivals
    assert (spec.burst_factor, spec.burst_fraction) == (1.5, 0.5)
    assert not state.drafts
    state = AppState()
    state.edit(("workload", 0, "model"), "nowhere.onnx")
    assert state.problem().startswith("workload[0].model: 'nowhere.onnx'")
    state.uploads.add("nowhere.onnx", b"x")
    assert state.problem() == ""


def test_a_result_is_stale_exactly_when_what_it_depends_on_changed():
    state = AppState()
    for kind in ("place", "simulate"):
        state.results[kind] = Result(state.fingerprint(kind), {}, "id")
    state.edit(("name",), "another name")
    assert [state.is_stale(kind) for kind in ("place", "simulate")] == [False, False]
    state.edit(("seed",), 99)
    assert [state.is_stale(kind) for kind in ("place", "simulate")] == [False, True]
    state.edit(("cluster", "network", "capacity"), "10 Gbit/s")
    assert state.is_stale("place")
    state.edit(("cluster", "network", "capacity"), "25 Gbit/s")
    assert not state.is_stale("place")


def test_opening_is_all_or_nothing_and_dump_round_trips():
    state = AppState()
    state.edit(("workload", 0, "slo"), "soon")
    text = state.dump()
    with pytest.raises(ScenarioError):
        open_file(state, "s.yaml", b"version: 1\nseed: -1")
    assert state.dump() == text
    assert state.drafts
    open_file(state, "s.yaml", text.encode())
    assert not state.drafts
    assert parse_scenario(state.dump()) == state.scenario


@examples(200)
@given(st.text(max_size=300))
def test_names_of_uploads_never_leave_the_folder(name):
    plain = safe_name(name)
    assert plain not in {"", ".", ".."}
    assert Path(plain).name == plain
    assert "\\" not in plain
    assert not plain.startswith(".")
    assert len(plain.encode()) <= 255


def test_uploads_are_found_confined_bounded_and_go_with_their_owner(monkeypatch):
    uploads = Uploads()
    folder = uploads.folder
    name = uploads.add("../a net.json", b'{"nodes": [{"id": 1, "compute_ms": 1}], "edges": []}')
    assert uploads.sources.read(name).startswith(b"{")
    with pytest.raises(NonaError):
        uploads.sources.read("../" + folder.name + "/" + name)
    del uploads
    assert not folder.exists()
    monkeypatch.setattr("nona.app.session.uploads.MOST_FILE_BYTES", 10)
    monkeypatch.setattr("nona.app.session.uploads.MOST_SESSION_FILES", 1)
    uploads = Uploads()
    with pytest.raises(NonaError, match="limit of 10"):
        uploads.add("a", b"x" * 11)
    uploads.add("a", b"x")
    uploads.add("a", b"y")  # the same name again replaces it
    with pytest.raises(NonaError, match="at most"):
        uploads.add("b", b"x")


def test_workspaces_return_by_token_are_bounded_and_those_with_work_outlast_the_others():
    held = Workspaces(limit=2)
    token, state = held.open(None)
    assert held.open(token) == (token, state)
    assert held.open("guess")[0] != "guess"
    for _ in range(2):
        held.open(None)
    assert held.open(token)[1] is not state  # the least recently used went
    short = Workspaces(keep_s=-1.0)
    old, before = short.open(None)
    short.open(None)
    assert short.open(old)[1] is not before
    held = Workspaces(limit=3)
    token, state = held.open(None)
    state.edit(("seed",), 8)
    for _ in range(9):
        held.open(None)
    assert held.open(token)[1] is state


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("mig", "9g.90gb", "9g.90gb"),
        ("gpu", "a101", "not a known device"),
        ("gpus", 16, "executors are more than"),
    ],
)
def test_an_edit_that_no_file_may_hold_is_refused_at_its_field(field, value, why):
    state = AppState()
    assert field != "gpus" or state.edit(("cluster", "servers", 0, "count"), 100_000)
    before, path = state.scenario, ("cluster", "servers", 0, field)
    assert not state.edit(path, value)
    assert state.scenario == before
    assert state.drafts[path].value == value
    assert why in state.drafts[path].error
    assert "\n" not in state.drafts[path].error
    assert state.edit(path, state.value(path))
    assert not state.drafts


def test_a_list_is_checked_like_an_edit_and_an_unknown_name_elsewhere_blocks_neither():
    state = AppState()
    with pytest.raises(ScenarioError, match="no-such-gpu"):
        state.replace_list(("cluster", "servers"), [{"count": 1, "gpu": "no-such-gpu"}])
    with pytest.raises(ScenarioError, match="no-such-policy"):
        state.replace_list(("schedulers",), ["nona", "no-such-policy"])
    assert state.scenario == AppState().scenario
    state = AppState()
    state.adopt(parse_scenario("{cluster: {servers: [{gpu: gone}]}, workload: [{model: gpt2, rate: 5}]}"))
    assert state.edit(("seed",), 3)
    state.replace_list(("workload",), [{"model": "gpt2", "rate": 2}])
    assert state.scenario.workload[0].rate == 2
    assert state.edit(("cluster", "servers", 0, "gpu"), "t4")


def test_idle_workspaces_leave_the_memory_and_come_back_from_disk(tmp_path):
    store = WorkspaceStore(tmp_path)
    opened, worked = set(), []
    held = Workspaces(store=store, idle_s=-1.0)
    held.is_open, held.is_worked_for = opened.__contains__, lambda state: any(s is state for s in worked)
    token, state = held.open(None)
    state.edit(("seed",), 8)
    opened.add(token)
    assert held.sweep() == 0  # a tab shows it
    opened.clear()
    worked.append(state)
    assert held.sweep() == 0  # a job works for it
    worked.clear()
    assert held.sweep() == 1
    store.flush()
    back = held.open(token)[1]
    assert (back is state, back.scenario.seed) == (False, 8)
    held = Workspaces(idle_s=3600.0)
    held.is_open = lambda token: False
    token, state = held.open(None)
    assert held.sweep() == 0
    assert held.open(token)[1] is state
