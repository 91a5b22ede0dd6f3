"""Attacks with signals: the server ends within 5 s, in one line, and leaves nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.chaos_kinds import started
from benchmarks.chaos_site import ENDED_S, Site
from benchmarks.chaos_table import Attack, require
from benchmarks.kept_server import alive, until

PROMISE = (
    "it ends in 5 s with one line; no process, no socket, no temporary folder is left; the last edit is kept"
)
ENDINGS = {
    signal.SIGTERM: (0, "nona: ended by SIGTERM"),
    signal.SIGINT: (130, "nona: interrupted"),
    signal.SIGHUP: (0, "nona: ended by SIGHUP"),
}


def signalled(number: signal.Signals) -> str:
    """Send a signal to the server's group while a job runs, right after an edit."""
    with TemporaryDirectory(prefix="chaos-") as folder:
        site = Site(Path(folder))
        try:
            site.open()
            kind = started("simulate")
            workers = site.catch(kind)
            for worker in workers:
                os.kill(worker, signal.SIGCONT)
            site.visitor.fill("text_input", "Scenario", "Last edit")
            server, processes = site.server, site.server.tree()
            begun = time.monotonic()
            os.killpg(server.process.pid, number)
            status, line = ENDINGS[number]
            found = server.process.wait(ENDED_S)
            took = time.monotonic() - begun
            require(found == status, f"the exit status is {found}, not {status}")
            require(
                until(lambda: not any(map(alive, processes)), ENDED_S - took), "processes are left after 5 s"
            )
            require(server.log().splitlines()[-1:] == [line], f"the last line is not {line!r}")
            require("Traceback" not in server.log(), "the log holds a traceback")
            require(not list(server.temporary.iterdir()), "temporary folders are left")
            require(not server.listens(), "the port is still taken")
            require(site.saved_name() == "Last edit", "the edit before the signal is not on the disk")
            return f"after {took:.1f} s"
        finally:
            site.close()


@contextmanager
def signals() -> Iterator[Iterator[Attack]]:
    """SIGTERM, Ctrl-C and a closed terminal."""
    yield (Attack(f"{n.name} while a job runs", PROMISE, partial(signalled, n)) for n in ENDINGS)
