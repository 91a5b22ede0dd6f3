"""The state of the loop, and its parts: heap of events, queues, containers, invokers.

Queues, invokers, functions, configurations and calls have the numbers that the plain engine gives them. A
*place* is call · width + stage. A *row* is a plan that the planner has given. −1 stands for none.

Containers become idle in order of time, and so do those that start become ready: a function's cold start is
always as long, and a predicted one starts only where there is no other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Why the loop came back.
DONE, ROOM, STOPPED, NO_TIME = range(4)
# What a planner answers instead of a row; what a search for an invoker answers instead of one.
STOP, WAITS, NOWHERE = -1, -2, -3
# What the loop tells: calls have arrived; snapshots are due.
PROGRESS, SNAPSHOTS = range(2)
# Kinds of events: as in :mod:`nona.serverless.engine.events`, but what is compiled reads nothing elsewhere.
END, GPU_PHASE, ARRIVAL, CONTAINERS, DECISION, WAIT_OVER = range(6)
RULES = ("home", "predecessor", "warm", "walk", "most-free")
HOME, PREDECESSOR, WARM, WALK, MOST_FREE = range(len(RULES))
SMALLEST_ROW = 0  # the row of the smallest configuration, which is forced
RECENT_MASK = 63  # the last 64 jobs of a queue are in a ring

# An event's key is (kind, application, stage, number), as in the plain engine, in one whole number.
KIND_BIT, APPLICATION_BIT, STAGE_BIT = 59, 45, 33
MOST_APPLICATIONS = 1 << (KIND_BIT - APPLICATION_BIT)
MOST_STAGES = 1 << (APPLICATION_BIT - STAGE_BIT)
MOST_SLOTS = 62  # bits of a whole number that a GPU's vGPUs may take

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Records = Any


def _record(**fields: str) -> np.dtype[Any]:
    """Fields by kind: ``f`` floats, ``i`` whole numbers."""
    kinds = {"f": "f8", "i": "i8"}
    return np.dtype([(name, kinds[kind]) for kind, part in fields.items() for name in part.split()])


#: All that there is one of: sizes and rules, counts, the window's sums.
CLOCK = _record(
    i=(
        "queues invokers gpus width configurations calls first end limit partial blocking by_slack places "
        "spare predicts ring memo_length memo_plans report_every "
        "coming batches arrived completed hits open_measured served pending searches serving stamp grow "
        "busy_vcpus busy_vgpus stranded cold_starts prewarms rechecks misses planned stories_left "
        "rule wait_for bad_configuration bad_function"
    ),
    f=(
        "now_s start_s end_s stop_s last_s next_snapshot_s keep_s weight wait_s over_s "
        "local_latency_s local_bandwidth remote_latency_s remote_bandwidth "
        "vcpu_area vgpu_area stranded_area"
    ),
)
#: An AFW queue: a list of places from ``head`` on, and the candidates for its oldest call from
#: ``least_head`` on. ``row``, ``asked_carried``, ``forced``, ``decided_s``: the decision under way.
QUEUE = _record(
    i=(
        "application stage function before befores after afters rule rules "
        "head tail length least_head least_tail recent recent_at "
        "asks_all pending recheck searching wait waits wait_for failed missed row asked_carried forced"
    ),
    f="input_bytes slo_s last_s area decided_s",
)
#: An invoker; ``most``: the vGPUs that are free on one GPU.
INVOKER = _record(i="kind free_vcpus free_vgpus stranded most")
#: The containers of a function on an invoker: rings of when each became idle, and will be ready.
CONTAINER = _record(i="idle idle_at starting starting_at busy", f="check_s last_s gap_s")
#: A batch: what is written down of it, then what its end needs.
BATCH = _record(
    i=(
        "application stage invoker gpu configuration jobs slots cold missed forced local steps "
        "queue function place"
    ),
    f="queued_s decided_s dispatched_s started_s ended_s search_s setup_s transfer_s",
)
#: A plan: its configurations lie in ``ranked`` from ``first`` on; ``carry``: a number of a carried plan.
ROW = _record(i="first count steps carry missed", f="search_s")
#: A configuration; ``refused``: the stamp at which no invoker had room for it.
CONFIGURATION = _record(i="batch vcpus vgpus refused")


class State(NamedTuple):
    """A run. Sizes: Q queues, N invokers, F functions, C configurations, n calls of ``width`` stages.

    By place: ``noise``, ``waiting`` (stages before it that have not ended), ``served`` (its batch),
    ``joined_s``, ``next`` in its queue, ``least_next`` and ``least_before`` among the candidates for the
    oldest. ``gpu_s`` is (kinds of invoker, F, C). ``memo``: rows by queue, length and carried plan.
    """

    clock: Records
    queues: Records
    invokers: Records
    containers: Records  # (F · N,)
    batches: Records
    rows: Records
    configurations: Records
    event_s: Floats
    event_key: Ints
    idle_s: Floats  # (F · N · ring,)
    starting_s: Floats  # (F · N · ring,)
    recent_s: Floats  # (Q · 64,)
    gpu_free: Ints  # (N · most GPUs,)
    gpu_slots: Ints
    arrival_s: Floats
    application: Ints
    left: Ints
    carried: Ints
    completion_s: Floats
    noise: Floats
    waiting: Ints
    served: Ints
    joined_s: Floats
    next: Ints
    least_next: Ints
    least_before: Ints
    cold_start_s: Floats
    cpu_s: NDArray[Any]  # (F, C)
    gpu_s: NDArray[Any]
    rules: Ints
    routes: NDArray[Any]  # (F, N)
    before: Ints  # stages
    after: Ints  # queues
    queue_at: NDArray[Any]  # (A, most stages)
    entries: NDArray[Any]  # (A + 1,) where an application's entry queues begin in ``entry``
    entry: Ints
    ranked: Ints
    memo: Ints


def push(s: State, time_s: float, key: int) -> None:
    """An event is to come."""
    c = s.clock[0]
    i = c.coming
    c.coming = i + 1
    while i > 0:
        up = (i - 1) >> 1
        if s.event_s[up] < time_s or (s.event_s[up] == time_s and s.event_key[up] < key):
            break
        s.event_s[i], s.event_key[i] = s.event_s[up], s.event_key[up]
        i = up
    s.event_s[i], s.event_key[i] = time_s, key


def drop_first(s: State) -> None:
    """The first event has happened."""
    c = s.clock[0]
    n = c.coming - 1
    c.coming = n
    time_s, key = s.event_s[n], s.event_key[n]
    i = 0
    while True:
        k = 2 * i + 1
        if k >= n:
            break
        if k + 1 < n and _is_before(s, k + 1, s.event_s[k], s.event_key[k]):
            k += 1
        if not _is_before(s, k, time_s, key):
            break
        s.event_s[i], s.event_key[i] = s.event_s[k], s.event_key[k]
        i = k
    s.event_s[i], s.event_key[i] = time_s, key


def _is_before(s: State, i: int, time_s: float, key: int) -> bool:
    """Return whether the i-th entry comes before an event."""
    return bool(s.event_s[i] < time_s or (s.event_s[i] == time_s and s.event_key[i] < key))


def key_of(kind: int, application: int, stage: int, number: int) -> int:
    """The key of an event."""
    return (kind << KIND_BIT) + (application << APPLICATION_BIT) + (stage << STAGE_BIT) + number


def join(s: State, queue: int, call: int) -> None:
    """A call joins a queue; of those that join at one instant the one with the least number is first."""
    c, q = s.clock[0], s.queues[queue]
    account_queue(s, queue)
    s.recent_s[queue * (RECENT_MASK + 1) + q.recent_at] = c.now_s
    q.recent_at = (q.recent_at + 1) & RECENT_MASK
    q.recent = min(q.recent + 1, RECENT_MASK + 1)
    place, tail = call * c.width + q.stage, q.tail
    s.joined_s[place] = c.now_s
    q.length += 1
    if q.length == 1:
        q.head, q.tail, q.least_head, q.least_tail = place, place, -1, -1
        _add_least(s, queue, place)
    elif tail > place and s.joined_s[tail] == c.now_s:
        _squeeze_in(s, queue, place)
    else:
        s.next[tail] = place
        q.tail = place
        _add_least(s, queue, place)


def _squeeze_in(s: State, queue: int, place: int) -> None:
    """Put a place before those of this instant that are larger; then find the candidates again."""
    now_s, q = s.clock[0].now_s, s.queues[queue]
    before, at = -1, q.head
    while s.joined_s[at] != now_s or at < place:
        before, at = at, s.next[at]
    s.next[place] = at
    if before < 0:
        q.head = place
    else:
        s.next[before] = place
    q.least_head, q.least_tail, at = -1, -1, q.head
    for _ in range(q.length):
        _add_least(s, queue, at)
        at = s.next[at]


def _add_least(s: State, queue: int, place: int) -> None:
    """Add a call to the candidates for the oldest: calls still here that no later one undercuts."""
    q = s.queues[queue]
    while q.least_tail > place:
        q.least_tail = s.least_before[q.least_tail]
    s.least_before[place] = q.least_tail
    if q.least_tail < 0:
        q.least_head = place
    else:
        s.least_next[q.least_tail] = place
    q.least_tail = place


def leave(s: State, queue: int, count: int) -> None:
    """The first ``count`` calls leave; their places stay linked."""
    q = s.queues[queue]
    account_queue(s, queue)
    for _ in range(count):
        place = q.head
        if q.least_head == place:
            if q.least_tail == place:
                q.least_head, q.least_tail = -1, -1
            else:
                q.least_head = s.least_next[place]
                s.least_before[q.least_head] = -1
        q.head = s.next[place]
    q.length -= count


def account_queue(s: State, queue: int) -> None:
    """Add the time since the last change to the area, as far as it lies in the window."""
    c, q = s.clock[0], s.queues[queue]
    begin, until = max(q.last_s, c.start_s), min(c.now_s, c.end_s)
    if until > begin:
        q.area += q.length * (until - begin)
    q.last_s = c.now_s


def slack_s(s: State, queue: int) -> float:
    """The SLO less the age of the oldest call."""
    c, q = s.clock[0], s.queues[queue]
    return float(q.slo_s - (c.now_s - s.arrival_s[q.least_head // c.width]))


def rate(s: State, queue: int) -> float:
    """Jobs per second lately: those that followed the first of the last 64, per time since it."""
    q, now_s = s.queues[queue], s.clock[0].now_s
    first = (q.recent_at - q.recent) & RECENT_MASK
    since_s = s.recent_s[queue * (RECENT_MASK + 1) + first]
    if q.recent < 2 or now_s <= since_s:
        return 0.0
    return float((q.recent - 1) / (now_s - since_s))


def take_container(s: State, invoker: int, function: int) -> bool:
    """Take a container for a batch; return whether one has to start."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept, inside = s.containers[place], c.start_s <= c.now_s <= c.end_s
    cold = kept.idle == 0
    if cold:
        c.cold_starts += inside
    else:
        kept.idle -= 1
    kept.busy += 1
    if c.predicts:
        learn(s, place)
    if kept.idle + kept.starting < c.spare:
        start(s, invoker, function, c.now_s + s.cold_start_s[function])
        c.prewarms += inside
    return bool(cold)


