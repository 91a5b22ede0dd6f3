"""A binary heap of events in an array; the caller keeps its length."""

from __future__ import annotations

from nona.simulation.compiled.memory.arrays import Records


def push(heap: Records, size: int, time_s: float, key: int, item: int) -> None:
    """Put an event into a heap of ``size`` entries."""
    i = size
    while i > 0:
        parent = heap[(i - 1) >> 1]
        if parent.time_s < time_s or (parent.time_s == time_s and parent.key < key):
            break
        hole = heap[i]
        hole.time_s = parent.time_s
        hole.key = parent.key
        hole.item = parent.item
        i = (i - 1) >> 1
    hole = heap[i]
    hole.time_s = time_s
    hole.key = key
    hole.item = item


def drop_first(heap: Records, size: int) -> None:
    """Take the first event out of a heap of ``size`` entries."""
    n = size - 1
    last = heap[n]
    time_s = last.time_s
    key = last.key
    item = last.item
    i = 0
    while True:
        k = 2 * i + 1
        if k >= n:
            break
        child = heap[k]
        if k + 1 < n:
            right = heap[k + 1]
            if right.time_s < child.time_s or (right.time_s == child.time_s and right.key < child.key):
                k += 1
                child = right
        if time_s < child.time_s or (time_s == child.time_s and key < child.key):
            break
        hole = heap[i]
        hole.time_s = child.time_s
        hole.key = child.key
        hole.item = child.item
        i = k
    hole = heap[i]
    hole.time_s = time_s
    hole.key = key
    hole.item = item
