"""Invokers' vCPUs and GPUs: which invoker takes a batch, what it gets, batches that slow each other down.

A GPU goes from state to state by tables (:class:`nona.cluster.sharing.pool.Gpu`), which are asked for when a
state first occurs.
"""

from __future__ import annotations

from collections.abc import Callable

from nona.serverless.engine.containers import has_memory
from nona.serverless.engine.layout import (
    BACK,
    END,
    HOME,
    PREDECESSOR,
    STATE,
    WALK,
    WARM,
    PlatformState,
    key_of,
)
from nona.serverless.engine.queues import push

PolicyCall = Callable[..., int]
ANY, READY_ONLY, OTHERS = range(3)  # which invokers a round asks


def find_invoker(s: PlatformState, queue: int, configuration: int, predecessor: int) -> int:
    """Return the first invoker with room in the order of the queue's rules, or −1.

    Where slices have to be made, invokers that need not come first.
    """
    c, q = s.clock[0], s.queues[queue]
    wanted = s.configurations[configuration]
    if wanted.refused == c.stamp:
        return -1
    c.short = 0
    for way in range(READY_ONLY, OTHERS + 1) if c.ready_first else range(ANY, ANY + 1):
        for at in range(q.rule, q.rule + q.rules):
            invoker = _by_rule(s, q.function, configuration, s.rules[at], predecessor, way)
            if invoker >= 0:
                return invoker
    if q.asks_all and not c.short:
        wanted.refused = c.stamp  # nobody will have room until something is released
    return -1


def _by_rule(
    s: PlatformState, function: int, configuration: int, rule: int, predecessor: int, way: int
) -> int:
    """Return the first invoker that accepts, of those that the rule names, or −1."""
    invokers = s.clock[0].invokers
    if rule in (HOME, WALK):
        for k in range(invokers if rule == WALK else 1):
            if _accepts(s, s.routes[function, k], function, configuration, way):
                return int(s.routes[function, k])
        return -1
    if rule == PREDECESSOR:
        named = predecessor >= 0 and _accepts(s, predecessor, function, configuration, way)
        return predecessor if named else -1
    if rule == WARM:
        for i in range(invokers):
            idle = s.containers[function * invokers + i].idle > 0
            if idle and _accepts(s, i, function, configuration, way):
                return i
        return -1
    best = -1
    for i in range(invokers):
        better = best < 0 or _is_freer(s, i, best)
        if better and _accepts(s, i, function, configuration, way):
            best = i
    return best


def _accepts(s: PlatformState, invoker: int, function: int, configuration: int, way: int) -> bool:
    c, own, wanted = s.clock[0], s.invokers[invoker], s.configurations[configuration]
    enough = own.free_vcpus >= wanted.vcpus and wanted.vgpus < c.sizes
    ready = enough and (own.ready >> wanted.vgpus) & 1
    if (way == READY_ONLY and not ready) or (way == OTHERS and ready):
        return False
    short = c.limited and not has_memory(s, invoker, function)
    if short:
        c.short = 1
    return bool(not short and enough and (own.fits >> wanted.vgpus) & 1)


def _is_freer(s: PlatformState, invoker: int, other: int) -> bool:
    """Return whether it has more free vGPUs, then more free vCPUs, then comes first."""
    a, b = s.invokers[invoker], s.invokers[other]
    if a.free_vgpus != b.free_vgpus:
        return bool(a.free_vgpus > b.free_vgpus)
    return bool(a.free_vcpus > b.free_vcpus or (a.free_vcpus == b.free_vcpus and invoker < other))


def take_resources(
    s: PlatformState, invoker: int, configuration: int, ask: PolicyCall
) -> tuple[int, int, int, int, float]:
    """(GPU, slots, vGPUs, key, seconds of set-up) for a batch that has room."""
    c, wanted = s.clock[0], s.configurations[configuration]
    gpu = -1
    for at in range(invoker * c.gpus, invoker * c.gpus + s.invokers[invoker].gpus):
        own = s.parts[s.gpus[at].state * c.sizes + wanted.vgpus]
        if own.after >= 0:
            best = s.parts[s.gpus[gpu].state * c.sizes + wanted.vgpus]
            if gpu < 0 or own.rank < best.rank:
                gpu = at
    part = s.parts[s.gpus[gpu].state * c.sizes + wanted.vgpus]
    mask, slots = s.gpus[gpu].mask, part.slots
    if slots < 0:
        slots = 0
        for _ in range(part.vgpus):
            low = mask & -mask
            slots |= low
            mask ^= low
    s.gpus[gpu].mask &= ~slots
    _change(s, invoker, gpu, part.after, -wanted.vcpus, -part.vgpus, ask)
    return gpu - invoker * c.gpus, slots, part.vgpus, part.key, part.setup_s