def give_back_container(s: State, invoker: int, function: int) -> None:
    """A batch ends; its container is idle."""
    place = function * s.clock[0].invokers + invoker
    s.containers[place].busy -= 1
    _become_idle(s, place)
    check(s, invoker, function)


def containers_due(s: State, invoker: int, function: int) -> None:
    """Containers whose start has ended are idle, those idle for too long are removed."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept, base, gone = s.containers[place], place * c.ring, False
    while kept.starting > 0 and s.starting_s[base + kept.starting_at] <= c.now_s:
        kept.starting_at = (kept.starting_at + 1) % c.ring
        kept.starting -= 1
        _become_idle(s, place)
    while kept.idle > 0 and s.idle_s[base + kept.idle_at] + c.keep_s <= c.now_s:
        kept.idle_at = (kept.idle_at + 1) % c.ring
        kept.idle -= 1
        gone = True
    if kept.check_s <= c.now_s:
        kept.check_s = -1.0
    changed = check(s, invoker, function)
    if gone and c.predicts and kept.idle + kept.starting + kept.busy == 0:
        changed = _predict(s, invoker, function) or changed
    if changed and kept.idle == 0 and c.start_s <= c.now_s <= c.end_s:
        c.prewarms += 1


def _become_idle(s: State, place: int) -> None:
    """One more is idle, from now on."""
    c, kept = s.clock[0], s.containers[place]
    s.idle_s[place * c.ring + (kept.idle_at + kept.idle) % c.ring] = c.now_s
    kept.idle += 1


def check(s: State, invoker: int, function: int) -> bool:
    """Schedule the look for the expiry of the longest idle container; return whether the look is new."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept = s.containers[place]
    if kept.check_s >= 0 or kept.idle == 0:
        return False
    kept.check_s = s.idle_s[place * c.ring + kept.idle_at] + c.keep_s
    push(s, kept.check_s, key_of(CONTAINERS, invoker, function, 0))
    return True


