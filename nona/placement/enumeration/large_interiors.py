"""Configurations of large interiors: by connected component and symmetry class, and beyond.

1. Whole components are placed, one representative for each symmetry class. Where every component
   is a single task, and all classes are listed, that is exhaustive.
2. Where components have several tasks, or the classes are too many, the family is restricted, and
   says so: balanced groups of components, single components sent away, every task on its own,
   list schedules on 2, 3, … servers at several prices of the link, and what a local search that
   moves single tasks makes of the best of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

import numpy as np

from nona.placement.configurations.labels import Labels, canonical
from nona.placement.configurations.shape import Shape
from nona.placement.configurations.symmetry import class_labels, component_classes, components
from nona.placement.enumeration.list_schedules import improve, list_schedule
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.messages import Link

CLASSES = 4000
_MOST_SERVERS = 8
_CELLS = 2_000_000  # entries of the table of configurations, which bounds its time and memory
Rows = list[tuple[int, ...]]


def large_candidates(shape: Shape, link: Link, slots: int) -> Candidates:
    """Candidates for an interior too large for plain enumeration; see the module's head."""
    parts = components(shape)
    classes = component_classes(shape, parts)
    counts = [classes.count(k) for k in sorted(set(classes))]
    rows: Rows = [(0,) * (shape.m + 1)]
    complete = False
    if math.prod(c + 1 for c in counts) <= CLASSES:
        listed = [tuple(r) for r in islice(class_labels(shape, parts, classes, slots), CLASSES + 1)]
        complete = len(listed) <= CLASSES
        rows += listed[:CLASSES] if complete else []
    if complete and len(parts) == shape.m:
        return Candidates(shape, _unique(rows), link)
    if slots > 1:
        rows.append((*(1 + i % (slots - 1) for i in range(shape.m)), 0))
        rows += list_schedules(shape, link, slots)
        if not complete:
            most = max(8, _CELLS // (shape.m + 1))
            rows += balanced(shape, parts, slots, most // 2) + singled_out(shape, parts, most // 2)
    found = Candidates(shape, _unique(rows), link, exhaustive=False)
    if slots > 1:
        found = Candidates(shape, improve(found, slots), link, exhaustive=False)
    what = "whole components and" if complete else "groups of components,"
    return Candidates(
        shape,
        found.labels,
        link,
        exhaustive=False,
        note=f"interior of {shape.m} tasks in {len(parts)} component{'s' if len(parts) > 1 else ''}: "
        f"{what} list schedules and local search ({len(found)} configurations), not all",
    )


def balanced(shape: Shape, parts: Sequence[Sequence[int]], slots: int, most: int) -> Rows:
    """Components in 2, 3, … groups of nearly equal work (longest first to the lightest group).

    At most ``most`` rows, small numbers of groups first.
    The lightest group stays with the root, which has work of its own to do before.
    """
    order = sorted(range(len(parts)), key=lambda c: (-sum(shape.mean_s[v - 1] for v in parts[c]), c))
    rows = []
    for k in range(2, min(len(parts), slots, 4 * _MOST_SERVERS) + 1):
        work, group = [0.0] * k, {}
        for c in order:
            lightest = min(range(k), key=lambda i: work[i])
            work[lightest] += sum(shape.mean_s[v - 1] for v in parts[c])
            group[c] = lightest
        stays = min(range(k), key=lambda i: work[i])
        for sink in range(k) if shape.has_sink else (stays,):
            server = [0] * (shape.m + 1)
            for c, part in enumerate(parts):
                for v in part:
                    server[v - 1] = (group[c] - stays) % k
            server[-1] = (sink - stays) % k
            rows.append(canonical(server))
            if len(rows) >= most:
                return rows
    return rows


def singled_out(shape: Shape, parts: Sequence[Sequence[int]], most: int) -> Rows:
    """Each component alone on another server, the rest with the root; and the other way round.

    Of many components the ones with most work, so that there are at most ``most`` rows.
    """
    rows: Rows = []
    for part in sorted(parts, key=lambda c: -sum(shape.mean_s[v - 1] for v in c))[: most // 2]:
        inside = [0] * shape.m
        for v in part:
            inside[v - 1] = 1
        rows.append((*inside, 0))
        rows.append((*(1 - i for i in inside), 0))
    return rows


def list_schedules(shape: Shape, link: Link, slots: int) -> Rows:
    """List schedules on 2, 3, … servers with the link's wait at several fractions of the local span."""
    rows: Rows = []
    for k in range(2, min(slots, shape.m, _MOST_SERVERS) + 1):
        rows.extend(list_schedule(shape, link, k, f * shape.local_s) for f in (0.0, 0.05, 0.2))
    return rows


def _unique(rows: Rows) -> Labels:
    return np.array(list(dict.fromkeys(rows)), dtype=np.int64)