def give_back_resources(
    s: PlatformState,
    invoker: int,
    number: int,
    slots: int,
    vgpus: int,
    key: int,
    configuration: int,
    ask: PolicyCall,
) -> None:
    """Free the resources of a batch or an instance on GPU ``number``."""
    c = s.clock[0]
    gpu = invoker * c.gpus + number
    s.gpus[gpu].mask |= slots
    state = s.gpus[gpu].state
    after = s.backs[state * c.keys + key]
    if after < 0:
        after = ask(BACK, state, key, 0)
        if after < 0:
            return
    c.stamp += 1
    _change(s, invoker, gpu, after, s.configurations[configuration].vcpus, vgpus, ask)


def _change(
    s: PlatformState, invoker: int, gpu: int, state: int, vcpus: int, vgpus: int, ask: PolicyCall
) -> None:
    """Set a GPU's state, and update the free resources."""
    c, own = s.clock[0], s.invokers[invoker]
    account_resources(s)
    s.gpus[gpu].state = state
    if not s.gpu_states[state].worked_out:
        ask(STATE, state, 0, 0)
    own.free_vcpus += vcpus
    own.free_vgpus += vgpus
    c.busy_vcpus -= vcpus
    c.busy_vgpus -= vgpus
    own.fits, own.ready, stranded = 0, 0, 0
    for at in range(invoker * c.gpus, invoker * c.gpus + own.gpus):
        of = s.gpu_states[s.gpus[at].state]
        own.fits |= of.fits
        own.ready |= of.ready
        stranded += of.stranded
    if own.free_vcpus == 0:
        stranded = own.free_vgpus
    c.stranded += stranded - own.stranded
    own.stranded = stranded


def account_resources(s: PlatformState) -> None:
    """Add the time since the last change to the areas, as far as it lies in the window."""
    c = s.clock[0]
    begin, until = max(c.last_s, c.start_s), min(c.now_s, c.end_s)
    if until > begin:
        length_s = until - begin
        c.vcpu_area += c.busy_vcpus * length_s
        c.vgpu_area += c.busy_vgpus * length_s
        c.stranded_area += c.stranded * length_s
    c.last_s = c.now_s


def enter_gpu(s: PlatformState, number: int) -> None:
    """Start a batch on a GPU that it shares."""
    c, batch = s.clock[0], s.batches[number]
    gpu = batch.invoker * c.gpus + batch.gpu
    _advance(s, gpu)
    batch.since_s = c.now_s
    at = gpu * c.crowd + s.gpus[gpu].active
    while at > gpu * c.crowd and s.active[at - 1] > number:
        s.active[at] = s.active[at - 1]
        at -= 1
    s.active[at] = number
    s.gpus[gpu].active += 1
    _set_speeds(s, gpu)


def leave_gpu(s: PlatformState, number: int) -> None:
    """End a batch on a shared GPU; the others speed up."""
    c, batch = s.clock[0], s.batches[number]
    gpu = batch.invoker * c.gpus + batch.gpu
    s.gpus[gpu].active -= 1
    at = gpu * c.crowd
    while s.active[at] != number:
        at += 1
    for k in range(at, gpu * c.crowd + s.gpus[gpu].active):
        s.active[k] = s.active[k + 1]
    _advance(s, gpu)
    _set_speeds(s, gpu)


def _advance(s: PlatformState, gpu: int) -> None:
    """Advance the batches on a GPU to the present."""
    c = s.clock[0]
    for at in range(gpu * c.crowd, gpu * c.crowd + s.gpus[gpu].active):
        batch = s.batches[s.active[at]]
        batch.left_s = max(0.0, batch.left_s - batch.speed * (c.now_s - batch.since_s))
        batch.since_s = c.now_s


def _set_speeds(s: PlatformState, gpu: int) -> None:
    """Where a batch has another speed now, its end moves."""
    c, vgpus = s.clock[0], 0
    for at in range(gpu * c.crowd, gpu * c.crowd + s.gpus[gpu].active):
        vgpus += s.batches[s.active[at]].vgpus
    for at in range(gpu * c.crowd, gpu * c.crowd + s.gpus[gpu].active):
        number = s.active[at]
        batch = s.batches[number]
        speed = s.speeds[s.invokers[batch.invoker].kind, batch.vgpus, vgpus]
        if speed == batch.speed and batch.moved:
            continue  # its end stands
        batch.speed, batch.moved = speed, 1
        batch.ends_s = c.now_s + batch.left_s / speed
        push(s, batch.ends_s, key_of(END, batch.application, batch.stage, number))
