"""The cheapest configuration as a mixed-integer linear program: a second way to state the model.

Binary y[v, s]: task v (or the sink) is on server s; the root is on server 0. From it follow, by linear
constraints alone, which edges start a message, when each message is through, when tasks end, and the
span. Solved by HiGHS.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array


@dataclass
class Program:
    """Variables and rows lower ≤ Σ coefficient·x under way."""

    upper: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    rows: list[dict[int, float]] = field(default_factory=list)
    least: list[float] = field(default_factory=list)

    def variable(self, upper=np.inf, *, whole=False):
        self.upper.append(upper)
        self.whole.append(int(whole))
        return len(self.upper) - 1

    def at_least(self, least, *terms):
        row = {}
        for x, coefficient in terms:
            row[x] = row.get(x, 0.0) + coefficient
        self.rows.append(row)
        self.least.append(least)

    def solve(self, cost, fixed):
        n = len(self.upper)
        low, high = np.zeros(n), np.array(self.upper)
        for x, value in fixed.items():
            low[x] = high[x] = value
        entries = [(i, x, c) for i, row in enumerate(self.rows) for x, c in row.items()]
        i, x, c = (np.array(column) for column in zip(*entries, strict=True))
        matrix = csr_array((c, (i, x)), shape=(len(self.rows), n))
        weights = np.zeros(n)
        for x_, value in cost.items():
            weights[x_] = value
        done = milp(
            weights,
            integrality=np.array(self.whole),
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, np.array(self.least), np.inf),
            options={"mip_rel_gap": 1e-9},
        )
        assert done.status == 0, done.message
        return float(done.fun), done.x


class _Model:
    def __init__(self, shape, link, slots, wait, server_wait):
        self.shape, self.link, self.slots = shape, link, slots
        self.wait, self.server_wait = wait, server_wait
        self.p = Program()
        self.nodes = range(shape.m + 2)
        self.edges = range(len(shape.source))
        self.place = [[self.p.variable(1.0, whole=True) for _ in range(slots)] for _ in self.nodes]
        self.end = [self.p.variable() for _ in self.nodes]
        self.remote = [self.p.variable(1.0) for _ in self.edges]
        self.starts = [self.p.variable(1.0) for _ in self.edges]
        self.through = [self.p.variable() for _ in self.edges]
        self.span, self.away = self.p.variable(), self.p.variable(1.0)
        moved = len(self.edges) * float(shape.size.sum()) / link.capacity
        stretch = 1.0 + (0.0 if link.discipline == "fifo" else wait)
        each = link.latency_s + server_wait + (wait if link.discipline == "fifo" else 0.0)
        self.big = shape.local_s + stretch * moved + (shape.m + 2) * each + 1.0

    def assign(self):
        for v in self.nodes:
            self.p.at_least(1.0, *((x, 1.0) for x in self.place[v]))
            self.p.at_least(-1.0, *((x, -1.0) for x in self.place[v]))
        fixed = {x: float(s == 0) for s, x in enumerate(self.place[0])}
        if not self.shape.has_sink:
            fixed |= {x: float(s == 0) for s, x in enumerate(self.place[-1])}
        return fixed

    def transfers(self):
        """``remote``, ``starts`` and ``through`` of every edge."""
        shape, p = self.shape, self.p
        for e in self.edges:
            u, v = int(shape.source[e]), int(shape.target[e])
            for s in range(self.slots):
                p.at_least(0.0, (self.remote[e], 1.0), (self.place[u][s], -1.0), (self.place[v][s], 1.0))
        for edges in shape.edges_of:
            for i, e in enumerate(edges):
                twins = [x for x in edges[:i] if shape.tensor[x] == shape.tensor[e]]
                same = [self.same(int(shape.target[x]), int(shape.target[e])) for x in twins]
                p.at_least(0.0, (self.starts[e], 1.0), (self.remote[e], -1.0), *((x, 1.0) for x in same))
                self.batch(edges, i, list(zip(twins, same, strict=True)))

    def batch(self, edges, i, twins):
        shape, p, e = self.shape, self.p, edges[i]
        size = shape.size / self.link.capacity
        if self.link.discipline == "fifo":
            before = [(self.starts[x], -float(size[x])) for x in edges[: i + 1]]
            p.at_least(-self.big, (self.through[e], 1.0), (self.starts[e], -self.big), *before)
            for x, same in twins:
                p.at_least(-self.big, (self.through[e], 1.0), (self.through[x], -1.0), (same, -self.big))
        else:
            beside = [(self.starts[x], -float(min(size[x], size[e])) * (1 + self.wait)) for x in edges]
            p.at_least(0.0, (self.through[e], 1.0), *beside)

    def same(self, a, b):
        """A variable that is 1 iff two nodes are on one server."""
        x = self.p.variable(1.0)
        for s in range(self.slots):
            one, two = self.place[a][s], self.place[b][s]
            self.p.at_least(-1.0, (x, -1.0), (one, -1.0), (two, 1.0))
            self.p.at_least(-1.0, (x, -1.0), (one, 1.0), (two, -1.0))
            self.p.at_least(-1.0, (x, 1.0), (one, -1.0), (two, -1.0))
        return x

    def ends(self):
        """When tasks end, in the order of each server, and after their inputs."""
        shape, p = self.shape, self.p
        wait = self.link.latency_s + (self.wait if self.link.discipline == "fifo" else 0.0)
        for v in range(1, shape.m + 1):
            own = float(shape.mean_s[v - 1])
            queued = 0.0 if shape.edges_into[v] else self.server_wait
            p.at_least(own + queued, (self.end[v], 1.0))
            for u in range(1, v):
                for s in range(self.slots):
                    both = ((self.place[u][s], -self.big), (self.place[v][s], -self.big))
                    p.at_least(own - 2 * self.big, (self.end[v], 1.0), (self.end[u], -1.0), *both)
        for e in self.edges:
            u, v = int(shape.source[e]), int(shape.target[e])
            own, at, visit = 0.0, self.span, 0.0
            if v <= shape.m:
                own, at, visit = float(shape.mean_s[v - 1]), self.end[v], self.server_wait
            p.at_least(own, (at, 1.0), (self.end[u], -1.0))
            far = ((self.end[u], -1.0), (self.through[e], -1.0), (self.remote[e], -self.big))
            p.at_least(own + wait + visit - self.big, (at, 1.0), *far)

    def finish(self):
        shape, p = self.shape, self.p
        for v in range(1, shape.m + 2):
            p.at_least(1.0, (self.away, 1.0), (self.place[v][0], 1.0))
            if not shape.has_sink and v <= shape.m:
                p.at_least(0.0, (self.span, 1.0), (self.end[v], -1.0))


def cheapest_by_milp(shape, link, slots, *, link_wait, server_wait_s, load_price):
    """Least span + load_price·load over all configurations on ``slots`` servers, and one that has it."""
    model = _Model(shape, link, slots, link_wait, server_wait_s)
    fixed = model.assign()
    model.transfers()
    model.ends()
    model.finish()
    cost = {model.span: 1.0, model.away: server_wait_s * float(shape.has_sink)}
    for e in model.edges:
        cost[model.starts[e]] = load_price * float(shape.size[e]) / link.capacity
    fixed[model.end[0]] = 0.0
    value, x = model.p.solve(cost, fixed)
    return value, [int(np.argmax([x[y] for y in model.place[v]])) for v in range(1, shape.m + 2)]
