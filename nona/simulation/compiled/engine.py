"""The compiled engine as :mod:`nona.simulation.run` calls it: from a system to a :class:`RawRun`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.compiled.allocate import make_arrays, with_room
from nona.simulation.compiled.feed import JOBS_AT_ONCE, Background, Feed
from nona.simulation.compiled.machine.core import Core, compiled_policy, load_core
from nona.simulation.compiled.machine.policies import FlatTables, NotFlatError, flatten_tables
from nona.simulation.compiled.memory import layout
from nona.simulation.compiled.memory.arrays import Arrays
from nona.simulation.compiled.memory.fields import addresses, note_addresses
from nona.simulation.compiled.results import busy_so_far, raw_run
from nona.simulation.compiled.rounds import RoundCalls
from nona.simulation.compiled.shown import shown_ready, shown_view
from nona.simulation.records.collected import OnProgress
from nona.simulation.records.collector import Collector
from nona.simulation.records.run import RawRun
from nona.simulation.reference.bind import bad_binding
from nona.simulation.reference.pick import bad_pick
from nona.simulation.sizes import RunSize
from nona.simulation.workload.jobs import Workload
from nona.system import System


@dataclass(frozen=True, slots=True)
class Policy:
    """How decisions are made: ``machine`` is compiled code for ``flat`` tables, or there is none."""

    machine: Any = None
    flat: FlatTables | None = None


def policy_of(scheduler: Scheduler, prepared: Prepared) -> Policy:
    """The compiled decision function; an empty policy where Numba cannot compile it.

    Such a policy runs on the same core, which stops at every decision and calls it as plain Python.
    """
    try:
        flat = flatten_tables(prepared.tables)
    except NotFlatError:
        return Policy()
    machine = compiled_policy(scheduler.decide, "pick" if scheduler.picks else "bind", flat.kinds, flat.types)
    return Policy(machine, flat) if machine else Policy()


def is_compiled(scheduler: Scheduler, prepared: Prepared) -> bool:
    """Whether decisions of ``scheduler`` run as machine code in this engine."""
    return policy_of(scheduler, prepared).machine is not None


def run_compiled(
    system: System, scheduler: Scheduler, prepared: Prepared, size: RunSize, on_progress: OnProgress | None
) -> RawRun:
    """Simulate until the cohort is complete or the run is too long."""
    return CompiledRun(system, scheduler, prepared, size, on_progress).run()


class CompiledRun:
    """One run: calls the loop, gives it what it asks for, collects what it has done."""

    def __init__(
        self,
        system: System,
        scheduler: Scheduler,
        prepared: Prepared,
        size: RunSize,
        on_progress: OnProgress | None,
    ) -> None:
        self.system, self.scheduler, self.prepared, self.size = system, scheduler, prepared, size
        self.on_progress = on_progress
        self.core: Core = load_core()
        self.policy = policy_of(scheduler, prepared)
        self.collector = Collector(system, size, watched=on_progress is not None)
        self.arrays: Arrays = make_arrays(system, scheduler, self.policy.flat, size)
        self.arrays.clock["uniforms"] = prepared.uniforms_per_job
        self.arrays.clock["hand_over_s"] = prepared.hand_over_s
        self.state = addresses(self.arrays)
        workload = Workload(system, size.replication, prepared.uniforms_per_job)
        at_once = min(JOBS_AT_ONCE, size.first + size.jobs)
        self.feed = Feed(
            workload, prepared.uniforms_per_job, scheduler.picks, at_once, size.first + size.jobs
        )
        allocates = scheduler.kind == "allocate"
        self.rounds = RoundCalls(system, scheduler, prepared, self.policy.flat) if allocates else None
        board = bool(self.arrays.clock["board"][0])
        self.background = Background(system, workload.streams, board, at_once)
        self._refill()
        if board:
            self.arrays.next_change_s[:] = self.arrays.executors["next_s"]
        self._replace(self.feed.jobs(self.arrays))
        if on_progress is None:
            self.arrays.clock["next_report"] = np.iinfo(np.int64).max
        self._handed = 0  # jobs of the feed whose arrival the collector knows

    def _replace(self, changed: Mapping[str, Any]) -> None:
        """Work with these arrays from now on; ``state`` says where they are."""
        self.arrays = self.arrays._replace(**changed)
        note_addresses(self.state, changed)

    def run(self) -> RawRun:
        """Until it is done."""
        machine, core = self.policy.machine, self.core
        bind = machine if machine and not self.scheduler.picks else core.no_bind
        pick = machine if machine and self.scheduler.picks else core.no_pick
        while (code := int(core.advance(self.state, bind, pick))) != layout.DONE:
            self._give(code)
        self._drain()
        self._report()
        return raw_run(self.arrays, self.state, self.core, self.collector.finish())

    def _give(self, code: int) -> None:
        """What the loop asks for."""
        if code == layout.DECIDE:
            self._decide()
        elif code == layout.JOBS:
            self._drain()
            self._replace(self.feed.jobs(self.arrays))
            self._handed = 0
        elif code == layout.BACKGROUND:
            self._beyond()
        elif code == layout.DRAIN:
            self._drain()
        elif code == layout.PICK_ROWS:
            self._replace(self.feed.pick_rows(self.arrays))
        elif code == layout.ROOM:
            self._replace(with_room(self.arrays))
        elif code == layout.REPORT:
            self._report()
        else:
            self._refuse(code)

    def _beyond(self) -> None:
        """The next event lies beyond the horizon: a round comes first, or background is wanted."""
        if self.rounds and self.rounds.due(self.arrays, self.background.horizon_s):
            self.rounds.allot(self.arrays, self.state, self.core)
            self._set_horizon()
        else:
            self._refill()

    def _refill(self) -> None:
        self.core.absorb_all(self.state, self.arrays.clock["now_s"][0])
        self._replace(self.background.refill(self.arrays))
        self._set_horizon()

    def _set_horizon(self) -> None:
        """How far the loop may go without us."""
        round_s = self.rounds.next_s if self.rounds else math.inf
        self.arrays.clock["horizon_s"] = min(self.background.horizon_s, round_s)

    def _drain(self) -> None:
        """Hand over the jobs that arrived and those that were completed since the last time."""
        s = self.arrays
        at, done = int(s.clock["feed_at"][0]), int(s.clock["completions"][0])
        first = int(s.clock["next_number"][0]) - (at - self._handed)
        if at > self._handed:
            part = slice(self._handed, at)
            self.collector.arrivals(first, s.feed_query[part], s.feed_s[part])
            self._handed = at
        if done:
            rows = s.completions[:done]
            parts = np.stack([rows[p] for p in _PARTS], axis=1)
            self.collector.completions(rows["number"].copy(), rows["completion_s"].copy(), parts)
            s.clock["completions"] = 0

    def _report(self) -> None:
        if self.on_progress is not None:
            self._drain()
            busy = busy_so_far(self.arrays, self.state, self.core)
            self.on_progress(self.collector.progress(busy))

    def _decide(self) -> None:
        """Ask a policy that is plain Python."""
        s, c = self.arrays, self.arrays.clock[0]
        decide: Any = self.scheduler.decide
        tables = self.rounds.tables if self.rounds else self.prepared.tables
        now, view = float(c["now_s"]), shown_view(s)
        if not self.scheduler.picks:
            query = int(s.jobs["query"][c["admitted"]])
            decide(now, query, view, tables, s.feed_uniforms[c["feed_at"] - 1], s.out)
        else:
            row = s.pick_uniforms[c["pick_at"]]
            s.clock["answer"] = 1 if decide(now, view, shown_ready(s), tables, row, s.out) else 0

    def _refuse(self, code: int) -> None:
        s, c = self.arrays, self.arrays.clock[0]
        if code == layout.BAD_BIND:
            query = int(s.jobs["query"][c["admitted"]])
            tasks = int(s.queries["tasks"][query])
            raise bad_binding(self.scheduler.name, query, s.out[:tasks].tolist(), self.system.executors)
        raise bad_pick(self.scheduler.name, int(s.out[0]), int(c["ready"]), int(s.out[1]))


_PARTS = ("compute_s", "transfer_s", "link_wait_s", "server_wait_s", "own_wait_s")
