"""The system as the loop reads it, its invokers, and which of them takes a batch."""

from __future__ import annotations

from collections.abc import Iterable

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Lease
from nona.gpu_sharing.registry import make_pool
from nona.scenario.serverless import LATE
from nona.serverless.containers import Containers, MemoryContainers
from nona.serverless.dispatch import Candidate, candidates, looks_for_slices, routes
from nona.serverless.policies.base import Ask, ClusterView, Place
from nona.serverless.records import Refusal
from nona.serverless.sharing import least_times
from nona.serverless.system import ServerlessSystem


def least_left_s(system: ServerlessSystem) -> tuple[float, ...]:
    """(Q,) Seconds that a call which waits in a queue needs at least, in the order of ``system.queues``.

    Formula: the longest path from the queue's stage to the end, each stage at its least mean time over
    configurations and invokers; no waits, transfers, cold starts or set-up.
    """
    fastest = least_times(system)[0].min(axis=1).tolist()
    least_s: list[float] = []
    for app in system.applications:
        left = [0.0] * app.stages
        for stage in reversed(app.dag.topological_order()):
            behind = max((left[v] for v in app.dag.successors[stage]), default=0.0)
            left[stage] = fastest[app.function[stage]] + behind
        least_s += left
    return tuple(least_s)


class Tables:
    """Constants of a run. Queues have numbers, in the order of ``system.queues``.

    Attributes
    ----------
    application, stage, function, entry
        By queue.
    queue_at
        ``queue_at[a][s]``: the number of a queue.
    before, after
        By queue: stages before its own, and queues after it.
    drops, least_left_s
        Whether late calls are dropped; by queue, the seconds that a call there needs at least.
    cpu_s
        ``cpu_s[f][c]``: seconds of the CPU phase.
    """

    def __init__(self, system: ServerlessSystem) -> None:
        apps = system.applications
        self.system = system
        self.application = [a for a, _ in system.queues]
        self.stage = [s for _, s in system.queues]
        self.function = [apps[a].function[s] for a, s in system.queues]
        number = {pair: q for q, pair in enumerate(system.queues)}
        self.queue_at = [[number[a, s] for s in range(app.stages)] for a, app in enumerate(apps)]
        self.before = [apps[a].dag.predecessors[s] for a, s in system.queues]
        self.after = [tuple(number[a, v] for v in apps[a].dag.successors[s]) for a, s in system.queues]
        self.entry = [not before for before in self.before]
        self.entries = [tuple(number[a, s] for s in app.entries) for a, app in enumerate(apps)]
        self.input_bytes = [apps[a].input_bytes[s] for a, s in system.queues]
        self.slo_s = [app.slo_s for app in apps]
        self.widest = max(app.stages for app in apps)
        self.drops = LATE.find(system.dispatch.late).drops
        self.least_left_s = least_left_s(system) if self.drops else ()
        self.cpu_s: list[list[float]] = system.cpu_s.tolist()
        self.cold_start_s = [f.cold_start_s for f in system.functions]
        self.configurations = system.space.configurations
        self.batch = [c.batch for c in self.configurations]
        self.vcpus = [c.vcpus for c in self.configurations]
        self.vgpus = [c.vgpus for c in self.configurations]

    @property
    def queues(self) -> int:
        """Number of AFW queues."""
        return len(self.application)


class Invokers:
    """Pools by number of the invoker, with their free amounts in lists: a view of the cluster.

    Attributes
    ----------
    free_vcpus, free_vgpus, stranded
        (N,) By invoker, as its pool says.
    vcpu_area, vgpu_area, stranded_area
        Integrals over the window.
    """

    def __init__(self, tables: Tables, start_s: float, end_s: float) -> None:
        system = tables.system
        self._tables = tables
        self.pools = [make_pool(node, system.sharing) for node in system.invokers]
        self.free_vcpus = [pool.free_vcpus for pool in self.pools]
        self.free_vgpus = [pool.free_vgpus for pool in self.pools]
        self.stranded = [pool.stranded for pool in self.pools]
        self.couples = [pool.couples for pool in self.pools]
        self._window = (start_s, end_s)
        self._last_s = 0.0
        self._vcpus = self._vgpus = 0
        self._without_room: set[int] = set()  # configurations; what is taken makes no room
        self._stranded = sum(self.stranded)
        self.vcpu_area = self.vgpu_area = self.stranded_area = 0.0

    def __len__(self) -> int:
        return len(self.pools)

    def fits(self, invoker: int, configuration: int) -> bool:
        """Return whether the invoker has room now."""
        tables = self._tables
        return (
            self.free_vcpus[invoker] >= tables.vcpus[configuration]
            and self.free_vgpus[invoker] >= tables.vgpus[configuration]
            and self.pools[invoker].fits(tables.configurations[configuration])
        )

    def ready(self, invoker: int, configuration: int) -> bool:
        """Return whether the invoker has room now, and need not make a slice for it."""
        return self.pools[invoker].ready(self._tables.configurations[configuration])

    def hopeless(self, configuration: int) -> bool:
        """Return whether counts alone show that no invoker has room."""
        if configuration in self._without_room:
            return True
        v, g = self._tables.vcpus[configuration], self._tables.vgpus[configuration]
        for free_v, free_g in zip(self.free_vcpus, self.free_vgpus, strict=True):
            if free_v >= v and free_g >= g:
                return False
        self._without_room.add(configuration)
        return True

    def none_has_room(self, configuration: int) -> None:
        """Every invoker has refused the configuration: they will until something is released."""
        self._without_room.add(configuration)

    def take(self, invoker: int, configuration: int, now_s: float) -> Lease | None:
        """Resources for a batch, ``None`` where there is no room."""
        tables = self._tables
        if (
            self.free_vcpus[invoker] < tables.vcpus[configuration]
            or self.free_vgpus[invoker] < tables.vgpus[configuration]
        ):
            return None
        lease = self.pools[invoker].take(tables.configurations[configuration], now_s)
        if lease is not None:
            self._changed(invoker, now_s, lease.vcpus, lease.vgpus)
        return lease

    def release(self, invoker: int, lease: Lease, now_s: float) -> None:
        """A batch gives its resources back."""
        self.pools[invoker].release(lease, now_s)
        self._without_room.clear()
        self._changed(invoker, now_s, -lease.vcpus, -lease.vgpus)

    def _changed(self, invoker: int, now_s: float, vcpus: int, vgpus: int) -> None:
        self.account(now_s)
        pool = self.pools[invoker]
        self._vcpus += vcpus
        self._vgpus += vgpus
        self.free_vcpus[invoker] = pool.free_vcpus
        self.free_vgpus[invoker] = pool.free_vgpus
        stranded = pool.stranded
        self._stranded += stranded - self.stranded[invoker]
        self.stranded[invoker] = stranded

    def account(self, now_s: float) -> None:
        """Add the time since the last change to the areas, as far as it lies in the window."""
        start, end = self._window
        begin = self._last_s if self._last_s > start else start
        until = now_s if now_s < end else end
        if until > begin:
            length = until - begin
            self.vcpu_area += self._vcpus * length
            self.vgpu_area += self._vgpus * length
            self.stranded_area += self._stranded * length
        self._last_s = now_s

    def why(self, invoker: int, configuration: int) -> str:
        """In words, why there is no room for the configuration."""
        return self.pools[invoker].why_not(self._tables.configurations[configuration])


