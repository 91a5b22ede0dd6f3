"""How the search makes new solutions: crossover, mutation, repair.

A solution is a matrix (jobs, nodes) of GPUs. Draws come from the generator that is passed in.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nona.allocation.policies.problem import Ints
from nona.compiled import compiled

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
    for n in rng.permutation(len(row)):
        if nodes == MOST_NODES or left == 0:
            row[n] = 0
        elif row[n]:
            row[n] = min(int(row[n]), left)
            left -= row[n]
            nodes += 1
