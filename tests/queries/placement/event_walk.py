"""One query on an empty cluster with frozen waits, event by event: the model told as a story.

Servers run the tasks of their part in order, one at a time. When a task ends, its tensors that other
servers need are requested, one message for each tensor and server. The batch reaches the link after
the frozen wait, and is served in the order of the edges (FIFO) or all at once (processor sharing,
stretched); latency is added. A task whose last missing input came over the link, or that starts
the query, then queues for the frozen wait of a visit.
"""

import heapq


class EventWalk:
    """Runs one configuration; afterwards ``span_s``, ``load_s`` and ``square_s2`` are known."""

    def __init__(self, shape, labels, link, link_wait, server_wait_s):
        self.shape, self.link = shape, link
        self.link_wait, self.server_wait_s = link_wait, server_wait_s
        self.place = [0, *labels]
        self.sink = shape.m + 1
        self.inputs = {v: set(shape.edges_into[v]) for v in range(1, self.sink + 1)}
        self.queue: dict[int, list[int]] = {}
        for v in range(1, self.sink):
            self.queue.setdefault(self.place[v], []).append(v)
        self.busy: set[int] = set()
        self.ready: dict[int, float] = {}  # in the order in which tasks become ready
        self.queued_until = dict.fromkeys(self.inputs, 0.0)
        self.events: list[tuple[float, int, str, int]] = []
        self.load_s = self.square_s2 = self.span_s = 0.0
        self.overlaps = self.overtaken = False
        self.link_free_s = 0.0
        self.pushed = 0
        self._run()

    def _run(self):
        self._ended(0.0, 0)
        for v in range(1, self.sink):
            if not self.inputs[v]:
                self._push(self.server_wait_s, "ready", v)
        while self.events:
            now, _, what, v = heapq.heappop(self.events)
            if what == "end":
                self.busy.discard(self.place[v])
                self._ended(now, v)
            elif what == "arrive":
                self._got(now, v, remote=True)
            else:
                self.ready[v] = now
            self._start_all(now)
        if self.shape.has_sink and any(self.place):
            self.span_s += self.server_wait_s

    def _push(self, time, what, v):
        self.pushed += 1
        heapq.heappush(self.events, (time, self.pushed, what, v))

    def _ended(self, now, u):
        if not self.shape.has_sink:
            self.span_s = max(self.span_s, now)
        batch: dict[tuple[int, int], list[int]] = {}
        for e in self.shape.edges_of[u]:
            server = self.place[int(self.shape.target[e])]
            if server == self.place[u]:
                self._got(now, e, remote=False)
            else:
                batch.setdefault((int(self.shape.tensor[e]), server), []).append(e)
        self._send(now, [(edges, float(self.shape.size[edges[0]])) for edges in batch.values()])

    def _send(self, now, batch):
        if not self.link.crosses:
            batch = [(edges, 0.0) for edges, _ in batch]
        own = [size / self.link.capacity for _, size in batch]
        self.load_s += sum(own)
        self.square_s2 += sum(own) ** 2
        if sum(own) > 0:
            self.overlaps |= now < self.link_free_s
            self.link_free_s = now + sum(own)
        for i, (edges, _) in enumerate(batch):
            if not self.link.crosses:
                through = 0.0
            elif self.link.discipline == "fifo":
                through = self.link_wait + sum(own[: i + 1]) + self.link.latency_s
            else:
                shared = sum(min(s, own[i]) for s in own)
                through = (1 + self.link_wait) * shared + self.link.latency_s
            for e in edges:
                self._push(now + through, "arrive", e)

    def _got(self, now, e, *, remote):
        """Edge ``e`` has delivered; a task queues once its last message is there."""
        v = int(self.shape.target[e])
        self.inputs[v].discard(e)
        if v == self.sink:
            self.span_s = max(self.span_s, now)
            return
        if remote:
            self.queued_until[v] = max(self.queued_until[v], now + self.server_wait_s)
        if not self.inputs[v]:
            self._push(max(now, self.queued_until[v]), "ready", v)

    def _start_all(self, now):
        for server, waiting in self.queue.items():
            joined = [v for v in self.ready if v in waiting]
            if server in self.busy or not joined:
                continue
            self.overtaken |= joined[0] != waiting[0]
            if waiting[0] in self.ready:
                v = waiting.pop(0)
                del self.ready[v]
                self.busy.add(server)
                self._push(now + float(self.shape.mean_s[v - 1]), "end", v)
