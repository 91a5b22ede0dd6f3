"""Knots: the strongly connected components of more than one node.

Source: R. Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972), with a
stack of its own in place of recursion.
"""

from __future__ import annotations

from collections.abc import Iterator

from nona.graph.dag import Dag


def knots_of(graph: Dag) -> dict[int, int]:
    """Every node that lies on a cycle → a node that stands for its knot. O(n + m).

    >>> sorted(knots_of(Dag.from_edges(4, [(0, 1), (1, 2), (2, 1), (2, 3)])))
    [1, 2]
    """
    order, low = [-1] * len(graph), [0] * len(graph)
    on_stack = [False] * len(graph)
    stack: list[int] = []
    knots: dict[int, int] = {}
    count = 0
    for start in range(len(graph)):
        if order[start] >= 0:
            continue
        work: list[tuple[int, Iterator[int]]] = [(start, iter(graph.successors[start]))]
        order[start] = low[start] = count
        count += 1
        stack.append(start)
        on_stack[start] = True
        while work:
            v, rest = work[-1]
            w = next((w for w in rest if order[w] < 0 or on_stack[w]), None)
            if w is not None and order[w] < 0:
                order[w] = low[w] = count
                count += 1
                stack.append(w)
                on_stack[w] = True
                work.append((w, iter(graph.successors[w])))
            elif w is not None:
                low[v] = min(low[v], order[w])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[v])
                if low[v] == order[v]:
                    _take_knot(stack, on_stack, v, knots)
    return knots


def _take_knot(stack: list[int], on_stack: list[bool], v: int, knots: dict[int, int]) -> None:
    taken: list[int] = []
    while not taken or taken[-1] != v:
        taken.append(stack.pop())
        on_stack[taken[-1]] = False
    if len(taken) > 1:
        knots.update(dict.fromkeys(taken, v))
