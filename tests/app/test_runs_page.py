"""The Runs page: runs are saved, found, changed, opened, compared; others see them only if shared."""

import re
import sqlite3
from urllib.parse import parse_qs, urlsplit

import pytest
from app_driver import adopt, go, new_session, put, state_of, until
from app_driver import run as simulated
from app_driver import said as said_by

from nona.app.layout import run_keeper, scenario_bar
from nona.app.pages import runs
from nona.app.session.workspace import jobs
from nona.app.store.database import FILE, Database
from nona.app.store.store import COMMAND_LINE, ResultStore, export_items, import_items

PAGE, RUN = "runs", "simulation"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The data base of this test alone."""
    monkeypatch.setenv("NONA_STORE", str(tmp_path / "saved"))
    yield tmp_path / "saved"
    jobs().close()


def master(folder):
    return ResultStore(Database(folder), COMMAND_LINE, master=True)


def said(at):
    """All text of the page, without the signs that escape Markdown."""
    return said_by([*at.markdown, *at.caption, *at.info, *at.error, *at.warning])


def ran():
    """A session with a small run on the page Simulation."""
    at = new_session().run()
    run(at)
    return at


def run(at, **changes):
    go(adopt(at, **{"schedulers": ["least-loaded", "random"], **changes}), RUN)
    simulated(at, "simulate")


def save(at, name, note=""):
    number = state_of(at).runs.kept[-1].number
    at.text_input(key=f"save-name-{number}").set_value(name)
    at.text_area(key=f"save-note-{number}").set_value(note)
    return press(at, "save-simulation")


def press(at, key):
    return at.button(key=key).click().run()


def names(at):
    """The names at the head of the cards, in order, without the signs that escape Markdown."""
    heads = (re.fullmatch(r"\*\*(.*)\*\*", said_by([m])) for m in at.markdown)
    return [head[1] for head in heads if head]


def test_without_a_cookie_nothing_is_kept_that_was_not_saved(folder):
    at = go(ran(), PAGE)
    assert "No run yet" in said(at)
    assert not folder.exists()


def test_finished_runs_keep_themselves_until_they_are_saved_or_removed(folder, monkeypatch):
    monkeypatch.setattr(run_keeper, "comes_back", lambda: True)
    at, mine = ran(), master(folder)
    assert until(lambda: mine.listing().items)
    (item,) = mine.listing().items
    assert (item.by_itself, item.name) == (True, state_of(at).scenario.name)
    assert "newer runs will replace it" in said(go(at, PAGE))
    press(at, f"saved-keep-{item.id}")
    assert not mine.find(item.id).by_itself
    at.toggle(key=run_keeper.ONLY_SAVED).set_value(True).run()
    run(at, seed=99)
    at.session_state[run_keeper.ONLY_SAVED] = False
    run(at.run(), seed=98)
    assert until(lambda: len(mine.listing().items) == 2), "the run with seed 99 was not to be kept"
    go(at, PAGE)
    at.button_group(key="runs-shown").set_value("Saved").run()
    assert names(at) == [item.name]
    before = mine.listing().items
    press(at, "runs-clean-up")
    assert [left.id for left in mine.listing().items] == [item.id]
    press(at, "saved-restore")
    assert mine.listing().items == before
    mine.delete(before[0].id)  # as in another tab, after this one was drawn
    monkeypatch.setattr(runs, "store", lambda: mine)
    runs._delete(state_of(at), *before)
    press(at.run(), "saved-restore")
    assert mine.listing().items == before[1:]


def test_a_link_carries_a_small_run_with_its_result(folder):
    at = save(ran(), "Monday <b>peak</b>")
    (item,) = master(folder).listing().items
    result = state_of(at).results["simulate"].data
    link = put(go(at, PAGE), f"saved-share-{item.id}", True).code[0].value
    other = new_session()
    other.query_params["s"] = parse_qs(urlsplit(link).query)["s"][0]
    other.run()
    assert other.title[0].value == "Simulation"
    assert state_of(other).results["simulate"].data == result
    assert state_of(other).runs.kept[-1].name == "Monday <b>peak</b>"
    assert not state_of(other).is_stale("simulate")


def test_a_run_without_a_link_says_which_limit_it_breaks(folder, monkeypatch):
    at = save(ran(), "Monday")
    (item,) = master(folder).listing().items
    monkeypatch.setattr(scenario_bar, "LONGEST", 100)
    put(go(at, PAGE), f"saved-share-{item.id}", True)
    assert re.search(r"No link: with its result it has [\d,]{4,} characters; 100 is the most", said(at))
    assert not at.code
    monkeypatch.setattr(scenario_bar, "separate_files", lambda scenario: ("week.csv",))
    assert "No link: the scenario needs week.csv, which a link cannot carry" in said(at.run())


def test_a_run_is_saved_found_changed_and_deleted_with_undo(folder):
    at = save(ran(), "Monday <b>peak</b>", "of March")
    assert "Saved as “Monday <b>peak</b>”" in said(at)
    (item,) = master(folder).listing().items
    assert item.facts.schedulers == ("least-loaded", "random")

    go(at, PAGE)
    assert names(at) == ["Monday <b>peak</b>"]
    assert item.facts.finding in said(at)
    scenario = state_of(at).scenario
    servers, rate = sum(g.count for g in scenario.cluster.servers), sum(r.rate for r in scenario.workload)
    assert f": {servers} servers, " in said(at)
    assert f", {rate:.4g}/s ·" in said(at)
    at.text_input(key="saved-find").set_value("APRIL").run()
    assert names(at) == []
    at.text_input(key="saved-find").set_value("march RANDOM").run()
    assert len(names(at)) == 1

    at.text_input(key=f"saved-name-{item.id}").set_value("Tuesday")
    press(at, f"saved-change-{item.id}")
    assert names(at) == ["Tuesday"]
    press(at, f"saved-copy-{item.id}")
    assert names(at) == ["Tuesday (copy)", "Tuesday"]
    press(at, f"saved-delete-{item.id}")
    assert names(at) == ["Tuesday (copy)"]
    assert "“Tuesday” is deleted" in said(at)
    press(at, "saved-restore")
    assert names(at) == ["Tuesday (copy)", "Tuesday"]
    assert "is deleted" not in said(at)


def test_an_item_opens_with_its_result_and_undo_restores_what_was(folder):
    at = save(ran(), "Monday")
    saved_scenario, result = state_of(at).scenario, state_of(at).results["simulate"].data
    run(at, seed=99)
    other = state_of(at).scenario
    (item,) = master(folder).listing().items
    press(go(at, PAGE), f"saved-open-{item.id}")
    state = state_of(at)
    assert state.scenario == saved_scenario
    assert state.results["simulate"].data == result
    assert not state.is_stale("simulate")
    assert state.runs.kept[-1].name == "Monday"
    assert at.title[0].value == "Simulation"
    state.undo()
    assert state.scenario == other


def test_an_imported_item_opens_with_its_result_as_the_file_states_it(folder):
    at = save(ran(), "Monday")
    mine = master(folder)
    data = export_items(mine, [i.id for i in mine.listing().items])
    scenario, result, owner = state_of(at).scenario, state_of(at).results["simulate"].data, _owner(folder)
    mine.delete(mine.listing().items[0].id)
    (item,) = import_items(ResultStore(Database(folder), owner), data)
    run(at, seed=99)
    assert f" · {result.about.made} · " in said(go(at, PAGE))
    assert "figures as the file states them" in said(at)
    press(at, f"saved-open-{item.id}")
    state = state_of(at)
    assert (state.scenario, state.results["simulate"].data) == (scenario, result)
    assert not state.is_stale("simulate")
    assert "as stated in the file: run it again" in said_by(at.toast)
    assert state.runs.kept[-1].name == "Monday (imported)"


def _owner(folder):
    with sqlite3.connect(folder / FILE) as file:
        (owner,) = file.execute("SELECT DISTINCT owner FROM items").fetchone()
    file.close()
    return str(owner)


def test_two_runs_stand_side_by_side(folder):
    at = save(ran(), "Monday")
    run(at, seed=99)
    save(at, "Tuesday")
    go(at, PAGE)
    assert at.button(key="saved-compare").disabled
    for item in master(folder).listing().items:
        at.checkbox(key=f"saved-tick-{item.id}").check().run()
    press(at, "saved-compare")
    told = said(at)
    assert "1 · Monday" in told
    assert "→ 99" in told
    assert "another seed" in told
    (table,) = at.dataframe
    assert list(table.value.columns) == ["measure", "scheduler", "1", "2", "2 − 1"]
    assert set(table.value["scheduler"]) == {"least-loaded", "random"}
    press(at, "saved-back")
    assert names(at) == ["Tuesday", "Monday"]


def test_somebody_else_sees_nothing_unless_the_store_is_shared(monkeypatch):
    save(ran(), "Monday")
    assert names(go(new_session().run(), PAGE)) == []
    monkeypatch.setenv("NONA_SHARED_STORE", "1")
    other = go(new_session().run(), PAGE)
    assert names(other) == ["Monday"]
    assert "saved by another user" in said(other)
    keys = {str(b.key).rpartition("-")[0] for b in other.button}
    assert "saved-copy" in keys
    assert not {"saved-delete", "saved-change"} & keys


def test_a_damaged_file_is_one_line_and_all_else_works(folder):
    folder.mkdir()
    (folder / FILE).write_bytes(b"no database" * 100)
    at = save(ran(), "Monday")
    assert "it is damaged, or is not a database" in said(at)
    go(at, PAGE)
    assert "it is damaged, or is not a database" in said(at)
    assert "All other pages work" in said(at)
    assert go(at, "home").title


def test_a_long_list_is_shown_in_parts(folder):
    at = save(ran(), "Monday")
    mine = ResultStore(Database(folder), _owner(folder))
    (item,) = mine.listing().items
    for number in range(24):
        mine.duplicate(item.id, f"copy {number}")
    go(at, PAGE)
    assert len(names(at)) == 20
    press(at, "saved-more")
    assert len(names(at)) == 25