def start(s: State, invoker: int, function: int, ready_s: float) -> None:
    """A container starts that no batch waits for."""
    c = s.clock[0]
    place = function * c.invokers + invoker
    kept = s.containers[place]
    s.starting_s[place * c.ring + (kept.starting_at + kept.starting) % c.ring] = ready_s
    kept.starting += 1
    push(s, ready_s, key_of(CONTAINERS, invoker, function, 0))


def learn(s: State, place: int) -> None:
    """The mean gap between batches, the later ones counting more."""
    c, kept = s.clock[0], s.containers[place]
    if kept.last_s >= 0:
        gap_s = c.now_s - kept.last_s
        kept.gap_s = gap_s if kept.gap_s < 0 else c.weight * gap_s + (1 - c.weight) * kept.gap_s
    kept.last_s = c.now_s


def _predict(s: State, invoker: int, function: int) -> bool:
    """The last container is gone: start one so that it is ready for the next batch, unless that is past."""
    c = s.clock[0]
    kept = s.containers[function * c.invokers + invoker]
    next_s = kept.last_s + kept.gap_s
    if kept.gap_s < 0 or next_s <= c.now_s:
        return False
    start(s, invoker, function, max(next_s, c.now_s + s.cold_start_s[function]))
    return True


def find_invoker(s: State, queue: int, configuration: int, predecessor: int) -> int:
    """The first invoker with room in the order of the queue's rules, or −1."""
    c, q = s.clock[0], s.queues[queue]
    wanted = s.configurations[configuration]
    if wanted.refused == c.stamp:
        return -1
    for at in range(q.rule, q.rule + q.rules):
        invoker = _by_rule(s, s.rules[at], q.function, configuration, predecessor)
        if invoker >= 0:
            return invoker
    if q.asks_all:
        wanted.refused = c.stamp  # nobody will have room until something is released
    return -1


