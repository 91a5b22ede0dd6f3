"""Containers and links of the second simulator: lists that are gone through from their start."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from nona.core.random_streams import RandomStreams
from nona.queries.simulation.workload import link_background

CONTAINER = 2


class ReferenceContainers:
    """``push(time, kind, content, *what)`` makes an event; ``on_event`` gets ``what`` back."""

    def __init__(self, system, push):
        self.rules, self.push = system.containers, push
        self.cold_s = [f.cold_start_s for f in system.functions]
        self.idle = defaultdict(list)  # (idle since, which)
        self.smallest = system.space.smallest
        self.last = {}  # which: configuration of the batch before, if there was one
        self.memory = system.memory
        self.evictions = 0
        self.waits = []  # from, until, configuration
        self.busy = defaultdict(int)
        self.starting = defaultdict(int)
        self.last_s = {}
        self.gap_s = {}
        self.made = self.prewarmed = 0
        self.places = [(i, f) for i in range(len(system.invokers)) for f in range(len(system.functions))]

    def begin(self):
        for _ in range(self.rules.warm):
            for place in self.places:
                if self.free_bytes(place[0]) >= self.needs(place[1]):
                    self.becomes_idle(place, 0.0)

    def needs(self, function):
        return 0 if self.memory is None else self.memory.container_bytes[function]

    def free_bytes(self, invoker, idle_go=False):
        """What containers leave of an invoker's memory, or would leave if all idle ones went."""
        if self.memory is None:
            return 0
        there = [
            place
            for place in self.places
            for _ in range(
                self.busy[place] + self.starting[place] + (0 if idle_go else len(self.idle[place]))
            )
        ]
        return self.memory.node_bytes[invoker] - sum(self.needs(f) for i, f in there if i == invoker)

    def has_room(self, invoker, function):
        """Whether a batch would get a container there."""
        return bool(self.idle[invoker, function]) or self.free_bytes(invoker, True) >= self.needs(function)

    def room_for_all(self, invoker):
        return all(self.has_room(i, f) for i, f in self.places if i == invoker)

    def make_room(self, invoker, function, now_s):
        """Idle containers of the invoker go, whichever has waited longest, until there is room."""
        while self.free_bytes(invoker) < self.needs(function):
            idle = [(entry[0], p, entry) for p in self.places if p[0] == invoker for entry in self.idle[p]]
            _, place, entry = min(idle)
            self.idle[place].remove(entry)
            self.waited(entry, now_s)
            self.evictions += 1

    def idle_count(self, invoker, function):
        return len(self.idle[invoker, function])

    def becomes_idle(self, place, now_s, configuration=None):
        self.made += 1
        self.last[self.made] = self.smallest if configuration is None else configuration
        self.idle[place].append((now_s, self.made))
        self.push(now_s + self.rules.keep_alive, CONTAINER, place, "expiry", place, self.made)

    def take(self, invoker, function, now_s):
        """Whether the batch that is dispatched has to start a container."""
        place = (invoker, function)
        self.note_call(place, now_s)
        cold = not self.idle[place]
        if cold:
            self.make_room(invoker, function, now_s)
        else:
            self.waited(self.idle[place].pop(), now_s)
        self.busy[place] += 1
        there = len(self.idle[place]) + self.starting[place]
        room = self.free_bytes(invoker) >= self.needs(function)
        if self.rules.prewarm == "spare" and there < self.rules.spare and room:
            self.start(place, now_s + self.cold_s[function])
        return cold

    def waited(self, entry, until_s):
        self.waits.append((entry[0], until_s, self.last[entry[1]]))

    def all_waits(self):
        """Those that are over, and those of containers that still wait, without end."""
        left = [(since, math.inf, self.last[which]) for row in self.idle.values() for since, which in row]
        return self.waits + left

    def note_call(self, place, now_s):
        if place in self.last_s:
            gap = now_s - self.last_s[place]
            weight = self.rules.ewma_weight
            self.gap_s[place] = weight * gap + (1 - weight) * self.gap_s.get(place, gap)
        self.last_s[place] = now_s

    def start(self, place, ready_s):
        self.starting[place] += 1
        self.prewarmed += 1
        self.push(ready_s, CONTAINER, place, "ready", place, 0)

    def give_back(self, invoker, function, now_s, configuration):
        self.busy[invoker, function] -= 1
        self.becomes_idle((invoker, function), now_s, configuration)

    def on_event(self, now_s, what, place, which):
        if what == "ready":
            self.starting[place] -= 1
            self.becomes_idle(place, now_s)
        elif any(number == which for _, number in self.idle[place]):
            self.waited(next(entry for entry in self.idle[place] if entry[1] == which), now_s)
            self.idle[place] = [entry for entry in self.idle[place] if entry[1] != which]
            self.on_expiry(place, now_s)

    def on_expiry(self, place, now_s):
        none_left = not (self.idle[place] or self.busy[place] or self.starting[place])
        if self.rules.prewarm == "ewma" and none_left and place in self.gap_s:
            next_s = self.last_s[place] + self.gap_s[place]
            if next_s > now_s and self.free_bytes(place[0]) >= self.needs(place[1]):
                self.start(place, max(next_s, now_s + self.cold_s[place[1]]))


class ReferenceLink:
    """First come, first served; (when it joined, seconds of service) in order of joining."""

    def __init__(self, background):
        self.background, self.head = background, next(background, None)
        self.joined = []

    def join(self, now_s, work_s):
        """When the service of what joins now begins, and when it ends."""
        while self.head is not None and self.head[0] <= now_s:
            self.joined.append(self.head)
            self.head = next(self.background)
        self.joined.append((now_s, work_s))
        end_s = begin_s = 0.0
        for at_s, work in self.joined:
            begin_s = max(end_s, at_s)
            end_s = begin_s + work
        return begin_s, end_s


@dataclass(eq=False)
class Message:
    """Bytes for ``batch`` over ``path``; joined links so far, and when each of them is through with it."""

    batch: Any
    which: int
    path: tuple[int, ...]
    size: float
    through_s: list[float] = field(default_factory=list)


class ReferenceLinks:
    """``push(message, time)`` makes the event that the message joins its next link."""

    def __init__(self, network, seed, replication, push):
        streams = RandomStreams(seed, replication)
        self.network, self.push = network, push
        self.capacity = network.topology.link_capacity.tolist()
        self.links = [
            ReferenceLink(link_background(stream, streams, name, capacity))
            for (name, stream), capacity in zip(network.streams, self.capacity, strict=True)
        ]

    def path(self, source, to):
        """Card out, uplink, core, downlink, card in: as far as there are such, and they are on the way."""
        t = self.network.topology
        into = [int(t.down_link[to]), int(t.in_link[to])]
        if source < 0:
            return tuple(link for link in (t.core, *into) if link >= 0)
        up = [int(t.out_link[source]), int(t.up_link[source]), t.core]
        whole = [*up, *into] if t.rack[source] != t.rack[to] else [up[0], into[1]]
        return tuple(link for link in whole if link >= 0)

    def alone_s(self, size, source, to):
        """Seconds of a message that meets nobody."""
        return self.network.latency_s + max(size / self.capacity[link] for link in self.path(source, to))

    def step(self, message, now_s):
        """The message joins its next link; when it is delivered, once that is known."""
        link = message.path[len(message.through_s)]
        begin_s, end_s = self.links[link].join(now_s, message.size / self.capacity[link])
        message.through_s.append(end_s)
        if len(message.through_s) < len(message.path):
            self.push(message, begin_s)
            return None
        return max(message.through_s) + self.network.latency_s
