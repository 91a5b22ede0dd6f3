"""The arrays of a run, from the system."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.cluster.sharing.pool import Gpu
from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.core.random_streams import RandomStreams
from nona.queries.simulation.workload import background_blocks
from nona.scenario.serverless import LATE
from nona.serverless.dispatch import looks_for_slices, routes
from nona.serverless.engine import layout
from nona.serverless.engine.layout import PlatformState, Records, key_of
from nona.serverless.engine.options import TAIL_SLOS, PlatformRunOptions
from nona.serverless.policies.base import Scaler
from nona.serverless.sharing import gpu_seconds, kinds_of_gpu, larger_slice_s, least_times
from nona.serverless.system import ServerlessSystem, calls, noise_factors

FIRST_EVENTS, FIRST_ROWS, FIRST_STATES, MEMO_PLANS = 4096, 256, 1024, 64
KEYS = 64  # of the parts of a GPU
Blocks = Iterator[tuple[Floats, Floats]]
Arrays = dict[str, NDArray[Any]]


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


class GpuTables:
    """Numbers the states of GPUs, and works out what follows each of them when it first occurs."""

    def __init__(self, gpus: list[Gpu[Any]], state_of: PlatformState) -> None:
        self.rules, self.arrays = gpus, state_of
        self._numbers: dict[tuple[int, Hashable], int] = {}
        self._states: list[tuple[int, Any]] = []
        self.empty = [self._number(kind, gpu.empty) for kind, gpu in enumerate(gpus)]
        for number in self.empty:
            self.work_out(number)

    def state(self, number: int) -> tuple[Gpu[Any], Any]:
        """Return the rules of a GPU, and the state that has the number."""
        kind, state = self._states[number]
        return self.rules[kind], state

    def work_out(self, number: int) -> int:
        """Write down what a GPU in a state has, and what batches get of it."""
        s, (kind, state) = self.arrays, self._states[number]
        gpu, sizes = self.rules[kind], int(s.clock["sizes"][0])
        fits = ready = 0
        for vgpus in range(1, sizes):
            part = gpu.part(state, vgpus)
            row = number * sizes + vgpus
            s.parts["after"][row] = -1
            if part is not None:
                after = self._number(kind, part.after)
                s.parts[row] = (after, part.rank, part.vgpus, part.slots, part.key, part.setup_s)
                fits |= 1 << vgpus
                ready |= (part.setup_s == 0) << vgpus
        s.gpu_states[number] = (1, gpu.free(state), gpu.stranded(state), fits, ready)
        return 0

    def release(self, number: int, key: int) -> int:
        """Return the number of the state after a part was given back."""
        kind, state = self._states[number]
        after = self._number(kind, self.rules[kind].release(state, key))
        self.arrays.backs[number * KEYS + key] = after
        return after

    def _number(self, kind: int, state: Hashable) -> int:
        number = self._numbers.get((kind, state))
        if number is None:
            number = self._numbers[kind, state] = len(self._states)
            self._states.append((kind, state))
            clock = self.arrays.clock
            clock["states"] = number + 1
            if number + 1 + int(clock["headroom"][0]) > len(self.arrays.gpu_states):
                clock["grow"] = 1
        return number


class EngineRun(NamedTuple):
    """A run before its first event, the tables of its GPUs, and each link's background that is to come."""

    state: PlatformState
    gpus: GpuTables
    background: list[Blocks]