Found = tuple[int, Lease, str]
NO_MEMORY = "its containers that are in use leave no memory for one of this function"


class Choice:
    """Finds an invoker with room for one configuration; counts alone often say that there is none."""

    def __init__(self, tables: Tables, invokers: Invokers, containers: Containers) -> None:
        spec = tables.system.dispatch
        self._function = tables.function
        self._rules = [spec.first if entry else spec.later for entry in tables.entry]
        self._ask_all = [not {"walk", "most-free"}.isdisjoint(rules) for rules in self._rules]
        self._routes = routes(tables.system)
        self._invokers, self._containers = invokers, containers
        self._configurations = tables.configurations
        self._makes_slices = looks_for_slices(tables.system)
        self._memory = containers if isinstance(containers, MemoryContainers) else None

    def find(
        self, queue: int, configuration: int, predecessor: int, now_s: float, refusals: list[Refusal] | None
    ) -> Found | None:
        """(invoker, lease, rule), or ``None``; refusals are appended where a list is given."""
        invokers = self._invokers
        if refusals is None and invokers.hopeless(configuration):
            return None
        function = self._function[queue]
        asked = candidates(
            self._rules[queue],
            self._routes[function],
            predecessor,
            self._containers.warm(function),
            invokers.free_vcpus,
            invokers.free_vgpus,
        )
        short = False
        for invoker, rule in self._ready_first(asked, configuration) if self._makes_slices else asked:
            if self._memory is not None and not self._memory.has_room(invoker, function):
                short = True
                if refusals is not None:
                    refusals.append(Refusal(configuration, invoker, rule, NO_MEMORY))
                continue
            lease = invokers.take(invoker, configuration, now_s)
            if lease is not None:
                return invoker, lease, rule
            if refusals is not None:
                refusals.append(Refusal(configuration, invoker, rule, invokers.why(invoker, configuration)))
        if self._ask_all[queue] and not short:
            invokers.none_has_room(configuration)
        return None

    def placed(
        self, queue: int, place: Place, ask: Ask, ranked: tuple[int, ...], now_s: float
    ) -> tuple[int, Found] | None:
        """The configuration that a policy's own ``place`` puts somewhere, with what it was given there.

        Raises
        ------
        SimulationError
            When it chose an invoker without room.
        """
        view, invokers = self.view(queue), self._invokers
        chosen = place(ask, ranked, view) if ranked else None
        if chosen is None:
            return None
        configuration, invoker = ranked[chosen[0]], chosen[1]
        room = view is invokers or view.fits(invoker, configuration)
        lease = invokers.take(invoker, configuration, now_s) if room else None
        if lease is None:
            raise SimulationError(
                f"Policy: it placed {self._configurations[configuration].text} on invoker {invoker}, which "
                "has no room; its place must check the view's fits."
            )
        return configuration, (invoker, lease, "policy")

    def view(self, queue: int) -> ClusterView:
        """Return a policy's view as it places a batch of ``queue``; for its function if memory is limited."""
        if self._memory is None:
            return self._invokers
        return _WithMemory(self._invokers, self._memory, self._function[queue])

    def _ready_first(self, asked: Iterable[Candidate], configuration: int) -> list[Candidate]:
        """In the same order, but those that need not make a slice for it come first."""
        named = list(asked)
        ready = [one for one in named if self._invokers.ready(one[0], configuration)]
        return ready + [one for one in named if one not in ready]


class _WithMemory:
    """The invokers as a batch of one function sees them."""

    def __init__(self, invokers: Invokers, memory: MemoryContainers, function: int) -> None:
        self._invokers, self._memory, self._function = invokers, memory, function
        self.free_vcpus, self.free_vgpus = invokers.free_vcpus, invokers.free_vgpus

    def fits(self, invoker: int, configuration: int) -> bool:
        return self._memory.has_room(invoker, self._function) and self._invokers.fits(invoker, configuration)

    def ready(self, invoker: int, configuration: int) -> bool:
        return self._memory.has_room(invoker, self._function) and self._invokers.ready(invoker, configuration)
