"""A run begins once the messages of the run before were taken in; nothing else is held back."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests

from nona.ui.server.in_order import LOOK_AGAIN_S, _in_order, send_before_next_run


@pytest.fixture
def requested() -> list[Any]:
    """What reached Streamlit's own method."""
    return []


async def ask(requested: list[Any], requests: ScriptRequests | None) -> SimpleNamespace:
    """A session whose runner has these requests, asked for a run."""
    runner = None if requests is None else SimpleNamespace(_requests=requests)
    session = SimpleNamespace(_scriptrunner=runner, _event_loop=asyncio.get_running_loop())
    _in_order(lambda session, state: requested.append(state))(session, "click")
    return session


def test_a_request_waits_for_the_messages_of_a_run_that_has_ended(requested):
    async def story() -> None:
        requests = ScriptRequests()
        requests.request_stop()  # as a run's thread does when nothing is left to run
        session = await ask(requested, requests)
        await asyncio.sleep(5 * LOOK_AGAIN_S)
        assert requested == []
        session._scriptrunner = None  # the last message of the run was taken in
        while not requested:
            await asyncio.sleep(LOOK_AGAIN_S)

    asyncio.run(asyncio.wait_for(story(), 60))
    assert requested == ["click"]


@pytest.mark.parametrize("requests", [None, ScriptRequests()], ids=["no run", "a run that still writes"])
def test_other_requests_go_on_at_once(requested, requests):
    asyncio.run(ask(requested, requests))
    assert requested == ["click"]


def test_a_second_call_changes_nothing(monkeypatch):
    monkeypatch.setattr(AppSession, "request_rerun", AppSession.request_rerun)
    send_before_next_run()
    once = AppSession.request_rerun
    send_before_next_run()
    assert AppSession.request_rerun is once