def make_run(
    system: ServerlessSystem, run: PlatformRunOptions, by_length: bool, scaler: Scaler | None
) -> EngineRun:
    """Return the arrays of a run."""
    _check_sizes(system)
    arrival_s, application = calls(system, run.most, run.replication)
    clock = _clock(system, run, arrival_s, scaler)
    if by_length:
        clock["memo_length"], clock["memo_plans"] = int(system.space.batch.max()), MEMO_PLANS
    gpus = kinds_of_gpu(system)
    queues, lists = _queues(system, application)
    links, background = _links(system, run.replication, clock)
    state = PlatformState(
        clock=clock,
        queues=queues,
        rows=_records(layout.ROW, FIRST_ROWS + int(clock["headroom"][0])),
        ranked=_ints(0, FIRST_EVENTS + int(clock["headroom"][0])),
        configurations=_configurations(system),
        cold_start_s=np.array([f.cold_start_s for f in system.functions], dtype=np.float64),
        needs=np.array(system.memory.container_bytes if system.memory else [0], dtype=np.int64),
        cpu_s=np.ascontiguousarray(system.cpu_s),
        routes=np.array(routes(system), dtype=np.int64),
        memo=_ints(-1, len(queues) * int(((clock["memo_length"] + 1) * clock["memo_plans"])[0])),
        **lists,
        **links,
        **_calls(system, run, arrival_s, application),
        **_gpus(system, gpus, clock),
        **_standing(system, scaler, clock),
        **(kept := _first_containers(system, clock)),
        **_first_events(clock, float(arrival_s[0]), int(application[0]), kept["containers"]),
    )
    tables = GpuTables(gpus, state)
    _empty_gpus(system, state, tables)
    return EngineRun(state, tables, background)


def _calls(system: ServerlessSystem, run: PlatformRunOptions, arrival_s: Floats, application: Ints) -> Arrays:
    apps = system.applications
    stages = np.array([app.stages for app in apps])
    n, width, jobs = len(arrival_s), int(stages.max()), int(stages[application].sum())
    before = np.zeros((len(apps), width), dtype=np.int64)
    for at, stage in system.queues:
        before[at, stage] = len(apps[at].dag.predecessors[stage])
    return {
        "arrival_s": np.ascontiguousarray(arrival_s),
        "application": application,
        "left": stages[application],
        "waiting": before[application].ravel(),
        "noise": noise_factors(system, application, run.replication).ravel(),
        "completion_s": np.full(n, np.nan),
        "dropped_s": np.full(n, np.nan),
        "carried": _ints(-1, n),
        "joined_s": np.zeros(n * width),
        "log_s": np.zeros(jobs),
        "batches": _records(layout.BATCH, jobs),
        **{name: _ints(-1, n * width) for name in ("served", "next", "least_next", "least_before")},
    }


def _gpus(system: ServerlessSystem, gpus: list[Gpu[Any]], clock: Records) -> Arrays:
    """All GPUs, of which nothing is known yet, and what batches take on them."""
    many, width, vcpus = len(system.invokers), int(clock["gpus"][0]), [n.vcpus for n in system.invokers]
    sizes = min(layout.MOST_SLOTS, max(gpu.whole for gpu in gpus)) + 1
    crowd = max(vcpus) if any(gpu.couples for gpu in gpus) else 0
    clock["sizes"], clock["keys"], clock["crowd"] = sizes, KEYS, crowd
    states = FIRST_STATES + int(clock["headroom"][0])
    return {
        "invokers": _invokers(system),
        "gpus": _records(layout.GPU, many * width),
        "gpu_states": _records(layout.GPU_STATE, states),
        "parts": _records(layout.PART, states * sizes),
        "backs": _ints(-1, states * KEYS),
        "active": _ints(-1, many * width * crowd),
        "speeds": _speeds(gpus, sizes),
        "gpu_s": _gpu_seconds(system, sizes),
    }


def _standing(system: ServerlessSystem, scaler: Scaler | None, clock: Records) -> Arrays:
    headroom, shape = int(clock["headroom"][0]), (len(system.queues), len(system.space))
    return {
        "instances": _records(layout.INSTANCE, headroom + FIRST_ROWS if scaler else 0),
        "stops": _ints(-1, headroom),
        "service_most": np.full(shape, np.nan),
        "service_timeout_s": np.zeros(shape),
        "by_jobs": padded(system) if scaler else np.zeros((0, 0, 0), dtype=np.int64),
    }


