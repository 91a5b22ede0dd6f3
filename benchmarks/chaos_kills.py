"""Attacks with kill −9: a worker, the server, the child that reads model files."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.chaos_kinds import (
    ELASTIC,
    FAN,
    PLACED,
    PLANNED,
    SERVERLESS,
    SPOKEN,
    STARTED,
    TRAINING,
    Started,
)
from benchmarks.chaos_site import Site, fan
from benchmarks.chaos_table import Attack, BrokenPromiseError, require
from benchmarks.kept_server import alive, family, until

WORKER = "one line, the server lives, the work is there, the next job of the kind is done or accepted"
SERVER = "after the restart edits, uploads and results are there; no old process is left"
READER = "one line or a repeated reading; the next file is read"
BIG = 60_000  # operators of a model whose reading takes seconds
ENDED = "its worker ended with status -9"


def worker_killed(site: Site, kind: Started) -> str:
    """Kill the worker in the middle of a job."""
    name = f"Before {kind.name}"
    site.visitor.open("guide")
    site.rename(name)
    workers = site.catch(kind)
    processes = [process for worker in workers for process in family(worker)]
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    site.check_gone(processes)
    output = until(lambda: _ended_lines(site, kind) > 0, 10)
    require(site.server.healthy(), "the server does not answer")
    require(output, "no page says that the job's process ended")
    require(site.lines(ENDED) == 1, f"{site.lines(ENDED)} lines say that the process ended")
    require(site.name() == name, f"the scenario is called {site.name()!r}, not {name!r}")
    site.check_page()
    if not kind.own_button:
        site.begin(kind)
        require(until(lambda: not _ended_lines(site, kind), 20), "the next answer fails too")
        return ""
    how = site.follow_up(kind)
    site.check_page()
    require(not _ended_lines(site, kind), "the next job of the kind failed too")
    return f"next job {how}"


def _ended_lines(site: Site, kind: Started) -> int:
    """How many lines say on the page of that kind, drawn once more, that a process ended."""
    site.show(kind)
    return site.lines(ENDED)


def server_killed(site: Site, kind: Started) -> str:
    """Kill the server in the middle of a job, and start it again on the same folders."""
    name = f"During {kind.name}"
    workers = site.catch(kind)
    site.visitor.open("guide")
    site.rename(name)  # returns when it is saved, at most 5 s later
    before, processes = site.saved_results(), site.server.tree()
    for worker in workers:
        os.kill(worker, signal.SIGCONT)
    site.server.kill()
    site.check_gone(processes)
    site.server.start()
    site.return_to(kind.page)
    require(site.name() == name, f"the scenario is called {site.name()!r}, not {name!r}")
    site.check_page()
    site.visitor.open("models")
    site.check_page()
    require(FAN in site.visitor.text(), f"the Models page does not name {FAN}")
    site.rename(f"After {kind.name}")  # written by the new server from what it has read
    lost = before - site.saved_results()
    require(not lost, f"{len(lost)} of {len(before)} results are no longer in the workspace")
    require("Traceback" not in site.server.log(), "the log holds a traceback")
    return f"{len(before)} results"


def reader_killed(site: Site) -> str:
    """Kill the guarded child while it reads a model."""
    before = set(site.server.readers())
    giving = threading.Thread(target=site.upload, args=("big.json", fan(BIG)))  # it ends when the page stands
    giving.start()
    found: list[int] = []

    def reading() -> bool:
        found[:] = [p for p in site.server.readers() if p not in before]
        return bool(found)

    if not until(reading, 30):
        raise BrokenPromiseError("no child that reads was seen")
    time.sleep(0.3)
    for child in found:
        os.kill(child, signal.SIGKILL)
    site.check_gone(found)
    giving.join(90)

    def settled() -> bool:
        site.visitor.open("models")
        return site.lines("big.json") > 0 or "60002" in site.visitor.text().replace(",", "")

    require(until(settled, 60), "the page neither shows the model nor says why it does not")
    line = site.lines("big.json")
    site.check_page()
    site.upload("next.json", fan(3))
    require(until(lambda: "next.json" in _models(site), 20), "the next file is not read")
    require(site.server.healthy(), "the server does not answer")
    return "one line" if line else "read again"


def _models(site: Site) -> str:
    site.visitor.open("models")
    return site.visitor.text()


def attacks_on(site: Site, kinds: Sequence[Started]) -> Iterator[Attack]:
    """Worker and server killed, for each kind."""
    for kind in kinds:
        for what, promise, run in (("worker", WORKER, worker_killed), ("server", SERVER, server_killed)):
            yield Attack(
                f"kill −9 of the {what}, {kind.name}", promise, _standing(site, partial(run, site, kind))
            )


def _standing(site: Site, run: Callable[[], str]) -> Callable[[], str]:
    """Run on a server that lives: what an attack before has left behind must not spoil this one."""

    def ready() -> str:
        for pid in site.server.workers():
            if alive(pid):
                os.kill(pid, signal.SIGCONT)
        if not site.server.healthy():
            site.server.kill()
            site.server.start()
            site.return_to()
        return run()

    return ready


@contextmanager
def _group(
    scenario: str, more: Callable[[Site], Sequence[Attack]] = lambda site: ()
) -> Iterator[Iterator[Attack]]:
    with TemporaryDirectory(prefix="chaos-") as folder:
        site = Site(Path(folder), scenario)
        try:
            site.open()
            site.give_fan()
            kinds = [k for k in STARTED if k.scenario == scenario]
            site.finish(kinds[0])  # a result to keep

            def both() -> Iterator[Attack]:
                yield from attacks_on(site, kinds)
                yield from more(site)

            yield both()
        finally:
            site.close()


def placed() -> AbstractContextManager[Iterator[Attack]]:
    """Kinds of the pages for queries, and the reader of models."""
    return _group(
        PLACED, lambda site: (Attack("kill −9 of the reading child", READER, partial(reader_killed, site)),)
    )


def planned() -> AbstractContextManager[Iterator[Attack]]:
    """Kinds of the Plan page."""
    return _group(PLANNED)


def spoken() -> AbstractContextManager[Iterator[Attack]]:
    """Kinds for language models."""
    return _group(SPOKEN)


def serverless() -> AbstractContextManager[Iterator[Attack]]:
    """Kinds of the Serverless page."""
    return _group(SERVERLESS)


def training() -> AbstractContextManager[Iterator[Attack]]:
    """Kinds of the Training page."""
    return _group(TRAINING)


def elastic() -> AbstractContextManager[Iterator[Attack]]:
    """Kinds of the Training page with elastic jobs."""
    return _group(ELASTIC)
