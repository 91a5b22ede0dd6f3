"""Workspaces on disk: all comes back, damage is set aside, size and age are bounded."""

import json
import os
import time

import pytest
from app_driver import until
from begun import BEGUN

from nona.app.jobs.kinds import KINDS
from nona.app.server.browser import new_token
from nona.app.session.opening import new_state
from nona.app.session.saving import ScenarioTexts, WorkspaceSnapshot, WorkspaceStore, write_workspace
from nona.app.session.state import AppState, Result
from nona.app.session.workspace import Workspaces, restored
from nona.app.session.workspace_files import BROKEN, FILE, RestoredNotice, read_workspace, sweep
from nona.app.tasks.context import JobContext
from nona.app.tasks.simulation import simulate_scenario

GRAPH = {"nodes": [{"id": "a", "compute_ms": 1}], "edges": []}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished simulation, as its job sends it."""
    small = {**BEGUN, "simulation": {"jobs": 50, "replications": 2}, "schedulers": ["local"]}
    folder = str(tmp_path_factory.mktemp("job"))
    asked = {"scenario": small, "uploads": folder, "folder": folder}
    sent = simulate_scenario(asked, JobContext(lambda message: None)).to_json()
    return KINDS.find("simulate").read(json.loads(json.dumps(sent)))


def worked(run):
    """A state with a bit of everything."""
    state = AppState()
    state.edit(("seed",), 5)
    state.adopt(state.scenario.model_copy(update={"models": {"net": GRAPH}}))
    state.edit(("name",), 'lone \\ud800 "quotes" ünï')
    state.edit(("cluster", "network", "capacity"), "5 apples")
    state.uploads.add("tiny.json", b"{}")
    state.model, state.symbols = "tiny.json", {"m": {"batch": 4}}
    state.kept["simulate-tabs"] = "Over time"
    state.runs.add("f1", "job-1", run)
    state.runs.pinned = 1
    state.results["simulate"] = Result("f1", run, "job-1")
    state.undo()
    state.redo()
    return state


def parts(state):
    past, future = state.history.steps(99)
    moments = [(p, m.scenario, dict(m.drafts), m.model) for p, m in (*past, *future)]
    files = {n: (state.uploads.folder / n).read_bytes() for n in state.uploads.names()}
    rest = [state.scenario, state.drafts, state.model, state.symbols, state.kept, moments, files]
    return [*rest, state.runs.kept, state.runs.pinned, state.runs.made, state.results]


def saved(folder, token, state):
    """A store that has saved the state."""
    store = WorkspaceStore(folder)
    store.watch(token, state)
    store.flush()
    return store


def loaded(folder, token):
    """What the next server finds."""
    state = WorkspaceStore(folder).load(token)
    assert state is not None
    return state


def test_all_of_a_workspace_comes_back(tmp_path, run):
    state, token = worked(run), new_token()
    saved(tmp_path, token, state)
    again = loaded(tmp_path, token)
    assert parts(again) == parts(state)
    assert again.choices.find(RestoredNotice) is None
    again.undo()
    assert again.scenario.seed == 5
    models = [m.scenario.models for _, m in again.history.steps(9)[0] if m.scenario.models]
    assert all(m is models[0] for m in models)  # large, and held once
    assert token not in str(list(tmp_path.rglob("*")))
    for path in tmp_path.rglob("*.json"):
        assert path.stat().st_mode & 0o077 == 0


def test_the_thread_saves_within_five_seconds(tmp_path):
    store, state, token = WorkspaceStore(tmp_path, beat_s=0.05), AppState(), new_token()
    store.start()
    store.watch(token, state)
    time.sleep(0.3)
    assert not store.place(token).exists()  # nobody has done anything yet
    state.edit(("seed",), 77)
    file = store.place(token) / FILE  # a beat may fall into the middle of the edit: the next one has it
    assert until(lambda: file.is_file() and loaded(tmp_path, token).scenario.seed == 77)


def test_what_has_not_changed_is_not_written_again(tmp_path):
    state, token = AppState(), new_token()
    state.edit(("seed",), 1)
    store = saved(tmp_path, token, state)
    path = store.place(token) / FILE
    before = path.stat().st_ino
    store.flush()
    assert path.stat().st_ino == before
    state.kept["effort"] = "x"
    store.flush()
    assert path.stat().st_ino != before


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[" * 5000, b"\xff\xfe", b"{}", b"null", b'{"version": 2}', b"seed", b"name", b"models"],
)
def test_a_damaged_workspace_opens_empty_and_is_kept(tmp_path, damage):
    state, token = AppState(), new_token()
    state.edit(("seed",), 1)
    store = saved(tmp_path, token, state)
    folder = store.place(token)
    if damage in (b"seed", b"name", b"models"):  # the file is sound, its scenario is not
        data = json.loads((folder / FILE).read_bytes())
        wrong = {b"seed": -1, b"name": "\ud800" * 9999, b"models": {"a": 1}}[damage]
        for each in data["scenarios"]:
            each["text"][damage.decode()] = wrong
        if damage == b"models":
            data["models"] = [wrong]
        damage = json.dumps(data).encode()
    (folder / FILE).write_bytes(damage)
    again = loaded(tmp_path, token)
    assert again.untouched
    assert (folder / BROKEN).read_bytes() == damage
    told = again.choices.get(RestoredNotice)
    assert told.broken == folder / BROKEN
    assert len(told.lines[0].splitlines()) == 1
    saved(tmp_path, token, again)  # the notice outlasts another restart, and nothing overwrites the text
    assert (folder / BROKEN).read_bytes() == damage
    assert loaded(tmp_path, token).choices.get(RestoredNotice).broken == folder / BROKEN


def test_a_folder_in_place_of_the_file_is_told(tmp_path):
    store, token = WorkspaceStore(tmp_path), new_token()
    folder = store.place(token)
    (folder / FILE).mkdir(parents=True)
    again = store.load(token)
    assert again.untouched
    assert again.choices.get(RestoredNotice).lines
    again.edit(("seed",), 1)  # and what comes next is saved
    store.watch(token, again)
    store.flush()
    assert store.problem == ""
    assert loaded(tmp_path, token).scenario.seed == 1


def test_a_damaged_result_costs_that_result_alone(tmp_path, run):
    state, token = worked(run), new_token()
    store = saved(tmp_path, token, state)
    for path in (store.place(token) / "results").iterdir():
        path.write_bytes(b"garbage")
    again = loaded(tmp_path, token)
    assert again.scenario == state.scenario
    assert not again.results
    assert "was not restored" in again.choices.get(RestoredNotice).lines[0]


def test_what_does_not_fit_is_named(tmp_path, run):
    state = worked(run)
    state.uploads.add("large.bin", b"x" * 5000)
    write_workspace(
        tmp_path, state.uploads.folder, WorkspaceSnapshot.from_state(state), ScenarioTexts(), most_bytes=3000
    )
    again = read_workspace(tmp_path)
    assert again.uploads.names() == ("tiny.json",)
    told = " ".join(again.choices.get(RestoredNotice).lines)
    assert "large.bin" in told
    assert "run 1" in told


def test_old_and_large_workspaces_are_swept(tmp_path):
    def make(name, age_s, size):
        folder = tmp_path / name
        folder.mkdir()
        (folder / FILE).write_bytes(b"x" * size)
        when = time.time() - age_s
        os.utime(folder / FILE, (when, when))
        return folder

    old, big, middle, fresh = make("a", 1e7, 1), make("b", 300, 900), make("c", 200, 50), make("d", 0, 50)
    (fresh / ".new-half").write_bytes(b"x" * 5000)
    sweep(tmp_path, keep_s=1e6, most_bytes=120)
    assert [f.exists() for f in (old, big, middle, fresh)] == [False, False, True, True]
    assert not (fresh / ".new-half").exists()


def test_a_workspace_that_was_dropped_comes_back(tmp_path):
    held = Workspaces(limit=2, store=WorkspaceStore(tmp_path))
    token, state = held.open(None)
    state.edit(("seed",), 9)
    for _ in range(3):
        held.open(None)[1].edit(("seed",), 1)
    assert held.open(token)[1].scenario.seed == 9


def test_a_full_disk_is_told_and_the_next_look_tries_again(tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    store, state, token = WorkspaceStore(tmp_path), AppState(), new_token()
    state.edit(("seed",), 9)
    store.watch(token, state)
    with monkeypatch.context() as broken:
        broken.setattr("nona.app.session.saving.write_whole", full)
        store.flush()
        store.flush()
        store.retire(token)
        store.flush()
    assert "No space left" in store.problem
    assert store.load(token) is state  # not forgotten before it is saved
    assert len(capsys.readouterr().err.splitlines()) == 1
    store.flush()
    assert store.problem == ""
    assert read_workspace(store.place(token)) is not None


def test_another_scenario_at_the_start_opens_and_undo_has_the_work(tmp_path, monkeypatch):
    file, token = tmp_path / "s.yaml", new_token()
    file.write_text("{version: 1, name: Given, cluster: {servers: [{}]}, workload: [{model: gpt2, rate: 1}]}")
    monkeypatch.setenv("NONA_SCENARIO", str(file))
    state = new_state()
    state.edit(("name",), "Worked on")
    saved(tmp_path / "w", token, state)
    assert restored(WorkspaceStore(tmp_path / "w"), token).scenario.name == "Worked on"  # started as before
    file.write_text(file.read_text().replace("Given", "Another"))
    again = restored(WorkspaceStore(tmp_path / "w"), token)
    assert again.scenario.name == "Another"
    again.undo()
    assert again.scenario.name == "Worked on"