#: What grows, with the count of it that is in use; by state of a GPU there are several rows.
_GROWN = {
    "event_s": "coming",
    "event_key": "coming",
    "lives": "lives",
    "spells": "spells",
    "messages": "messages",
    "instances": "instances",
    "gpu_states": "states",
    "parts": "states",
    "backs": "states",
    "rows": "plans",
    "ranked": "listed",
}


def with_room(state: PlatformState) -> PlatformState:
    """Return the same with room again for all that was to become short."""
    clock = state.clock
    clock["grow"], headroom = 0, int(clock["headroom"][0])
    grown = {}
    for name, count in _GROWN.items():
        per = {"parts": int(clock["sizes"][0]), "backs": KEYS}.get(name, 1)
        if int(clock[count][0]) + headroom > len(getattr(state, name)) // per:
            grown[name] = _doubled(getattr(state, name), -1 if name == "backs" else 0)
    return state._replace(**grown)


def _doubled(array: Records, fill: int = 0) -> Records:
    more = np.zeros_like(array) if fill == 0 else np.full_like(array, fill)
    return np.concatenate([array, more])


def _records(dtype: np.dtype[Any], count: int) -> Records:
    return np.zeros(count, dtype=dtype)


def _ints(value: int, count: int) -> Ints:
    return np.full(count, value, dtype=np.int64)


def _check_sizes(system: ServerlessSystem) -> None:
    most = (
        ("applications", len(system.applications), layout.MOST_APPLICATIONS),
        ("invokers", len(system.invokers), layout.MOST_APPLICATIONS),
        ("functions", len(system.functions), layout.MOST_STAGES),
        ("stages of an application", max(app.stages for app in system.applications), layout.MOST_STAGES),
        ("vGPUs of a GPU", max(node.vgpus for node in system.invokers), layout.MOST_SLOTS + 1),
    )
    for what, count, limit in most:
        if count >= limit:
            raise SimulationError(
                f"Serverless: {count} {what} are more than a run can have; use at most {limit - 1}."
            )


def _clock(
    system: ServerlessSystem, run: PlatformRunOptions, arrival_s: Floats, scaler: Scaler | None
) -> Records:
    clock = _records(layout.CLOCK, 1)
    dispatch, kept, way, nodes = system.dispatch, system.containers, system.transfer, system.invokers
    first, end = run.first, run.first + run.calls
    vcpus = sum(node.vcpus for node in nodes)
    slo_s = max(app.slo_s for app in system.applications)
    values: dict[str, float] = {
        "queues": len(system.queues),
        "invokers": len(nodes),
        "gpus": max(1, *(node.gpus for node in nodes)),
        "width": max(app.stages for app in system.applications),
        "functions": len(system.functions),
        # What one event or one queue adds at most: each dispatch and each instance holds a vCPU.
        "headroom": 4 * vcpus + 2 * len(system.queues) + len(nodes) + len(system.space) + 64,
        "calls": len(arrival_s),
        "first": first,
        "end": end,
        "limit": dispatch.rechecks,
        "partial": dispatch.partial,
        "blocking": dispatch.blocking,
        "by_slack": dispatch.order == "least-slack",
        "drops": LATE.find(dispatch.late).drops,
        "limited": system.memory is not None,
        "ready_first": looks_for_slices(system),
        "stands": scaler is not None,
        "spare": kept.spare if kept.prewarm == "spare" else 0,
        "predicts": kept.prewarm == "ewma",
        "ring": max(kept.warm, max(node.vcpus for node in nodes) + kept.spare + 2) + 1,
        "open_measured": run.calls,
        "served": len(system.queues) - 1,
        "start_s": arrival_s[first],
        "end_s": arrival_s[end - 1],
        "stop_s": arrival_s[end - 1] + TAIL_SLOS * slo_s,
        "next_snapshot_s": np.inf if run.snapshot_s is None else run.snapshot_s,
        "keep_s": kept.keep_alive,
        "weight": kept.ewma_weight,
        "every_s": scaler.every_s if scaler else 0.0,
        "window_s": scaler.window_s if scaler else 0.0,
        "local_latency_s": way.local_latency,
        "local_bandwidth": way.local_bandwidth,
        "remote_latency_s": way.remote_latency,
        "remote_bandwidth": way.remote_bandwidth,
    }
    for name, value in values.items():
        clock[name] = value
    return clock


