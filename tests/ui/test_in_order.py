"""Runs of a session in order: the last one's messages first, and a fragment on the page that is shown."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from nona.ui.server.application import (
    LATE_VALUE_S,
    LOOK_AGAIN_S,
    _after_the_last,
    _on_the_present_page,
    _page_after_its_values,
    _page_of_the_waiting,
    keep_in_order,
)


@pytest.fixture
def requested():
    """What reached Streamlit's own method."""
    return []


def apart(story):
    """Run a story in a thread: a browser's tests, in the same process, may leave a loop in this one."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, story).result()


async def ask(requested, requests, fragment=""):
    """A session whose runner has these requests, asked for a run."""
    runner = None if requests is None else SimpleNamespace(_requests=requests)
    session = SimpleNamespace(_scriptrunner=runner, _event_loop=asyncio.get_running_loop())
    _after_the_last(lambda session, state: requested.append(state))(
        session, ClientState(cached_message_hashes=["held"], fragment_id=fragment)
    )
    return session


def test_a_request_waits_for_the_messages_of_a_run_that_has_ended(requested):
    async def story():
        requests = ScriptRequests()
        requests.request_stop()  # as a run's thread does when nothing is left to run
        session = await ask(requested, requests)
        await asyncio.sleep(5 * LOOK_AGAIN_S)
        assert requested == []
        session._scriptrunner = None  # the last message of the run was taken in
        while not requested:
            await asyncio.sleep(LOOK_AGAIN_S)

    apart(asyncio.wait_for(story(), 60))
    assert [list(state.cached_message_hashes) for state in requested] == [[]]  # the browser may forget it


@pytest.mark.parametrize("requests", [None, ScriptRequests()], ids=["no run", "a run that still writes"])
def test_other_requests_go_on_at_once(requested, requests):
    apart(ask(requested, requests))
    apart(ask(requested, requests, "polls"))
    assert [list(state.cached_message_hashes) for state in requested] == [["held"], []]


def message(page, fragment=""):
    return BackMsg(rerun_script=ClientState(page_script_hash=page, fragment_id=fragment))


@pytest.mark.parametrize(
    ("shown", "messages", "order"),
    [
        ("old", [message("new"), message("old")], ["old", "new"]),
        ("old", [message("new"), message("third"), message("old", "polls")], ["old", "new", "third"]),
        ("", [message("new"), message("old")], ["new", "old"]),
        ("old", [message("new"), BackMsg(load_git_info=True)], [None, "new"]),
    ],
    ids=["a late value", "two changes of page", "the first run", "no run"],
)
def test_a_change_of_page_waits_for_a_value_typed_before_it(shown, messages, order):
    handled: list[str | None] = []

    def handle(_, taken):
        run = taken.WhichOneof("type") == "rerun_script"
        handled.append(taken.rerun_script.page_script_hash if run else None)

    async def story():
        session = SimpleNamespace(page_script_hash=shown, _event_loop=asyncio.get_running_loop())
        for each in messages:
            _page_after_its_values(handle)(session, each)
        while len(handled) < len(messages):
            await asyncio.sleep(LATE_VALUE_S / 4)

    apart(asyncio.wait_for(story(), 60))
    assert handled == order


def client(polls):
    """A request of the browser while a button is pressed and a slider stands at 3."""
    state = ClientState(is_auto_rerun=polls)
    state.widget_states.widgets.add(id="next", trigger_value=True)
    state.widget_states.widgets.add(id="menu", string_trigger_value={"data": "2"})
    state.widget_states.widgets.add(id="keys", json_trigger_value='["right"]')
    state.widget_states.widgets.add(id="slider", int_value=3)
    return state


@pytest.mark.parametrize(
    ("polls", "brought"), [(True, ["slider"]), (False, ["next", "menu", "keys", "slider"])]
)
def test_a_press_comes_with_its_own_request_only(monkeypatch, requested, polls, brought):
    monkeypatch.setattr(AppSession, "request_rerun", lambda session, state: requested.append(state))
    keep_in_order()
    AppSession.request_rerun(SimpleNamespace(_scriptrunner=None), client(polls))
    assert [w.id for state in requested for w in state.widget_states.widgets] == brought


def asked(page, fragment=None):
    return RerunData(page_script_hash=page, query_string=f"of={page}", fragment_id=fragment)


@pytest.mark.parametrize("first", [asked("new"), asked("old", "polls")], ids=["page first", "fragment first"])
def test_a_polling_fragment_leaves_a_page_that_waits_alone(first):
    second = asked("old", "polls") if first.fragment_id is None else asked("new")
    requests = ScriptRequests()
    request = _page_of_the_waiting(ScriptRequests._request_rerun_locked)
    assert request(requests, first)
    assert request(requests, second)
    ready = requests.on_scriptrunner_ready().rerun_data
    assert (ready.page_script_hash, ready.query_string, ready.fragment_id_queue) == ("new", "of=new", [])


@pytest.mark.parametrize(
    ("request_", "page"),
    [(asked("old", "polls"), "new"), (asked("old"), "old")],
    ids=["a fragment", "a whole page"],
)
def test_a_fragment_runs_on_the_page_that_is_shown(request_, page):
    ran: list[RerunData] = []
    shown = SimpleNamespace(page_script_hash="new", query_string="of=new")
    runner = SimpleNamespace(_get_script_run_ctx=lambda: shown)
    _on_the_present_page(lambda _, data: ran.append(data))(runner, request_)
    assert [(data.page_script_hash, data.query_string) for data in ran] == [(page, f"of={page}")]


def test_a_second_call_changes_nothing(monkeypatch):
    changed = [
        (AppSession, "request_rerun"),
        (AppSession, "handle_backmsg"),
        (ScriptRequests, "_request_rerun_locked"),
        (ScriptRunner, "_run_script"),
    ]
    for owner, name in changed:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    keep_in_order()
    once = [getattr(owner, name) for owner, name in changed]
    keep_in_order()
    assert [getattr(owner, name) for owner, name in changed] == once
