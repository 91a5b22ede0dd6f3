"""What the loop asks of Python: planners, scalers, states of GPUs, background; and what it tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from nona.core.arrays import Ints
from nona.core.errors import SimulationError
from nona.serverless.engine import layout
from nona.serverless.engine.arrays import Blocks, GpuTables
from nona.serverless.engine.layout import NOWHERE, SMALLEST_ROW, WAITS, PlatformState
from nona.serverless.policies.base import BatchPlan, Fleet, PreparedPolicy, Scaler, Service, WaitingQueue
from nona.serverless.system import NodeMemory, ServerlessSystem

MOST_KNOWN = 10_000  # plans that are recognised without a look at what they say


class InvokerView:
    """The invokers of a run, as a planner that places a batch of one function sees them."""

    def __init__(self, state: PlatformState, system: ServerlessSystem, function: int) -> None:
        self._function, self._memory = function, system.memory
        of = state.invokers
        self._vcpus, self._vgpus, self._fits, self._ready = (
            of[name] for name in ("free_vcpus", "free_vgpus", "fits", "ready")
        )
        self._wants = [(c.vcpus, c.vgpus) for c in system.space.configurations]
        self._containers = state.containers.reshape(len(system.functions), len(system.invokers))

    @property
    def free_vcpus(self) -> list[int]:
        """(N,) By invoker."""
        return list(self._vcpus.tolist())

    @property
    def free_vgpus(self) -> list[int]:
        """(N,) By invoker."""
        return list(self._vgpus.tolist())

    def fits(self, invoker: int, configuration: int) -> bool:
        """Return whether the vCPUs are free, a GPU has the vGPUs, and there is memory for a container."""
        return self._has_room(self._fits, invoker, configuration)

    def ready(self, invoker: int, configuration: int) -> bool:
        """Return whether it fits, and no slice need be made."""
        return self._has_room(self._ready, invoker, configuration)

    def _has_room(self, sizes: Ints, invoker: int, configuration: int) -> bool:
        vcpus, vgpus = self._wants[configuration]
        if self._vcpus.item(invoker) < vcpus or not sizes.item(invoker) >> vgpus & 1:
            return False
        return self._memory is None or self._has_memory(invoker, self._memory)

    def _has_memory(self, invoker: int, memory: NodeMemory) -> bool:
        """As the loop's own :func:`~nona.serverless.engine.containers.has_memory`."""
        kept = self._containers[:, invoker]
        if kept["idle"][self._function] > 0:
            return True
        in_use_bytes = int(((kept["busy"] + kept["starting"]) * np.array(memory.container_bytes)).sum())
        return in_use_bytes + memory.container_bytes[self._function] <= memory.node_bytes[invoker]