def _invokers(system: ServerlessSystem) -> Records:
    nodes = system.invokers
    kinds = list(dict.fromkeys(nodes))
    rows = _records(layout.INVOKER, len(nodes))
    rows["kind"] = [kinds.index(node) for node in nodes]
    rows["gpus"], rows["free_vcpus"] = [node.gpus for node in nodes], [node.vcpus for node in nodes]
    if system.memory is not None:
        rows["memory"] = system.memory.node_bytes
    return rows


def _empty_gpus(system: ServerlessSystem, state: PlatformState, tables: GpuTables) -> None:
    """All GPUs are in their empty states, and the invokers have what these have."""
    width = int(state.clock["gpus"][0])
    for number, node in enumerate(system.invokers):
        own = state.invokers[number]
        empty = tables.empty[own["kind"]]
        gpu, of = tables.state(empty)[0], state.gpu_states[empty]
        rows = slice(number * width, number * width + node.gpus)
        state.gpus["state"][rows], state.gpus["mask"][rows] = empty, (1 << gpu.whole) - 1
        own["free_vgpus"] = gpu.vgpus * node.gpus
        if node.gpus:
            own["fits"], own["ready"] = of["fits"], of["ready"]
        own["stranded"] = of["stranded"] * node.gpus if node.vcpus else own["free_vgpus"]
    state.clock["stranded"] = state.invokers["stranded"].sum()


def _configurations(system: ServerlessSystem) -> Records:
    rows = _records(layout.CONFIGURATION, len(system.space))
    for name in ("batch", "vcpus", "vgpus"):
        rows[name] = getattr(system.space, name)
    rows["refused"] = -1
    return rows


def _gpu_seconds(system: ServerlessSystem, sizes: int) -> Floats:
    """(kinds of invoker, F, C, vGPUs held) Seconds on the GPU; a slice may be larger than was asked for."""
    kinds = kinds_of_gpu(system)
    seconds = np.repeat(np.array([gpu_seconds(system, gpu) for gpu in kinds])[..., None], sizes, axis=3)
    for kind, gpu in enumerate(kinds):
        for number, own in enumerate(system.space.configurations):
            for vgpus in gpu.may_hold(own):
                if vgpus > own.vgpus:
                    for function in range(len(system.functions)):
                        on_it = larger_slice_s(system, function, number, vgpus)
                        seconds[kind, function, number, vgpus] = on_it
    return seconds


def _speeds(gpus: list[Gpu[Any]], sizes: int) -> Floats:
    """(kinds, vGPUs of a batch, vGPUs that compute) Speeds; where batches do not slow each other, none."""
    if not any(gpu.couples for gpu in gpus):
        return np.ones((1, 1, 1))
    speeds = np.ones((len(gpus), sizes, max(gpu.vgpus for gpu in gpus) + 1))
    for kind, gpu in enumerate(gpus):
        for vgpus in range(1, sizes):
            for active in range(vgpus, gpu.vgpus + 1):
                speeds[kind, vgpus, active] = gpu.speed(vgpus, active)
    return speeds


