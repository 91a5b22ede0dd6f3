"""The genetic search (NSGA-II) over the GPUs of jobs.

A solution is a matrix (jobs, nodes) of GPUs. Draws come from the generator that is passed in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nona.core.arrays import Floats, Ints
from nona.core.compiled.decorator import compiled

#: (jobs, nodes) GPUs of one solution, or (P, jobs, nodes) of several.
Matrix = NDArray[np.int8]
RESET, THINNED, ZEROED = 0.1, 0.1, 0.1
CROSSOVER = 0.9
MOST_NODES = 16


@compiled
def cross(first: Matrix, second: Matrix, rng: Generator) -> None:
    """Exchange the rows before a random cut, with probability 0.9."""
    if rng.random() >= CROSSOVER:
        return
    cut = int(rng.random() * len(first))
    for j in range(cut):
        for n in range(first.shape[1]):
            first[j, n], second[j, n] = second[j, n], first[j, n]


@compiled
def mutate(state: Matrix, base: Matrix, gpus: int, rng: Generator) -> None:
    """Reset rows, set entries to 0, increase entries.

    A row becomes that of ``base`` with probability 0.1; with probability 0.1 each of its entries becomes 0
    with probability 0.1; on nodes that then have a free GPU, an entry x is drawn from x … ``gpus`` with
    probability p₁ + p₂ − p₁p₂, where p₁ = 1 / jobs and p₂ = 1 / jobs on the node, if the job is there.
    """
    jobs, nodes = state.shape
    for j in range(jobs):
        if rng.random() < RESET:
            state[j] = base[j]
        if rng.random() < THINNED:
            for n in range(nodes):
                if rng.random() < ZEROED:
                    state[j, n] = 0
    for n in range(nodes):
        used, present = 0, 0
        for j in range(jobs):
            used += state[j, n]
            present += state[j, n] > 0
        if used >= gpus:
            continue
        anyone, there = 1.0 / jobs, 1.0 / max(present, 1)
        there = anyone + there - anyone * there
        for j in range(jobs):
            if rng.random() < (there if state[j, n] else anyone):
                state[j, n] += int(rng.random() * (gpus + 1 - state[j, n]))


@compiled
def repair(state: Matrix, gpus: int, most: Ints, avoid: bool, rng: Generator) -> None:
    """Make a solution legal.

    With ``avoid``, of the jobs on several nodes only the first one stays on each node. A job has at most its
    ``most`` GPUs on at most 16 nodes, counted in random order of nodes. A node gives at most ``gpus`` GPUs,
    to the first jobs.
    """
    jobs, nodes = state.shape
    if avoid:
        _separate(state)
    for j in range(jobs):
        total, present = 0, 0
        for n in range(nodes):
            total += state[j, n]
            present += state[j, n] > 0
        if total > most[j] or present > MOST_NODES:
            _cap(state[j], most[j], rng)
    for n in range(nodes):
        free = gpus
        for j in range(jobs):
            if state[j, n] > free:
                state[j, n] = free
            free -= state[j, n]


@compiled
def _separate(state: Matrix) -> None:
    """On each node only the first of the jobs that are on several nodes stays."""
    jobs, nodes = state.shape
    taken = np.zeros(nodes, np.bool_)
    for j in range(jobs):
        present = 0
        for n in range(nodes):
            present += state[j, n] > 0
        if present > 1:
            for n in range(nodes):
                if state[j, n]:
                    if taken[n]:
                        state[j, n] = 0
                    taken[n] = True


@compiled
def _cap(row: Matrix, most: int, rng: Generator) -> None:
    """At most ``most`` GPUs on at most 16 nodes, in random order of nodes."""
    left, nodes = most, 0
    order = np.arange(len(row))
    rng.shuffle(order)  # the draws of rng.permutation, which takes longer to compile
    for n in order:
        if nodes == MOST_NODES or left == 0:
            row[n] = 0
        elif row[n]:
            row[n] = min(int(row[n]), left)
            left -= row[n]
            nodes += 1


def fronts(values: Floats) -> Ints:
    """(P,) the front of each of the (P, 2) values: 0 for those that no other one dominates.

    By descending first value a solution is in the first front whose last second value is not above its own:
    with two objectives no other comparison is needed.
    """
    return _fronts(values, np.lexsort((-values[:, 1], -values[:, 0])))


@compiled
def _fronts(values: Floats, order: Ints) -> Ints:
    count = len(values)
    front, last, used = np.zeros(count, np.int64), np.zeros(count, np.int64), 0
    for place in order:
        low, high = 0, used
        while low < high:
            middle = (low + high) // 2
            if _dominates(values[last[middle]], values[place]):
                low = middle + 1
            else:
                high = middle
        front[place] = low
        last[low] = place
        used = max(used, low + 1)
    return front


@compiled
def _dominates(one: Floats, other: Floats) -> bool:
    no_worse = one[0] >= other[0] and one[1] >= other[1]
    return bool(no_worse and (one[0] > other[0] or one[1] > other[1]))


def crowding(values: Floats, front: Ints) -> Floats:
    """(P,) crowding distances within fronts: Σ (next − previous) / range; ∞ at the ends."""
    orders = np.stack([np.lexsort((values[:, k], front)) for k in range(2)])
    return _crowding(values, front, orders)


@compiled
def _crowding(values: Floats, front: Ints, orders: Ints) -> Floats:
    """``orders`` (2, P): by front, and in it by the one and the other value."""
    count = len(values)
    distances = np.zeros(count)
    for k in range(2):
        order, begin = orders[k], 0
        for end in range(1, count + 1):
            if end < count and front[order[end]] == front[order[begin]]:
                continue
            span = values[order[end - 1], k] - values[order[begin], k]
            distances[order[begin]] = distances[order[end - 1]] = np.inf
            if span > 0.0:
                for i in range(begin + 1, end - 1):
                    distances[order[i]] += (values[order[i + 1], k] - values[order[i - 1], k]) / span
            begin = end
    return distances


def survivors(values: Floats, count: int) -> Ints:
    """Return the best ``count`` places: by front, of one front by crowding distance, largest first."""
    front = fronts(values)
    return np.lexsort((-crowding(values, front), front))[:count]


Marks = NDArray[np.uint64]
LEAST = 1e-3  # added to a speed-up, so that one of 0 has a value
TRIES = 100  # at filling a generation with solutions that are all different


class ElasticJobs(NamedTuple):
    """The J jobs as the search sees them.

    ``base`` (J, N) their GPUs now; ``speedups`` (J, 2, R + 1) by GPUs, on one node and on several; ``kept``
    (J,) the part of its speed that a job keeps if its GPUs change; ``most`` (J,) GPUs.
    """

    base: Matrix
    speedups: Floats
    kept: Floats
    most: Ints


class SearchSize(NamedTuple):
    """``population`` solutions, ``generations`` with the first; ``gpus`` of a node; ``avoid``: see repair."""

    population: int
    generations: int
    gpus: int
    avoid: bool


@compiled
def value_of(state: Matrix, jobs: ElasticJobs, gpus: int) -> tuple[float, float]:
    """[mean 1/(s·q/g + 0.001)]⁻¹, and Σ s over the GPUs of the nodes in use; g: GPUs of a node.

    q: what a restart leaves of a job's speed; 1 if its GPUs stay.
    """
    count, nodes = state.shape
    unfairness, total = 0.0, 0.0
    for j in range(count):
        job_gpus, present, changed = 0, 0, False
        for n in range(nodes):
            job_gpus += state[j, n]
            present += state[j, n] > 0
            changed |= state[j, n] != jobs.base[j, n]
        speedup = jobs.speedups[j, 1 if present > 1 else 0, job_gpus]
        total += speedup
        unfairness += 1.0 / (speedup * (jobs.kept[j] if changed else 1.0) / gpus + LEAST)
    active = 0
    for n in range(nodes):
        for j in range(count):
            if state[j, n]:
                active += gpus
                break
    return count / unfairness, total / max(active, 1)


def evolve(first: Matrix, jobs: ElasticJobs, effort: SearchSize, rng: Generator) -> tuple[Matrix, Floats]:
    """Return the front of the last generation, (F, J, N), and its two objectives, (F, 2).

    ``first``: (P, J, N) solutions to begin with. What is done once per generation is left to NumPy: compiled,
    it would take longer than the search.
    """
    size = effort.population
    states = np.zeros((2 * size, *first.shape[1:]), np.int8)
    values = np.zeros((2 * size, 2))
    marks = np.zeros(2 * size, np.uint64)
    count = _founded(first[:size], states, values, marks, jobs, effort, rng)
    for _ in range(effort.generations - 1):
        far = crowding(values[:count], fronts(values[:count]))
        count = _with_children(states, values, marks, count, far, jobs, effort, rng)
        kept = survivors(values[:count], size)
        count = len(kept)
        for rows in (states, values, marks):
            rows[:count] = rows[kept]
    best = np.flatnonzero(fronts(values[:count]) == 0)
    return states[best], values[best]


@compiled
def _founded(
    first: Matrix,
    states: Matrix,
    values: Floats,
    marks: Marks,
    jobs: ElasticJobs,
    effort: SearchSize,
    rng: Generator,
) -> int:
    """Take in the solutions to begin with; return how many differ."""
    count = 0
    for i in range(len(first)):
        _copy(first[i], states[count])
        repair(states[count], effort.gpus, jobs.most, effort.avoid, rng)
        count += _enter(states, values, marks, count, jobs, effort.gpus)
    return count


@compiled
def _with_children(
    states: Matrix,
    values: Floats,
    marks: Marks,
    parents: int,
    far: Floats,
    jobs: ElasticJobs,
    effort: SearchSize,
    rng: Generator,
) -> int:
    """Add children of the ``parents`` solutions, which have ``far`` around them; return the number of all."""
    size, solutions, children = effort.population, parents, 0
    pair = np.zeros((2, states.shape[1], states.shape[2]), np.int8)
    for _ in range(TRIES):
        before = children
        for _ in range((size - children + 1) // 2):
            for k in range(2):
                _copy(states[_tournament(values, far, parents, rng)], pair[k])
            cross(pair[0], pair[1], rng)
            for k in range(2):
                if children == size:
                    break
                _copy(pair[k], states[solutions])
                mutate(states[solutions], jobs.base, effort.gpus, rng)
                repair(states[solutions], effort.gpus, jobs.most, effort.avoid, rng)
                new = _enter(states, values, marks, solutions, jobs, effort.gpus)
                solutions += new
                children += new
        if children in (before, size):  # where few solutions exist, a try may find none that is new
            break
    return solutions


@compiled
def _copy(source: Matrix, target: Matrix) -> None:
    """``target[:] = source``, whose checks of shapes take longer to compile."""
    for j in range(len(source)):
        for n in range(source.shape[1]):
            target[j, n] = source[j, n]


@compiled
def _tournament(values: Floats, far: Floats, count: int, rng: Generator) -> int:
    """Draw two solutions; return the one that dominates, else the one with more room around it."""
    a, b = int(rng.random() * count), int(rng.random() * count)
    first, second = values[a], values[b]
    if first[0] >= second[0] and first[1] >= second[1] and (first[0] > second[0] or first[1] > second[1]):
        return a
    if second[0] >= first[0] and second[1] >= first[1] and (second[0] > first[0] or second[1] > first[1]):
        return b
    if far[a] != far[b]:
        return a if far[a] > far[b] else b
    return a if rng.random() < 0.5 else b


@compiled
def _enter(states: Matrix, values: Floats, marks: Marks, at: int, jobs: ElasticJobs, gpus: int) -> int:
    """Value the solution at ``at``; 0 if one before it is equal, else 1."""
    mark = np.uint64(14695981039346656037)
    for entry in states[at].flat:
        mark = (mark ^ np.uint64(entry)) * np.uint64(1099511628211)  # FNV-1a
    marks[at] = mark
    for i in range(at):
        if marks[i] == mark and _equal(states[i], states[at]):
            return 0
    values[at, 0], values[at, 1] = value_of(states[at], jobs, gpus)
    return 1


@compiled
def _equal(one: Matrix, other: Matrix) -> bool:
    for j in range(len(one)):
        for n in range(one.shape[1]):
            if one[j, n] != other[j, n]:
                return False
    return True
