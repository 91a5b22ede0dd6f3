"""The shared cache: work is done once for each key, failures are tried again, a page waits and shows it."""

import gc
import math
import threading
import time
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from nona.app.models.loading import IdleCollector, SharedCache, fetch, idle_collector, shared_cache
from nona.core.errors import GraphError


def test_work_is_done_once_for_each_key_and_the_least_recently_used_goes_first():
    kept, begin, calls = SharedCache(at_once=4), threading.Event(), []

    def make():
        calls.append(1)
        begin.wait(60)
        return len(calls)

    asked = [kept.get("one", make) for _ in range(5)]
    assert not asked[0].done()
    begin.set()
    assert [f.result(60) for f in asked] == [1] * 5
    assert kept.get("other", make).result(60) == 2
    kept, calls = SharedCache(most=2), []

    def ask(key):
        kept.get(key, lambda: calls.append(key)).result(60)

    for key in ("a", "b", "a", "c", "a", "b"):
        ask(key)
    assert calls == ["a", "b", "c", "b"]


def test_a_failure_is_kept_for_a_moment_only_and_outside_a_page_one_simply_waits():
    calls: list[int] = []

    def fail():
        calls.append(1)
        raise GraphError("no")

    patient, hasty = SharedCache(retry_s=60), SharedCache(retry_s=0.0)
    for kept in (patient, patient, hasty, hasty):
        with pytest.raises(GraphError, match="no"):
            kept.get("x", fail).result(60)
        time.sleep(0.01)
    assert len(calls) == 3
    shared_cache.clear()
    assert fetch("plain", lambda: 42, "Counting") == 42
    with pytest.raises(GraphError, match="no"):
        fetch("bad", fail, "Reading")


def test_no_more_threads_work_than_allowed():
    kept, lock, now, most = SharedCache(at_once=2), threading.Lock(), [0], [0]

    def make():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1

    for future in [kept.get(i, make, owner=f"session {i}") for i in range(8)]:
        future.result(60)
    assert most[0] == 2


def test_sessions_are_served_in_turn_and_slow_work_of_one_keeps_no_other_waiting():
    kept, end, order = SharedCache(at_once=1), threading.Event(), []
    first = kept.get("first", lambda: end.wait(60), owner="one")
    asked = [
        kept.get((owner, i), partial(order.append, owner), owner=owner)
        for owner in ("one", "two", "three")
        for i in range(2)
    ]
    end.set()
    for future in [first, *asked]:
        future.result(60)
    assert order == ["two", "three", "one"] * 2  # the first one has just had its turn
    kept, end = SharedCache(at_once=2), threading.Event()
    slow = [kept.get(f"slow {i}", lambda: end.wait(60), owner="one") for i in range(6)]
    assert kept.get("quick", lambda: "done", owner="another").result(60) == "done"
    assert not any(future.done() for future in slow)
    end.set()
    assert all(future.result(60) for future in slow)


def page():
    import time

    import streamlit as st

    from nona.app.layout.notices import shown_errors
    from nona.app.models.loading import fetch

    def slow():
        time.sleep(0.6)
        return "made"

    with shown_errors():
        st.text(fetch("slow", slow, "Reading the model"))


def test_a_page_shows_what_it_gets_and_nothing_of_the_waiting(monkeypatch):
    import streamlit as st

    told: list[str] = []
    caption = st.delta_generator.DeltaGenerator.caption

    def listen(self, body, *rest, **more):
        told.append(str(body))
        return caption(self, body, *rest, **more)

    monkeypatch.setattr(st.delta_generator.DeltaGenerator, "caption", listen)
    shared_cache.clear()
    at = AppTest.from_function(page).run()
    assert [t.value for t in at.text] == ["made"]
    assert not at.caption
    assert any(t.startswith("Reading the model …") for t in told)


def test_a_page_says_what_exceeds_its_budget_and_has_it_later(monkeypatch):
    shared_cache.clear()
    with monkeypatch.context() as patched:
        patched.setattr("nona.app.models.loading.BUDGET_S", 0.0)
        (error,) = AppTest.from_function(page).run().error
    assert "it takes longer than 0 s, the budget of a step" in error.value
    at = AppTest.from_function(page).run()
    assert [t.value for t in at.text] == ["made"]


@pytest.mark.verify
def test_no_full_collection_runs_while_a_large_model_is_made():
    """Full collections stop every session; Python starts several while 300,000 objects are made."""
    idle_collector().collect(math.inf)  # the server's own has nothing left to do
    made, kept = IdleCollector(quiet_s=0.0), [[i] for i in range(1000)]
    full: list[int] = []

    def note(phase, info):
        if phase == "start" and info["generation"] == 2:
            full.append(1)

    def build():
        kept.extend([i] for i in range(300_000))
        return len(full)

    gc.callbacks.append(note)
    try:
        assert SharedCache(working=made.working).get("model", build).result(60) == 0
        assert made.collect(time.monotonic())  # in a quiet moment there is one, and what lives is set aside
        assert full
        assert not made.collect(time.monotonic())
        made.note_activity()
        assert made.collect(time.monotonic() + 3600)  # pages that ran are a reason after a while
    finally:
        gc.callbacks.remove(note)
        gc.unfreeze()
    assert gc.get_threshold()[2] < 1000


def test_when_no_moment_is_quiet_pythons_own_collections_come_back():
    idle_collector().collect(math.inf)
    made, usual = IdleCollector(quiet_s=5.0, latest_s=100.0), gc.get_threshold()
    with made.working():
        assert gc.get_threshold() != usual
    made.note_activity()
    assert not made.collect(time.monotonic() + 1)
    assert gc.get_threshold() != usual
    made._active_s = time.monotonic() + 200
    assert not made.collect(time.monotonic() + 201)
    assert gc.get_threshold() == usual
