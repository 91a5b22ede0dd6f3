"""The attack programme: every kind of job is in it, and two of its attacks on a real server."""

from pathlib import Path

import pytest

from benchmarks import chaos_kills
from benchmarks import chaos_table as chaos
from benchmarks.chaos import GROUPS
from benchmarks.chaos_kills import server_killed, worker_killed
from benchmarks.chaos_kinds import STARTED, started
from benchmarks.chaos_site import Site
from nona.app.jobs.kinds import KINDS
from nona.app.session.workspace_files import FILE

THEORY = started("validate")


def test_every_kind_of_job_is_attacked(monkeypatch):
    assert [k.name for k in STARTED] == list(dict.fromkeys(k.name for k in STARTED))
    assert {k.name for k in STARTED} == set(KINDS)
    assert len(GROUPS) == len(set(GROUPS))
    monkeypatch.setattr(chaos_kills, "_group", lambda scenario, *_: scenario)
    kills = [group for group in GROUPS if group.__module__ == chaos_kills.__name__]
    assert {k.scenario for k in STARTED} == {group() for group in kills}


@pytest.mark.verify
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
def test_work_outlasts_a_killed_worker_and_a_killed_server(tmp_path, monkeypatch):
    site = Site(tmp_path)
    try:
        site.open()
        site.give_fan()
        assert worker_killed(site, THEORY).startswith("next job")
        server_killed(site, THEORY)
        restart = site.server.start

        def forgetful():  # as a server would be that had saved nothing
            (site.place() / FILE).unlink()
            restart()

        monkeypatch.setattr(site.server, "start", forgetful)
        with pytest.raises(chaos.BrokenPromiseError, match="the scenario is called"):
            server_killed(site, THEORY)
    finally:
        site.close()
