"""Simulate one policy in one replication."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.options import Options
from nona.serverless.chart_data import PlatformSnapshot
from nona.serverless.engine import layout
from nona.serverless.engine.answers import PolicyCalls
from nona.serverless.engine.arrays import make_run, with_room
from nona.serverless.engine.layout import PlatformState
from nona.serverless.engine.options import REPORTS, OnProgress, PlatformRunOptions, ServerlessProgress
from nona.serverless.policies.base import ConfigurationPolicy, PreparedPolicy, Scales
from nona.serverless.records import (
    Calls,
    ContainerLives,
    DispatchedBatches,
    Instances,
    LinkTransfers,
    ServerlessRecords,
    WindowSums,
)
from nona.serverless.system import ServerlessSystem

DEFAULT = PlatformRunOptions()


def simulate_serverless(
    system: ServerlessSystem,
    policy: ConfigurationPolicy,
    options: Options,
    run: PlatformRunOptions = DEFAULT,
    on_progress: OnProgress | None = None,
) -> ServerlessRecords:
    """Simulate ``policy`` with ``options`` on ``system``.

    ``on_progress``: called about 200 times; :class:`~nona.queries.simulation.run.Cancelled` raised there
    stops the run.

    Raises ``SimulationError`` for options that the policy does not know, arrivals that no process has, a
    policy that places a batch where there is no room, or one that ranks what has no time.
    """
    begin = time.perf_counter()
    planner = policy.prepare(system, options)
    return _Simulation(policy.under(system, options), policy, planner, run, on_progress).records(begin)


class _Simulation:
    """One run: calls the loop, gives it room, and writes down its records."""

    def __init__(
        self,
        system: ServerlessSystem,
        policy: ConfigurationPolicy,
        planner: PreparedPolicy,
        run: PlatformRunOptions,
        on_progress: OnProgress | None,
    ) -> None:
        self._system, self._policy, self._run, self._on_progress = system, policy.name, run, on_progress
        scaler = planner.scaler if isinstance(planner, Scales) else None
        places = planner.place is not None
        self._state, gpus, background = make_run(system, run, policy.by_length and not places, scaler)
        report_calls = {layout.SNAPSHOTS: self._keep_snapshots, layout.PROGRESS: self._report}
        self._answers = PolicyCalls(system, planner, scaler, self._state, gpus, background, report_calls)
        clock = self._state.clock
        clock["places"] = places
        clock["report_every"] = max(1, (run.first + run.calls) // REPORTS) if on_progress else 0
        self._snapshots: list[PlatformSnapshot] = []
        self._error: BaseException | None = None

    def records(self, begin: float) -> ServerlessRecords:
        """Run to the end; ``begin``: when that was asked for, by the clock of ``time.perf_counter``."""
        from nona.serverless.engine.loop import callback, loop_for, signatures  # Numba takes a while

        kinds, advance = signatures(), loop_for(self._state)
        answer = callback(self._guarded(self._answers.plan), kinds.answer)
        ask = callback(self._guarded(self._answers.other), kinds.queue)
        while (code := advance(self._state, answer, ask)) == layout.ROOM:
            self._state = self._answers.state = self._answers.gpus.arrays = with_room(self._state)
        if self._error is not None:
            raise self._error
        if code == layout.NO_TIME:
            raise self._no_time()
        return self._collected(begin)

    def _guarded(self, function: Callable[..., int]) -> Callable[..., int]:
        """Make the function halt the loop in place of raising."""

        def guarded(*arguments: float) -> int:
            try:
                return function(*arguments)
            except BaseException as error:  # also that a user interrupts: machine code cannot raise it
                self._error = error
                self._state.clock["halted"] = layout.STOPPED
                return layout.STOP

        return guarded

    def _report(self) -> None:
        if self._on_progress is not None:
            c = self._state.clock[0]
            fraction = min(1.0, int(c["arrived"]) / int(c["end"]))
            snapshot = self._snapshot(float(c["now_s"]))
            self._on_progress(ServerlessProgress(self._policy, self._run.replication, fraction, snapshot))

    def _no_time(self) -> SimulationError:
        c, system = self._state.clock[0], self._system
        return SimulationError(
            f"Policy: it chose {system.space[int(c['bad_configuration'])].text} for function "
            f"{system.functions[int(c['bad_function'])].name!r}, which has no time for it; let it rank only "
            "what the system has a time for."
        )

    def _keep_snapshots(self) -> None:
        """Keep every snapshot that fell due since the last event: nothing has changed since then."""
        every, clock = self._run.snapshot_s or np.inf, self._state.clock
        while clock["next_snapshot_s"][0] < clock["now_s"][0]:
            self._snapshots.append(self._snapshot(float(clock["next_snapshot_s"][0])))
            clock["next_snapshot_s"] = (len(self._snapshots) + 1) * every

    def _snapshot(self, now_s: float) -> PlatformSnapshot:
        s, c = self._state, self._state.clock[0]
        return PlatformSnapshot(
            time_s=now_s,
            queues=tuple(s.queues["length"].tolist()),
            free_vcpus=tuple(s.invokers["free_vcpus"].tolist()),
            free_vgpus=tuple(s.invokers["free_vgpus"].tolist()),
            stranded=tuple(s.invokers["stranded"].tolist()),
            completed=int(c["completed"]),
            hits=int(c["hits"]),
        )

    def _collected(self, begin: float) -> ServerlessRecords:
        s, c, system = self._state, self._state.clock[0], self._system
        tracked = system.memory is not None or system.idle_cost > 0
        sums = {name: c[name].item() for name in WindowSums.__dataclass_fields__ if name != "queue_area"}
        return ServerlessRecords(
            policy=self._policy,
            replication=self._run.replication,
            calls=_calls(s),
            batches=_batches(s),
            sums=WindowSums(queue_area=np.ascontiguousarray(s.queues["area"]), **sums),
            stopped_s=float(c["now_s"]),
            seconds=time.perf_counter() - begin,
            snapshots=tuple(self._snapshots),
            instances=_instances(s, tracked) if c["stands"] else None,
            transfers=_transfers(s, system.network.topology.link_names) if system.network else None,
            containers=_lives(s) if tracked else None,
        )


def _calls(s: PlatformState) -> Calls:
    n, c = int(s.clock["arrived"][0]), s.clock[0]
    measured = np.zeros(n, dtype=bool)
    measured[int(c["first"]) : int(c["end"])] = True
    return Calls(
        application=s.application[:n].copy(),
        arrival_s=s.arrival_s[:n].copy(),
        completion_s=s.completion_s[:n].copy(),
        measured=measured,
        batch=s.served.reshape(-1, int(c["width"]))[:n].copy(),
        dropped_s=s.dropped_s[:n].copy(),
    )


def _batches(s: PlatformState) -> DispatchedBatches:
    rows = s.batches[: int(s.clock["batches"][0])]
    columns = {name: np.ascontiguousarray(rows[name]) for name in DispatchedBatches.__dataclass_fields__}
    return DispatchedBatches(
        **columns | {name: columns[name].astype(bool) for name in ("cold", "missed", "forced")}
    )


def _instances(s: PlatformState, tracked: bool) -> Instances:
    rows = s.instances[: int(s.clock["instances"][0])]
    names = ("invoker", "gpu", "configuration", "slots", "started_s", "ready_s", "ended_s")
    return Instances(
        application=s.queues["application"][rows["queue"]],
        stage=s.queues["stage"][rows["queue"]],
        cold=rows["cold"].astype(bool),
        forced=rows["forced"].astype(bool),
        container=rows["container"].copy() if tracked else np.full(len(rows), -1, dtype=np.int64),
        of_batch=s.batches["instance"][: int(s.clock["batches"][0])].copy(),
        **{name: np.ascontiguousarray(rows[name]) for name in names},
    )


def _transfers(s: PlatformState, names: tuple[str, ...]) -> LinkTransfers:
    rows, now_s = s.batches[: int(s.clock["batches"][0])], float(s.clock["now_s"][0])
    links = s.links
    return LinkTransfers(
        links=names,
        busy_s=links["closed_s"] + np.minimum(links["free_s"], now_s) - links["since_s"],
        work_s=links["work_s"] - np.maximum(0.0, links["free_s"] - now_s),
        alone_s=rows["alone_s"].copy(),
        complete=rows["messages"] == 0,
    )


def _lives(s: PlatformState) -> ContainerLives:
    c = s.clock[0]
    lives, spells = s.lives[: int(c["lives"])], s.spells[: int(c["spells"])]
    born_s: Floats = np.minimum(lives["born_s"], float(c["now_s"]))
    return ContainerLives(
        invoker=lives["invoker"].copy(),
        function=lives["function"].copy(),
        born_s=born_s,
        gone_s=lives["gone_s"].copy(),
        evicted=lives["evicted"].astype(bool),
        of_batch=s.batches["container"][: int(c["batches"])].copy(),
        idle=spells["container"].copy(),
        idle_from_s=spells["from_s"].copy(),
        idle_until_s=spells["until_s"].copy(),
        idle_configuration=spells["configuration"].copy(),
    )
