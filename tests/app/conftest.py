"""A fresh session of the app for every test; jobs are done by threads unless a test asks for processes."""

from functools import cache

import pytest
from app_driver import end_jobs, go, new_session
from begun import BEGUN
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, local_script_runner
from worker_threads import WorkerThread

from nona.app.jobs import pool
from nona.app.models.loading import IdleCollector
from nona.app.session import state
from nona.app.tasks import context
from nona.scenario.file import scenario_from_mapping

PROCESS, KILL = pool._spawn, pool.Worker.kill


@pytest.fixture(scope="session", autouse=True)
def no_page_breaks():
    """Every run of a page in every test ends without an exception."""
    run = AppTest._run

    def whole(at, *given, **named):
        run(at, *given, **named)
        assert not at.exception, at.exception
        return at

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(AppTest, "_run", whole)
        yield


@pytest.fixture(scope="session", autouse=True)
def small_scenario():
    """Sessions begin with a small scenario."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(state, "shipped_scenario", lambda name: scenario_from_mapping(BEGUN))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_runner():
    """A run is waited for, not asked for every millisecond; packages are searched once, garbage is left."""
    asked = local_script_runner.require_widgets_deltas

    def waited_for(runner, timeout):
        runner._script_thread.join(timeout)
        asked(runner, 1 if runner.script_stopped() else 0)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_script_runner, "require_widgets_deltas", waited_for)
        once = cache(manifest_scanner.scan_component_manifests)
        patched.setattr(manifest_scanner, "scan_component_manifests", once)
        patched.setattr(IdleCollector, "run", lambda tidier: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_work():
    """Workers are threads, which share what was imported."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pool, "_spawn", WorkerThread)
        patched.setattr(pool.Worker, "kill", lambda worker: worker.process.kill())
        patched.setattr(context, "MOST_PROCESSES", 1)
        yield


@pytest.fixture(scope="module")
def worker_processes():
    """Workers are processes, as in a server."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pool, "_spawn", PROCESS)
        patched.setattr(pool.Worker, "kill", KILL)
        yield


@pytest.fixture
def open_page():
    """Opens a page of the app in a fresh session; ends the jobs of the test afterwards."""

    def open_(name):
        return go(new_session().run(), name)

    yield open_
    end_jobs()
