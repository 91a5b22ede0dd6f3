"""Invokers under counted vGPUs: who has room, what a batch gets there, and what all hold over time."""

from __future__ import annotations

from nona.serverless.engine.compiled.layout import HOME, PREDECESSOR, WALK, WARM, State


def find_invoker(s: State, queue: int, configuration: int, predecessor: int) -> int:
    """The first invoker with room in the order of the queue's rules, or −1."""
    c, q = s.clock[0], s.queues[queue]
    wanted = s.configurations[configuration]
    if wanted.refused == c.stamp:
        return -1
    for at in range(q.rule, q.rule + q.rules):
        found = by_rule(s, s.rules[at], q.function, configuration, predecessor)
        if found >= 0:
            return found
    if q.asks_all:
        wanted.refused = c.stamp  # nobody will have room until something is released
    return -1


def by_rule(s: State, rule: int, function: int, configuration: int, predecessor: int) -> int:
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
    return most_free(s, configuration)


def has_room(s: State, invoker: int, configuration: int) -> bool:
    """Whether the vCPUs are free, and one GPU has the vGPUs."""
    own, wanted = s.invokers[invoker], s.configurations[configuration]
    return bool(own.free_vcpus >= wanted.vcpus and own.most >= wanted.vgpus)


def most_free(s: State, configuration: int) -> int:
    """Of those with room the one with most free vGPUs, then with most free vCPUs, then the first; or −1."""
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
    change(s, invoker, gpu, -wanted.vcpus, -vgpus)
    return gpu - invoker * gpus, slots


def give_back_resources(s: State, number: int) -> None:
    """A batch ends: what it held is free again."""
    c, batch = s.clock[0], s.batches[number]
    held, gpu = s.configurations[batch.configuration], batch.invoker * c.gpus + batch.gpu
    s.gpu_slots[gpu] |= batch.slots
    c.stamp += 1
    change(s, batch.invoker, gpu, held.vcpus, held.vgpus)


def change(s: State, invoker: int, gpu: int, vcpus: int, vgpus: int) -> None:
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
    """Add what has passed since the last change to the areas, as far as it lies in the window."""
    c = s.clock[0]
    begin, until = max(c.last_s, c.start_s), min(c.now_s, c.end_s)
    if until > begin:
        length_s = until - begin
        c.vcpu_area += c.busy_vcpus * length_s
        c.vgpu_area += c.busy_vgpus * length_s
        c.stranded_area += c.stranded * length_s
    c.last_s = c.now_s
