"""A run of the compiled loop: the planner's answers to it, and its records.

whose decisions a story lists, and progress.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.gpu_sharing.counter import shortage
from nona.serverless.dispatch import candidates
from nona.serverless.engine.compiled import state as layout
from nona.serverless.engine.compiled.arrays import make_state, margin, with_room
from nona.serverless.engine.compiled.machine import callback, loop_for, signatures
from nona.serverless.engine.compiled.state import NOWHERE, RULES, SMALLEST_ROW, STOP, WAITS, State
from nona.serverless.engine.execution import no_time
from nona.serverless.engine.invokers import Tables
from nona.serverless.engine.options import REPORTS, OnProgress, RunOptions, ServerlessProgress
from nona.serverless.policies.base import Ask, Plan, Planner, Policy
from nona.serverless.records import (
    Batches,
    Calls,
    DispatchStory,
    Refusal,
    ServerlessRecords,
    Snapshot,
    WindowSums,
)
from nona.serverless.system import ServerlessSystem


class View:
    """The invokers of a compiled run, as a planner that places sees them."""

    def __init__(self, state: State, tables: Tables) -> None:
        self._tables, of = tables, state.invokers
        self._vcpus, self._vgpus, self._most = of["free_vcpus"], of["free_vgpus"], of["most"]

    @property
    def free_vcpus(self) -> list[int]:
        """(N,) By invoker."""
        return list(self._vcpus.tolist())

    @property
    def free_vgpus(self) -> list[int]:
        """(N,) By invoker."""
        return list(self._vgpus.tolist())

    def fits(self, invoker: int, configuration: int) -> bool:
        """Return whether the vCPUs are free, and one GPU has the vGPUs."""
        tables = self._tables
        return bool(
            self._vcpus.item(invoker) >= tables.vcpus[configuration]
            and self._most.item(invoker) >= tables.vgpus[configuration]
        )

    ready = fits  # nothing is ever set up

    def why(self, invoker: int, configuration: int) -> str:
        """In words, why there is no room."""
        wanted = self._tables.configurations[configuration]
        return shortage(self._vcpus.item(invoker), self._most.item(invoker), wanted)


class Answers:
    """Asks a planner for the loop, and keeps its plans as rows of the state.

    ``state`` is replaced when the loop gets more room.
    """

    def __init__(self, planner: Planner, tables: Tables, state: State) -> None:
        self._planner, self._tables = planner, tables
        self._view = View(state, tables)
        self._plans: list[Plan] = []
        self._largest: list[int] = []  # batch of a plan that a shorter queue does not fill
        self._length = state.queues["length"]
        self._partial = tables.system.dispatch.partial
        self._wanted = int(state.clock["stories_left"][0])
        self._known: dict[int, int] = {}  # by the identity of a plan that is kept
        self._equal: dict[Plan, int] = {}
        self._carried: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._asks: list[Ask | None] = [None] * tables.queues
        self.stories: list[DispatchStory] = []
        self.state = state
        self._row(Plan((tables.system.space.smallest,)))

    def answer(
        self,
        queue: int,
        length: int,
        carried: int,
        forced: int,
        slack_s: float,
        waited_s: float,
        rate: float,
    ) -> int:
        """The row of the plan for a queue, or that it waits."""
        plan_before = self._carried[carried] if carried >= 0 else None
        tables = self._tables
        ask = Ask(
            tables.application[queue], tables.stage[queue], length, slack_s, waited_s, plan_before, rate
        )
        self._asks[queue] = ask
        if forced:
            return SMALLEST_ROW
        plan = self._planner.plan(ask)
        if plan.ranked:
            row = self._known.get(id(plan))
            return self._row(plan) if row is None else row
        clock = self.state.clock
        now_s = float(clock["now_s"][0])
        clock["wait_s"], clock["wait_for"] = plan.wait_s, plan.wait_for
        clock["over_s"] = max(now_s + plan.wait_s, math.nextafter(now_s, math.inf))  # time must pass
        return WAITS

    def _row(self, plan: Plan) -> int:
        row = self._equal.get(plan)
        if row is not None:
            return row
        s, number = self.state, len(self._plans)
        first = int(s.rows["first"][number - 1] + s.rows["count"][number - 1]) if number else 0
        after = first + len(plan.ranked)
        s.ranked[first:after] = plan.ranked
        carry = -1 if plan.carry is None else self._number(plan.carry)
        s.rows[number] = (first, len(plan.ranked), plan.steps, carry, plan.missed, plan.search_s)
        self._plans.append(plan)
        self._largest.append(0 if self._partial else max(self._tables.batch[c] for c in plan.ranked))
        self._known[id(plan)] = self._equal[plan] = number
        if number + 2 > len(s.rows) or after + len(self._tables.configurations) > len(s.ranked):
            s.clock["grow"] = 1
        return number

    def _number(self, carried: tuple[int, ...]) -> int:
        number = self._numbers.get(carried)
        if number is None:
            number = self._numbers[carried] = len(self._carried)
            self._carried.append(carried)
        return number

    def search(self, queue: int, row: int, predecessor: int) -> int:
        """Configuration · invokers + invoker for a decision, or that there is no room."""
        s, plan, tables = self.state, self._plans[row], self._tables
        ranked, length = plan.ranked, self._length.item(queue)
        if self._largest[row] > length:
            ranked = tuple([c for c in ranked if tables.batch[c] <= length])
        refusals: list[Refusal] = []
        if self._planner.place is not None:
            chosen = self._placed(queue, ranked)
        else:
            chosen = self._first_candidate(queue, ranked, predecessor, refusals)
        if chosen is None:
            return NOWHERE
        configuration, invoker, rule = chosen
        if len(self.stories) < self._wanted:
            self._tell(plan, refusals, rule)
        return configuration * len(s.invokers) + invoker

    def _tell(self, plan: Plan, refusals: list[Refusal], rule: str) -> None:
        c = self.state.clock[0]
        if c["start_s"] <= c["now_s"] <= c["end_s"]:
            self.state.clock["stories_left"] -= 1
            self.stories.append(DispatchStory(int(c["batches"]), plan.ranked, tuple(refusals), rule))

    def _placed(self, queue: int, ranked: tuple[int, ...]) -> tuple[int, int, str] | None:
        place, ask = self._planner.place, self._asks[queue]
        chosen = place(ask, ranked, self._view) if place and ask and ranked else None
        if chosen is None:
            return None
        configuration, invoker = ranked[chosen[0]], chosen[1]
        if not self._view.fits(invoker, configuration):
            raise SimulationError(
                f"Policy: it placed {self._tables.configurations[configuration].text} on invoker "
                f"{invoker}, which has no room; its place must check the view's fits."
            )
        return configuration, invoker, "policy"

    def _first_candidate(
        self, queue: int, ranked: Sequence[int], predecessor: int, refusals: list[Refusal]
    ) -> tuple[int, int, str] | None:
        """Find the candidate that the loop finds, with every refusal."""
        s, view = self.state, self._view
        own = s.queues[queue]
        rules = [RULES[r] for r in s.rules[own["rule"] : own["rule"] + own["rules"]]]
        route = s.routes[own["function"]].tolist()
        kept = s.containers["idle"].reshape(-1, len(s.invokers))[own["function"]]
        warm = [i for i, idle in enumerate(kept) if idle]
        for configuration in ranked:
            asked = candidates(rules, route, predecessor, warm, view.free_vcpus, view.free_vgpus)
            for invoker, rule in asked:
                if view.fits(invoker, configuration):
                    return configuration, invoker, rule
                why = view.why(invoker, configuration)
                refusals.append(Refusal(configuration, invoker, rule, why))
        return None


Hears = Callable[[int], int]


class Guarded:
    """Calls functions for the loop: an exception is kept in ``error``, and stops the loop."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __call__(self, function: Callable[..., int]) -> Callable[..., int]:
        """The function, which answers ``STOP`` in place of raising."""

        def guarded(*arguments: float) -> int:
            try:
                return function(*arguments)
            except BaseException as error:  # also that a user interrupts: machine code cannot raise it
                self.error = error
                return STOP

        return guarded


class CompiledRun:
    """One run: calls the loop, gives it room, and writes down its records."""

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
        """Keep every snapshot that fell due since the last event: nothing has changed since then."""
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