def _by_rule(s: State, rule: int, function: int, configuration: int, predecessor: int) -> int:
    """The first invoker with room that a rule names, or −1."""
    invokers = s.clock[0].invokers
    if rule == HOME:
        home = s.routes[function, 0]
        return home if has_room(s, home, configuration) else -1
    if rule == PREDECESSOR:
        return predecessor if predecessor >= 0 and has_room(s, predecessor, configuration) else -1
    if rule == WARM:
        for i in range(invokers):
            if s.containers[function * invokers + i].idle > 0 and has_room(s, i, configuration):
                return i
        return -1
    if rule == WALK:
        for k in range(invokers):
            if has_room(s, s.routes[function, k], configuration):
                return int(s.routes[function, k])
        return -1
    return _most_free(s, configuration)


def has_room(s: State, invoker: int, configuration: int) -> bool:
    """Return whether the vCPUs are free, and one GPU has the vGPUs."""
    own, wanted = s.invokers[invoker], s.configurations[configuration]
    return bool(own.free_vcpus >= wanted.vcpus and own.most >= wanted.vgpus)


def _most_free(s: State, configuration: int) -> int:
    """Return the invoker with room and most free vGPUs, then most free vCPUs, then the first; or −1."""
    best = -1
    for i in range(s.clock[0].invokers):
        if has_room(s, i, configuration):
            own, other = s.invokers[i], s.invokers[best]
            if best < 0 or (own.free_vgpus, own.free_vcpus) > (other.free_vgpus, other.free_vcpus):
                best = i
    return best


def take_resources(s: State, invoker: int, configuration: int) -> tuple[int, int]:
    """(GPU, slots) for a batch that has room: of the fullest GPU that has enough, the lowest free ones."""
    gpus, wanted = s.clock[0].gpus, s.configurations[configuration]
    vgpus, gpu = wanted.vgpus, -1
    for at in range(invoker * gpus, (invoker + 1) * gpus):
        if s.gpu_free[at] >= vgpus and (gpu < 0 or s.gpu_free[at] < s.gpu_free[gpu]):
            gpu = at
    mask, slots = s.gpu_slots[gpu], 0
    for _ in range(vgpus):
        low = mask & -mask
        slots |= low
        mask ^= low
    s.gpu_slots[gpu] = mask
    _change(s, invoker, gpu, -wanted.vcpus, -vgpus)
    return gpu - invoker * gpus, slots


def give_back_resources(s: State, number: int) -> None:
    """End a batch: its resources are free again."""
    c, batch = s.clock[0], s.batches[number]
    freed, gpu = s.configurations[batch.configuration], batch.invoker * c.gpus + batch.gpu
    s.gpu_slots[gpu] |= batch.slots
    c.stamp += 1
    _change(s, batch.invoker, gpu, freed.vcpus, freed.vgpus)


def _change(s: State, invoker: int, gpu: int, vcpus: int, vgpus: int) -> None:
    """So many more are free."""
    c, own = s.clock[0], s.invokers[invoker]
    account_held(s)
    own.free_vcpus += vcpus
    own.free_vgpus += vgpus
    s.gpu_free[gpu] += vgpus
    own.most = 0
    for at in range(invoker * c.gpus, (invoker + 1) * c.gpus):
        own.most = max(own.most, s.gpu_free[at])
    c.busy_vcpus -= vcpus
    c.busy_vgpus -= vgpus
    stranded = 0 if own.free_vcpus > 0 else own.free_vgpus
    c.stranded += stranded - own.stranded
    own.stranded = stranded


def account_held(s: State) -> None:
    """Add the time since the last change to the areas, as far as it lies in the window."""
    c = s.clock[0]
    begin, until = max(c.last_s, c.start_s), min(c.now_s, c.end_s)
    if until > begin:
        length_s = until - begin
        c.vcpu_area += c.busy_vcpus * length_s
        c.vgpu_area += c.busy_vgpus * length_s
        c.stranded_area += c.stranded * length_s
    c.last_s = c.now_s
