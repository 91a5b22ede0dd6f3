"""NSGA-II over who has which GPUs (Deb et al., 2002; Qiao et al., Pollux, OSDI 2021, section 4.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nona.allocation.policies.problem import Floats, Ints
from nona.compiled import compiled
from nona.training.elastic.policies.pollux.operators import Matrix, cross, mutate, repair
from nona.training.elastic.policies.pollux.ranking import crowding, fronts, survivors

Marks = NDArray[np.uint64]
LEAST = 1e-3  # added to a speed-up, so that one of 0 has a value
TRIES = 100  # at filling a generation with solutions that are all different


class Jobs(NamedTuple):
    """What the search knows of J jobs.

    ``base`` (J, N) their GPUs now; ``speedups`` (J, 2, R + 1) by GPUs, on one node and on several; ``kept``
    (J,) the part of its speed that a job keeps if its GPUs change; ``most`` (J,) GPUs.
    """

    base: Matrix
    speedups: Floats
    kept: Floats
    most: Ints


class Effort(NamedTuple):
    """``population`` solutions, ``generations`` with the first; ``gpus`` of a node; ``avoid``: see repair."""

    population: int
    generations: int
    gpus: int
    avoid: bool


@compiled
def value_of(state: Matrix, jobs: Jobs, gpus: int) -> tuple[float, float]:
    """[mean 1/(s·q/g + 0.001)]⁻¹, and Σ s over the GPUs of the nodes in use; g: GPUs of a node.

    q: what a restart leaves of a job's speed; 1 if its GPUs stay.
    """
    count, nodes = state.shape
    unfairness, total = 0.0, 0.0
    for j in range(count):
        held, present, changed = 0, 0, False
        for n in range(nodes):
            held += state[j, n]
            present += state[j, n] > 0
            changed |= state[j, n] != jobs.base[j, n]
        speedup = jobs.speedups[j, 1 if present > 1 else 0, held]
        total += speedup
        unfairness += 1.0 / (speedup * (jobs.kept[j] if changed else 1.0) / gpus + LEAST)
    active = 0
    for n in range(nodes):
        for j in range(count):
            if state[j, n]:
                active += gpus
                break
    return count / unfairness, total / max(active, 1)


@compiled
def evolve(first: Matrix, jobs: Jobs, effort: Effort, rng: Generator) -> tuple[Matrix, Floats]:
    """The front of the last generation, (F, J, N), and its two objectives, (F, 2).

    ``first``: (P, J, N) solutions to begin with.
    """
    size, gpus = effort.population, effort.gpus
    states = np.zeros((2 * size, *first.shape[1:]), np.int8)
    values = np.zeros((2 * size, 2))
    marks = np.zeros(2 * size, np.uint64)
    known = 0
    for i in range(min(len(first), size)):
        states[known] = first[i]
        repair(states[known], gpus, jobs.most, effort.avoid, rng)
        known += _enter(states, values, marks, known, jobs, gpus)
    for _ in range(effort.generations - 1):
        known = _generation(states, values, marks, known, jobs, effort, rng)
    best = np.flatnonzero(fronts(values[:known]) == 0)
    return states[best], values[best]


@compiled
def _generation(
    states: Matrix, values: Floats, marks: Marks, known: int, jobs: Jobs, effort: Effort, rng: Generator
) -> int:
    """Children of the ``known`` solutions beside them, then the best of both; how many there are."""
    size = effort.population
    front = fronts(values[:known])
    far = crowding(values[:known], front)
    parents, children = known, 0
    pair = np.zeros((2, *states.shape[1:]), np.int8)
    for _ in range(TRIES):
        before = children
        for _ in range((size - children + 1) // 2):
            for k in range(2):
                pair[k] = states[_tournament(values, far, parents, rng)]
            cross(pair[0], pair[1], rng)
            for k in range(2):
                if children == size:
                    break
                states[known] = pair[k]
                mutate(states[known], jobs.base, effort.gpus, rng)
                repair(states[known], effort.gpus, jobs.most, effort.avoid, rng)
                new = _enter(states, values, marks, known, jobs, effort.gpus)
                known += new
                children += new
        if children in (before, size):  # where few solutions exist, a try may find none that is new
            break
    kept = survivors(values[:known], size)
    count = len(kept)
    states[:count], values[:count], marks[:count] = states[kept], values[kept], marks[kept]
    return count


@compiled
def _tournament(values: Floats, far: Floats, count: int, rng: Generator) -> int:
    """Of two random solutions the one that dominates, else the one with more room around it."""
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
def _enter(states: Matrix, values: Floats, marks: Marks, at: int, jobs: Jobs, gpus: int) -> int:
    """Value the solution at ``at``; 0 if one before it is equal, else 1."""
    mark = np.uint64(14695981039346656037)
    for entry in states[at].flat:
        mark = (mark ^ np.uint64(entry)) * np.uint64(1099511628211)  # FNV-1a
    marks[at] = mark
    for i in range(at):
        if marks[i] == mark and np.array_equal(states[i], states[at]):
            return 0
    values[at, 0], values[at, 1] = value_of(states[at], jobs, gpus)
    return 1