def padded(system: ServerlessSystem) -> Ints:
    """(F, C, jobs − 1) The configuration whose time so many jobs take on an instance of a configuration.

    That with the least batch that holds them, on the same vCPUs and vGPUs, among those that the function
    has a time for; c itself at most.
    """
    space, timed = system.space, np.isfinite(system.time_s)
    size: dict[tuple[int, int], list[int]] = {}
    for number, c in enumerate(space.configurations):  # in increasing order of batches
        size.setdefault((c.vcpus, c.vgpus), []).append(number)
    table = np.zeros((*timed.shape, int(space.batch.max())), dtype=np.int64)
    for function, row in enumerate(timed):
        for number, c in enumerate(space.configurations):
            same = [n for n in size[c.vcpus, c.vgpus] if row[n] or n == number]
            for jobs in range(1, c.batch + 1):
                table[function, number, jobs - 1] = next(n for n in same if space[n].batch >= jobs)
    return table


def _first_containers(system: ServerlessSystem, clock: Records) -> Arrays:
    """Containers that are warm at the start: as many as fit into memory, one of each function in turn."""
    functions, many, warm = len(system.functions), len(system.invokers), system.containers.warm
    idle = np.full((functions, many), 0 if system.memory else warm)
    if system.memory is not None:
        for invoker, room in enumerate(system.memory.node_bytes):
            for function, needs in [*enumerate(system.memory.container_bytes)] * warm:
                if needs <= room:
                    idle[function, invoker] += 1
                    room -= needs
    containers, count = _records(layout.CONTAINER, functions * many), int(idle.sum())
    containers["idle"] = idle.ravel()
    for name in ("check_s", "last_s", "gap_s"):
        containers[name] = -1.0
    containers["check_s"][containers["idle"] > 0] = system.containers.keep_alive
    room = count + int(clock["headroom"][0]) + FIRST_EVENTS
    lives, spells = _records(layout.LIFE, room), _records(layout.SPELL, room)
    rings, life = np.zeros((functions * many, int(clock["ring"][0])), dtype=np.int64), 0
    for place, here in enumerate(containers["idle"].tolist()):
        rings[place, :here] = own = np.arange(life, life + here)
        lives["function"][own], lives["invoker"][own] = divmod(place, many)
        life += here
    lives["configuration"][:count] = spells["configuration"][:count] = system.space.smallest
    lives["spell"][:count] = spells["container"][:count] = np.arange(count)
    lives["gone_s"][:count] = spells["until_s"][:count] = np.nan
    clock["lives"] = clock["spells"] = count
    ring = rings.ravel()
    of = {"containers": containers, "lives": lives, "spells": spells}
    return of | {"idle": ring, "starting": np.zeros_like(ring)}


