"""The second simulator with several links: queues whose services begin and end in events of their own."""

from __future__ import annotations

from heapq import heappush
from typing import Any

from reference_simulator import DELIVERY, HOP, LINK_END, Reference

from nona.random_streams import RandomStreams
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.workload import background_items
from nona.system import System
from nona.topology import Topology


def links_between(topology: Topology, a: int, b: int) -> list[int]:
    """The path from the words of its definition, without :meth:`Topology.path`."""
    found = [topology.out_link[a]]
    if topology.rack[a] != topology.rack[b]:
        found += [topology.up_link[a], topology.core, topology.down_link[b]]
    return [int(link) for link in [*found, topology.in_link[b]] if link >= 0]


class PathReference(Reference):
    """``line[k]``: messages waiting at link k; the first of them is in service if ``busy[k]``."""

    def __init__(self, system: System, scheduler: Scheduler, prepared: Prepared, run_on: bool = True) -> None:
        assert system.topology is not None
        self.topology = system.topology
        self.speed = self.topology.link_capacity.tolist()
        self.line: list[list[dict[str, Any]]] = [[] for _ in self.speed]
        self.busy = [False] * len(self.speed)
        self.served: list[list[tuple[float, float]]] = [[] for _ in self.speed]
        super().__init__(system, scheduler, prepared, run_on)
        streams = RandomStreams(system.seed, 0)
        self.link_of = {len(self.server): self.topology.core}  # place of a background source → its link
        for link, (name, stream) in enumerate(system.link_streams):
            if link != self.topology.core:
                self.link_of[len(self.sources)] = link
                self.sources.append(background_items(stream, streams, *name))
                self.next_background(len(self.sources) - 1)

    def on_background(self, place: int, task: int, size: float) -> None:
        if place in self.link_of:
            self.next_background(place)
            self.joins({"size": size, "path": [self.link_of[place]], "at": 0, "key": (-1, 0), "what": None})
        else:
            super().on_background(place, task, size)

    def request(self, work: float, key: tuple[int, int], message: Any) -> None:
        job, tensor, there = message
        here = self.server[job["executor"][int(job["graph"].tensor_source[tensor])]]
        path = links_between(self.topology, here, there)
        size = float(job["graph"].tensor_bytes[tensor])
        self.joins({"size": size, "path": path, "at": 0, "key": key, "what": message})

    def joins(self, message: dict[str, Any]) -> None:
        link = message["path"][message["at"]]
        self.line[link].append(message)
        if not self.busy[link]:
            self.serve(link)

    def serve(self, link: int) -> None:
        """The first in line begins. Its first byte goes on at once; all of it is through when every
        link has had time for it."""
        message = self.line[link][0]
        self.busy[link] = True
        end = self.now + message["size"] / self.speed[link]
        message["ends"] = [*message.get("ends", []), end]
        self.served[link].append((self.now, end))
        heappush(self.heap, (end, LINK_END, link, 0, link))
        if message["at"] + 1 < len(message["path"]):
            heappush(self.heap, (self.now, HOP, *message["key"], message))
        elif message["what"] is not None:
            delivered = max(message["ends"]) + self.system.latency_s
            heappush(self.heap, (delivered, DELIVERY, *message["key"], message["what"]))

    def on_hop(self, _: int, __: int, message: dict[str, Any]) -> None:
        """It goes on; at the link before it may still be in service."""
        self.joins(dict(message, at=message["at"] + 1))

    def on_link_end(self, _: int, __: int, link: Any) -> None:
        self.line[link].pop(0)
        self.busy[link] = False
        if self.line[link]:
            self.serve(link)