class PolicyCalls:
    """Answers the loop. ``state`` is replaced when the loop gets more room."""

    def __init__(
        self,
        system: ServerlessSystem,
        planner: PreparedPolicy,
        scaler: Scaler | None,
        state: PlatformState,
        gpus: GpuTables,
        background: list[Blocks],
        report_calls: Mapping[int, Callable[[], None]],
    ) -> None:
        self._system, self._planner, self._scaler = system, planner, scaler
        self.gpus, self._background = gpus, background
        self._views = [InvokerView(state, system, f) for f in range(len(system.functions))]
        self._queues = system.queues
        self._batch = [c.batch for c in system.space.configurations]
        self._plans: list[BatchPlan] = []
        self._largest: list[int] = []  # batch of a plan that a shorter queue does not fill
        self._length = state.queues["length"]
        self._wait_s, self._wait_for = state.clock["wait_s"], state.clock["wait_for"]
        self._partial = system.dispatch.partial
        self._row_of: dict[int, int] = {}  # by the identity of a plan that stays alive
        self._alive: list[BatchPlan] = []
        self._equal: dict[BatchPlan, int] = {}
        self._carried: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._asks: list[WaitingQueue | None] = [None] * len(self._queues)
        self.state = state
        self._row(BatchPlan((system.space.smallest,)))
        self._by_code: dict[int, Callable[[int, int, int], int]] = {
            layout.PLACE: self._place,
            layout.STATE: lambda number, *_: gpus.work_out(number),
            layout.BACK: lambda number, key, _: gpus.release(number, key),
            layout.BACKGROUND: self._draw,
            layout.SCALES: self._scale,
            layout.RANKED: self._ranked,
            layout.SERVICE: self._service,
        }
        self._report_calls = report_calls

    def plan(
        self,
        queue: int,
        length: int,
        carried: int,
        forced: int,
        slack_s: float,
        waited_s: float,
        rate: float,
    ) -> int:
        """Return the row of the plan for a queue, or that it waits."""
        plan_before = self._carried[carried] if carried >= 0 else None
        ask = WaitingQueue(*self._queues[queue], length, slack_s, waited_s, plan_before, rate)
        self._asks[queue] = ask
        if forced:
            return SMALLEST_ROW
        plan = self._planner.plan(ask)
        if plan.ranked:
            row = self._row_of.get(id(plan))
            return self._row(plan) if row is None else row
        self._wait_s[0], self._wait_for[0] = plan.wait_s, plan.wait_for
        return WAITS

    def other(self, what: int, first: int, second: int, third: int) -> int:
        """Answer anything else, by its code."""
        if what in self._report_calls:
            self._report_calls[what]()
            return 0
        return self._by_code[what](first, second, third)

    def _row(self, plan: BatchPlan) -> int:
        row = self._equal.get(plan)
        if row is None:
            row = self._equal[plan] = self._new_row(plan)
        if len(self._alive) < MOST_KNOWN:
            self._row_of[id(plan)] = row
            self._alive.append(plan)
        return row

    def _new_row(self, plan: BatchPlan) -> int:
        s, number = self.state, len(self._plans)
        first = int(s.clock["listed"][0])
        after = first + len(plan.ranked)
        s.ranked[first:after] = plan.ranked
        carry = -1 if plan.memory is None else self._number(plan.memory)
        s.rows[number] = (first, len(plan.ranked), plan.steps, carry, plan.missed, plan.search_s)
        self._plans.append(plan)
        self._largest.append(0 if self._partial else max((self._batch[c] for c in plan.ranked), default=0))
        s.clock["plans"], s.clock["listed"], headroom = number + 1, after, int(s.clock["headroom"][0])
        if number + 1 + headroom > len(s.rows) or after + headroom > len(s.ranked):
            s.clock["grow"] = 1
        return number

    def _number(self, carried: tuple[int, ...]) -> int:
        number = self._numbers.get(carried)
        if number is None:
            number = self._numbers[carried] = len(self._carried)
            self._carried.append(carried)
        return number

    def _place(self, queue: int, row: int, _: int) -> int:
        """Return configuration · invokers + invoker, where the policy itself puts a batch or an instance."""
        ranked, length, ask = self._plans[row].ranked, self._length.item(queue), self._asks[queue]
        application, stage = self._queues[queue]
        app = self._system.applications[application]
        if self._scaler is not None:
            ask = WaitingQueue(application, stage, 1, app.slo_s)
        elif self._largest[row] > length:
            ranked = tuple([c for c in ranked if self._batch[c] <= length])
        view, place = self._views[app.function[stage]], self._planner.place
        chosen = place(ask, ranked, view) if place and ask and ranked else None
        if chosen is None:
            return NOWHERE
        configuration, invoker = ranked[chosen[0]], chosen[1]
        if not view.fits(invoker, configuration):
            raise SimulationError(
                f"Policy: it placed {self._system.space[configuration].text} on invoker {invoker}, which "
                "has no room; its place must check the view's fits."
            )
        return configuration * len(self._system.invokers) + invoker

    def _draw(self, link: int, *_: int) -> int:
        """Return the next block of a link's background."""
        s = self.state
        times, sizes = next(self._background[link])
        s.background_s[link], s.background_work_s[link] = times, sizes / s.links["capacity"][link]
        s.links["at"][link] = 0
        return 0

    def _scale(self, queue: int, *_: int) -> int:
        """How many instances of a queue are to be stopped, or that it wants more."""
        s, scaler = self.state, self._scaler_of()
        live = self._live(queue)
        standing = tuple(s.instances["configuration"][live].tolist())
        fleet = Fleet(*self._queues[queue], float(s.clock["rate"][0]), standing)
        excess = scaler.excess(fleet)
        if excess > 0:
            s.clock["wanted"] = excess
            return layout.MORE
        stopped = [live[k] for k in scaler.stops(fleet)]
        if len(stopped) == len(live) and self._length.item(queue):
            del stopped[-1:]  # one stays while jobs wait
        s.stops[: len(stopped)] = stopped
        return len(stopped)

    def _live(self, queue: int) -> list[int]:
        """Return the instances of a queue that are not being stopped, in the order of starting."""
        s, live = self.state, []
        at = int(s.queues["first_instance"][queue])
        while at >= 0:
            if not s.instances["stopping"][at]:
                live.append(at)
            at = int(s.instances["next"][at])
        return live

    def _ranked(self, queue: int, *_: int) -> int:
        """Return the row of configurations for the next instance, for ``wanted`` jobs a second."""
        ranked = self._scaler_of().ranked(*self._queues[queue], float(self.state.clock["wanted"][0]))
        return self._row(BatchPlan(ranked))

    def _service(self, queue: int, configuration: int, _: int) -> int:
        """Write down what an instance of a configuration serves."""
        service: Service = self._scaler_of().service(*self._queues[queue], configuration)
        self.state.service_most[queue, configuration] = service.most
        self.state.service_timeout_s[queue, configuration] = service.timeout_s
        return 0

    def _scaler_of(self) -> Scaler:
        if self._scaler is None:
            raise SimulationError("Policy: it has no scaler, but instances stand; report this.")
        return self._scaler