def _first_events(clock: Records, arrival_s: float, application: int, containers: Records) -> Arrays:
    """Return the first call arrives; containers of the start expire; instances are looked at.

    Sorted, they are a heap.
    """
    invokers = int(clock["invokers"][0])
    events = [(arrival_s, key_of(layout.ARRIVAL, application, 0, 0))]
    for place, check_s in enumerate(containers["check_s"].tolist()):
        if check_s >= 0:
            events.append((check_s, key_of(layout.CONTAINERS, place % invokers, place // invokers, 0)))
    if clock["stands"][0]:
        events.append((float(clock["every_s"][0]), key_of(layout.SCALE, 0, 0, 1)))
    clock["coming"] = len(events)
    room = np.zeros(FIRST_EVENTS + int(clock["headroom"][0]))
    times, keys = zip(*sorted(events), strict=True)
    return {
        "event_s": np.append(np.array(times), room),
        "event_key": np.append(np.array(keys, dtype=np.int64), room.astype(np.int64)),
    }


def _links(system: ServerlessSystem, replication: int, clock: Records) -> tuple[Arrays, list[Blocks]]:
    """Return the links of a shared network, their first background, the paths between invokers.

    Else nothing.
    """
    network, n = system.network, len(system.invokers)
    shares = _ints(0, n + 1)
    if network is None:
        none_s, nowhere = np.full((1, 1), np.inf), np.zeros((1, 1), dtype=np.int64)
        nothing = {"links": _records(layout.LINK, 0), "messages": _records(layout.MESSAGE, 0)}
        nothing |= {"background_s": none_s, "background_work_s": none_s}
        return nothing | {"paths": nowhere, "slowest": np.ones(1), "shares": shares}, []
    capacity = network.topology.link_capacity
    streams = RandomStreams(system.seed, replication)
    background = [background_blocks(stream, streams, *name) for name, stream in network.streams]
    blocks = [next(source, (np.array([np.inf]), np.zeros(1))) for source in background]
    width = max(len(times) for times, _ in blocks)
    background_s, work_s = np.full((len(capacity), width), np.inf), np.zeros((len(capacity), width))
    links = _records(layout.LINK, len(capacity))
    for link, (times, sizes) in enumerate(blocks):
        background_s[link, : len(times)], work_s[link, : len(times)] = times, sizes / capacity[link]
    links["capacity"], links["next_s"], links["next_work_s"] = capacity, background_s[:, 0], work_s[:, 0]
    every = [network.path(source, at) if source != at else () for source in range(-1, n) for at in range(n)]
    hops = max(map(len, every))
    paths = np.array([path + (-1,) * (hops - len(path)) for path in every], dtype=np.int64)
    slowest = np.array([min((float(capacity[k]) for k in path), default=1.0) for path in every])
    clock["links"], clock["hops"], clock["latency_s"] = len(links), hops, network.latency_s
    messages = _records(layout.MESSAGE, FIRST_EVENTS + int(clock["headroom"][0]))
    arrays = {"links": links, "background_s": background_s, "background_work_s": work_s}
    return arrays | {"paths": paths, "slowest": slowest, "shares": shares, "messages": messages}, background


def _queues(system: ServerlessSystem, application: Ints) -> tuple[Records, Arrays]:
    apps, spec = system.applications, system.dispatch
    rows = _records(layout.QUEUE, len(system.queues))
    number = {pair: q for q, pair in enumerate(system.queues)}
    rows["application"], rows["stage"] = np.array(system.queues).T
    before = [apps[a].dag.predecessors[s] for a, s in system.queues]
    rules = [[layout.RULES.index(r) for r in (spec.later if b else spec.first)] for b in before]
    rows["function"] = [apps[a].function[s] for a, s in system.queues]
    rows["input_bytes"] = [apps[a].input_bytes[s] for a, s in system.queues]
    rows["slo_s"] = [apps[a].slo_s for a, _ in system.queues]
    rows["asks_all"] = [layout.WALK in own or layout.MOST_FREE in own for own in rules]
    if LATE.find(spec.late).drops:
        rows["least_left_s"] = least_left_s(system)
    joins = np.bincount(application, minlength=len(apps))[rows["application"]]
    rows["log"] = np.cumsum(joins) - joins
    parts: dict[str, Iterable[Iterable[int]]] = {
        "rule": rules,
        "before": before,
        "after": [[number[a, v] for v in apps[a].dag.successors[s]] for a, s in system.queues],
    }
    lists = {}
    for name, of in parts.items():
        lists[name], starts = _joined(of)
        rows[name], rows[f"{name}s"] = starts[:-1], np.diff(starts)
    for name in ("head", "tail", "least_head", "least_tail", "row", "first_instance", "last_instance"):
        rows[name] = -1
    lists["rules"] = lists.pop("rule")
    lists["entry"], lists["entries"] = _joined(
        [number[a, s] for s in app.entries] for a, app in enumerate(apps)
    )
    width = max(app.stages for app in apps)
    lists["queue_at"] = np.array(
        [[number.get((a, s), -1) for s in range(width)] for a in range(len(apps))], dtype=np.int64
    )
    return rows, lists


def _joined(lists: Iterable[Iterable[int]]) -> tuple[Ints, Ints]:
    """All lists behind each other, and where each begins; the last is where all end."""
    kept = [list(own) for own in lists]
    flat = np.array([x for own in kept for x in own], dtype=np.int64)
    return flat, np.cumsum([0, *map(len, kept)], dtype=np.int64)
