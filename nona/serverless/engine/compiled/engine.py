"""The compiled engine: from a system and a planner to records, the same as the plain engine's."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.serverless.engine.compiled import layout
from nona.serverless.engine.compiled.allocate import make_state, margin, with_room
from nona.serverless.engine.compiled.answers import Answers, Guarded
from nona.serverless.engine.compiled.layout import State
from nona.serverless.engine.compiled.machine import callback, loop_for, signatures
from nona.serverless.engine.execution import no_time
from nona.serverless.engine.options import REPORTS, OnProgress, RunOptions, ServerlessProgress
from nona.serverless.engine.tables import Tables
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Planner, Policy
from nona.serverless.records.run import Batches, Calls, ServerlessRecords, Snapshot, WindowSums


class CompiledRun:
    """One run: calls the loop, gives it room, and writes down what it leaves."""

    def __init__(
        self,
        system: ServerlessSystem,
        planner: Planner,
        policy: Policy,
        run: RunOptions,
        on_progress: OnProgress | None,
    ) -> None:
        self._policy, self._run, self._on_progress = policy.name, run, on_progress
        self._tables = tables = Tables(system)
        self.state = make_state(tables, run, policy.by_length)
        self._answers = Answers(planner, tables, self.state)
        clock = self.state.clock
        clock["places"] = planner.place is not None
        clock["report_every"] = max(1, (run.first + run.calls) // REPORTS) if on_progress else 0
        self._snapshots: list[Snapshot] = []

    def records(self, begin: float) -> ServerlessRecords:
        """Run to the end; ``begin``: when that was asked for, by the clock of ``time.perf_counter``.

        Raises
        ------
        SimulationError
            For a planner that places where there is no room, or ranks what has no time.
        """
        guarded, kinds = Guarded(), signatures()
        asked: tuple[Callable[..., int], ...] = (self._answers.answer, self._answers.search, self._tell)
        functions = [callback(guarded(own), kind) for own, kind in zip(asked, kinds, strict=True)]
        advance, most = loop_for(self.state), margin(self.state, self._tables)
        while (code := advance(self.state, most, *functions)) == layout.ROOM:
            self.state = self._answers.state = with_room(self.state)
        if guarded.error is not None:
            raise guarded.error
        if code == layout.NO_TIME:
            raise self._no_time()
        return self._collected(begin)

    def _no_time(self) -> SimulationError:
        c, system = self.state.clock[0], self._tables.system
        return no_time(system, int(c["bad_configuration"]), int(c["bad_function"]))

    def _tell(self, what: int) -> int:
        clock = self.state.clock
        if what == layout.SNAPSHOTS:
            self._keep_snapshots(float(clock["now_s"][0]))
        elif self._on_progress is not None:
            fraction = min(1.0, int(clock["arrived"][0]) / int(clock["end"][0]))
            snapshot = self._snapshot(float(clock["now_s"][0]))
            self._on_progress(ServerlessProgress(self._policy, self._run.replication, fraction, snapshot))
        return 0

    def _keep_snapshots(self, now_s: float) -> None:
        """Every snapshot that fell due since the last event shows what has been so since."""
        every, clock = self._run.snapshot_s or np.inf, self.state.clock
        while clock["next_snapshot_s"][0] < now_s:
            self._snapshots.append(self._snapshot(float(clock["next_snapshot_s"][0])))
            clock["next_snapshot_s"] = (len(self._snapshots) + 1) * every

    def _snapshot(self, now_s: float) -> Snapshot:
        s, c = self.state, self.state.clock[0]
        return Snapshot(
            time_s=now_s,
            queues=tuple(s.queues["length"].tolist()),
            free_vcpus=tuple(s.invokers["free_vcpus"].tolist()),
            free_vgpus=tuple(s.invokers["free_vgpus"].tolist()),
            stranded=tuple(s.invokers["stranded"].tolist()),
            completed=int(c["completed"]),
            hits=int(c["hits"]),
        )

    def _collected(self, begin: float) -> ServerlessRecords:
        s, c = self.state, self.state.clock[0]
        return ServerlessRecords(
            policy=self._policy,
            replication=self._run.replication,
            calls=_calls(s),
            batches=_batches(s),
            sums=WindowSums(
                queue_area=np.ascontiguousarray(s.queues["area"]),
                start_s=float(c["start_s"]),
                end_s=float(c["end_s"]),
                vcpu_area=float(c["vcpu_area"]),
                vgpu_area=float(c["vgpu_area"]),
                stranded_area=float(c["stranded_area"]),
                cold_starts=int(c["cold_starts"]),
                prewarms=int(c["prewarms"]),
                rechecks=int(c["rechecks"]),
                misses=int(c["misses"]),
                planned=int(c["planned"]),
            ),
            stopped_s=float(c["now_s"]),
            seconds=time.perf_counter() - begin,
            stories=tuple(self._answers.stories),
            snapshots=tuple(self._snapshots),
        )


_BOOLS = ("cold", "missed", "forced")


def _calls(s: State) -> Calls:
    n, c = int(s.clock["arrived"][0]), s.clock[0]
    measured = np.zeros(n, dtype=bool)
    measured[int(c["first"]) : int(c["end"])] = True
    served: NDArray[np.int64] = s.served.reshape(-1, int(c["width"]))[:n].copy()
    return Calls(
        application=s.application[:n].copy(),
        arrival_s=s.arrival_s[:n].copy(),
        completion_s=s.completion_s[:n].copy(),
        measured=measured,
        batch=served,
        dropped_s=np.full(n, np.nan),
    )


def _batches(s: State) -> Batches:
    rows = s.batches[: int(s.clock["batches"][0])]
    columns = {name: np.ascontiguousarray(rows[name]) for name in Batches.__dataclass_fields__}
    return Batches(**columns | {name: columns[name].astype(bool) for name in _BOOLS})
