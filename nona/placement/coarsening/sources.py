"""Short tasks without inputs that stay with the one group that reads from them.

Behind a virtual root every task starts W_c or later, as some source before it has queued. Let v be
without inputs, w and all else that reads from v be one group, on server s. Whatever the configuration
c, let c' be the same with v on s. v is ready when its visit has waited W_c, which whatever follows it on
s has waited too; so v delays the tasks behind it on s, w among them, by p(v) at most, and nothing
else: v's messages vanish, and its old server is the freer. This holds for every W_n, W_c ≥ 0.
"""

from __future__ import annotations

from nona.placement.coarsening.blocks import Loss, cheapest_s
from nona.placement.coarsening.result import SOURCE, Glue
from nona.placement.coarsening.union_find import Groups
from nona.placement.configurations.shape import Shape
from nona.placement.spans.messages import Link


def glue_sources(shape: Shape, link: Link, groups: Groups, budget_s: float) -> tuple[list[Glue], Loss]:
    """Glue sources, shortest first, while their work is no more than ``budget_s`` together."""
    steps: list[Glue] = []
    total = Loss()
    if shape.has_root:
        return steps, total
    sources = [v for v in range(1, shape.m + 1) if not shape.edges_into[v] and shape.edges_of[v]]
    for v in sorted(sources, key=lambda v: (float(shape.mean_s[v - 1]), v)):
        own, cheapest = float(shape.mean_s[v - 1]), cheapest_s(shape, link, v)
        readers = shape.target[list(shape.edges_of[v])].tolist()
        if total.span_s + own > budget_s:
            break
        one = all(groups.together(r, readers[0]) for r in readers) and max(readers) <= shape.m
        if one and groups.single(v) and own <= cheapest:
            groups.join(v, readers[0])
            total += Loss(own)
            steps.append(Glue(v, readers[0], SOURCE, own, cheapest, own))
    return steps, total
