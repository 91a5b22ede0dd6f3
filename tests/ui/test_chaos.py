"""The attack programme: its table can say no, and two of its attacks on a real server."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import chaos_kills
from benchmarks import chaos_table as chaos
from benchmarks.chaos import GROUPS, main
from benchmarks.chaos_kills import server_killed, worker_killed
from benchmarks.chaos_kinds import STARTED, started
from benchmarks.chaos_site import Site
from nona.ui.jobs.kinds import KINDS
from nona.ui.session.workspace_files import FILE

THEORY = started("validate")


def broken():
    chaos.require(1 > 2, "one | is\nless")
    return ""


def not_here():
    raise chaos.NotTriedHereError("no second disk")


@contextmanager
def rows():
    yield (
        chaos.Attack(name, "all is well", run)
        for name, run in (("kept", lambda: "seen"), ("broken", broken), ("skipped", not_here))
    )


@contextmanager
def no_server():
    raise RuntimeError("the server does not start")
    yield


def test_a_promise_that_is_broken_is_reported_and_nothing_is_begun_when_the_time_is_over():
    lines = []
    outcomes = chaos.run_groups([rows], 60, lines.append)
    assert [o.held for o in outcomes] == ["yes", "no", "not tried here"]
    assert lines == [chaos.told(o) for o in outcomes]
    assert not chaos.all_held(outcomes)
    table = chaos.markdown(outcomes).splitlines()
    assert len(table) == 2 + len(outcomes)
    assert "| **no**: one / is less |" in table[3]
    assert {line.count("|") for line in table} == {5}
    outcomes = chaos.run_groups([rows], 0, lambda line: None)
    assert [o.held for o in outcomes] == ["no"] * 3
    assert {o.seconds for o in outcomes} == {0.0}


def test_a_row_that_is_not_possible_here_breaks_no_promise_and_what_goes_wrong_does():
    assert chaos.all_held(
        [chaos.attempt(chaos.Attack("a", "b", not_here)), chaos.attempt(chaos.Attack("a", "b", lambda: ""))]
    )
    assert not chaos.all_held([])
    assert [o.held for o in chaos.run_groups([no_server, rows], 60, lambda line: None)][:2] == ["no", "yes"]


def test_the_exit_status_is_that_of_the_rows(monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.chaos.GROUPS", (rows,))
    monkeypatch.setattr("benchmarks.chaos.warm", lambda: None)
    assert main([]) == 1
    assert main(["--only", "kept"]) == 0
    assert main(["--only", "nothing of that name"]) == 1
    assert "| kept | all is well | yes: seen |" in capsys.readouterr().out


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
