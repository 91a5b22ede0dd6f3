"""Queues of executors that take equal tasks in batches: waits, sizes of batches, and bounds.

Tasks arrive as a Poisson stream of rate λ; a step of b takes s(b)·X, X of mean 1 and variance scv. Let
n be how many wait when a step begins; b = min(n, B) of them are its members. With p_k(m) = e^-m m^k/k! and
x = min(d, s), the next step begins with k tasks, if none were left behind (n ≤ B), with probability ::

    k < B    e^-λ(s-x)·(p_{k-1}(λd) - p_k(λx)) + p_k(λs)
    k > B    p_k(λs)

and else with B: the first that comes after a step has begun is the oldest when it ends, and the step that it
will be in waits until its age is d. If r = n - B are left behind, they are older than s(B) when the step
ends; the next one begins at once, with r + k tasks, k ~ p_k(λs(B)). So the chain is exact for d = 0
(``greedy``) and any scv, and for d ≤ s(B) with scv = 0; a longer delay is taken as over for those who were
left behind, which was 3 % off at most in simulations with d up to 4·s(B).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nona.core.arrays import Floats
from nona.core.errors import PlacementError

_NODES = 24  # of the quadrature over X
_ACCURATE = 1e-9  # probability that the chain's tail may be wrong by
_MOST_STATES = 1 << 13


@dataclass(frozen=True, eq=False)
class BulkQueue:
    """The steady state of an executor with tasks of one kind.

    ``wait_s``, ``time_s``: mean seconds of a task until its step begins, and until that has ended.
    ``batch``: mean members of a step, E[b].
    ``busy``: share of the time in which the executor works: no measure of its load, which is λ·s(B)/B.
    ``sizes`` (B,): shares of the steps with 1, …, B members.
    """

    wait_s: float
    time_s: float
    batch: float
    busy: float
    sizes: Floats


@lru_cache(maxsize=1 << 14)
def bulk_queue(rate: float, step_s: tuple[float, ...], delay_s: float = 0.0, scv: float = 0.0) -> BulkQueue:
    """Solve the queue of tasks of one kind at one executor.

    ``rate``: λ, 1/s.
    ``step_s`` (B,): seconds of a step with 1, …, B members.
    ``delay_s``: how long the oldest waits for others; ``inf``: until the step is full (``static``).
    ``scv``: squared coefficient of variation of a step's seconds.

    Raises ``PlacementError`` for a rate that is not above 0, or not below B/s(B).

    Two at a time take as long as one:

    >>> queue = bulk_queue(1.6, (1.0, 1.0))
    >>> round(queue.time_s, 6), round(queue.batch, 6), round(queue.busy, 6)
    (2.319265, 1.701898, 0.940127)

    Source: N. T. J. Bailey, J. Royal Statistical Society B 16 (1954), for the chain at the ends of services;
    with idle executors and delays derived here.
    """
    _check_rate(rate, len(step_s), step_s[-1])
    size, times = len(step_s), np.array(step_s)
    draws, weights = _draws(scv)
    decay = _decay(rate * step_s[-1] * draws, weights, size)
    states = 2 * size + 48
    while True:
        chains = [_chain(rate, x * times, delay_s, states) for x in draws]
        begins = _stationary(_mean(weights, [rows for rows, _ in chains]), decay, size)
        if abs(begins[-1] - decay * begins[-2]) < _ACCURATE * (1.0 - decay) or states > _MOST_STATES:
            break
        states *= 2
    between_s, waiting = (begins @ _mean(weights, [hold for _, hold in chains])).tolist()
    beyond = begins[-1] * decay / (1.0 - decay)  # states above N, their mean is N + 1/(1 - η)
    sizes = np.append(begins[: size - 1], begins[size - 1 :].sum() + beyond)
    sizes = np.maximum(sizes, 0.0)  # of sizes that hardly ever occur rounding leaves something below
    members, step_of = np.arange(1.0, size + 1), times[np.minimum(np.arange(states), size - 1)]
    present = (begins * step_of) @ np.arange(1, states + 1) + beyond * times[-1] * (states + 1 / (1 - decay))
    arriving = rate * (1.0 + scv) / 2.0 * (sizes @ times**2)
    batch, busy_s = float(sizes @ members), float(sizes @ times)
    time_s = float(present + arriving + waiting) / batch  # Little: λ·(seconds between two begins) = E[b]
    return BulkQueue(
        wait_s=time_s - float((sizes * members) @ times) / batch,
        time_s=time_s,
        batch=batch,
        busy=busy_s / (busy_s + between_s),
        sizes=sizes,
    )


def _check_rate(rate: float, size: int, full_s: float) -> None:
    if not 0 < rate < size / full_s:
        raise PlacementError(
            f"Batches: rate={rate:g} /s must be above 0 and below {size / full_s:g} /s, what steps of {size} "
            "carry; lower the rate or allow more members."
        )


def _mean(weights: Floats, arrays: list[Floats]) -> Floats:
    result: Floats = np.tensordot(weights, np.array(arrays), axes=1)
    return result


def _draws(scv: float) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss's quadrature over X, gamma of mean 1 (G. H. Golub, J. H. Welsch 1969)."""
    if scv <= 0:
        return np.ones(1), np.ones(1)
    shape, i = 1.0 / scv, np.arange(_NODES)
    off = np.sqrt(i[1:] * (i[1:] + shape - 1.0))
    nodes, vectors = np.linalg.eigh(np.diag(2 * i + shape) + np.diag(off, 1) + np.diag(off, -1))
    return nodes * scv, vectors[0] ** 2


def _decay(means: Floats, weights: Floats, size: int) -> float:
    """Return η = 1/z with z^B = Σ w·e^(mean·(z - 1)), z > 1: how fast the chain's states fall off."""
    u = 1.0 - float(weights @ means) / size
    while _log_excess(u, means, weights, size)[0] <= 0:
        u *= 2.0
    for _ in range(200):  # convex, and from above: Newton's steps fall towards the root
        value, slope = _log_excess(u, means, weights, size)
        u -= value / slope
        if abs(value / slope) <= 1e-14 * u:
            break
    return 1.0 / (1.0 + u)


def _log_excess(u: float, means: Floats, weights: Floats, size: int) -> tuple[float, float]:
    """Logarithm of the right over the left at z = 1 + u, and its slope."""
    top = float(means.max()) * u
    terms = weights * np.exp(means * u - top)
    value = top + math.log(terms.sum()) - size * math.log1p(u)
    return value, float(terms @ means / terms.sum()) - size / (1.0 + u)


def _poisson(means: Floats, count: int) -> Floats:
    k = np.arange(count)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(k[1:]))])
    log_mean = np.log(np.maximum(means, 1e-300))[:, None]
    result: Floats = np.exp(k * log_mean - means[:, None] - log_factorial)
    return result


def _chain(rate: float, step_s: Floats, delay_s: float, states: int) -> tuple[Floats, Floats]:
    """Probabilities of the next state (N, N); seconds between its steps, and ∫ tasks waiting there (N, 2)."""
    size = len(step_s)
    served = _poisson(rate * step_s, states + 1)
    rows = np.zeros((states, states))
    rows[:size] = served[:, 1:]
    for n in range(size, states):
        rows[n, n - size :] = served[-1, : states - n + size]
    fewer = np.arange(1, size)
    if math.isinf(delay_s):
        waiting = np.cumsum(np.arange(size)[::-1])[::-1]  # Σ i from k to B - 1
        hold = rows[:, : size - 1] @ np.stack([size - fewer, waiting[1:]], axis=1)
        hold[:size] += served[:, :1] * [size, waiting[0]]
        rows[:, size - 1] += rows[:, : size - 1].sum(axis=1)
        rows[size - 1, size - 1] += served[-1, 0]
        rows[:, : size - 1] = 0.0
        return rows, hold / rate
    young = np.minimum(delay_s, step_s)
    since = np.exp(-rate * (step_s - young))[:, None]  # nobody came before the last d seconds
    by_delay, by_young = _poisson(rate * np.array([delay_s]), size), _poisson(rate * young, size + 1)
    beside = _poisson(rate * step_s, size) - _poisson(rate * np.maximum(step_s, delay_s), size)
    rows[:size, : size - 1] += since * (by_delay[:, :-1] - by_young[:, 1:size])
    rows[:size, size - 1] = served[:, : size + 1].sum(axis=1) - rows[:size, : size - 1].sum(axis=1)
    hold = np.zeros((states, 2))
    each = (
        since * by_young[:, 1:size] + np.cumsum(beside, axis=1)[:, :-1]
    )  # λ times the seconds with 1, …, B - 1 of them
    hold[:size] = each @ np.stack([np.ones(size - 1), fewer], axis=1)
    hold[:size, 0] += served[:, 0]
    return rows, hold / rate


def _stationary(rows: Floats, decay: float, size: int) -> Floats:
    """(N,) The chain's steady state, with π_{N+j} = π_N η^j beyond its last state."""
    states = len(rows)
    served = rows[size]  # with one left behind, the next state is 1 + k
    closed = rows.copy()
    for j in range(1, size + 1):
        first = states + j - size - 1
        closed[-1, first:] += decay**j * served[: states - first]
    balance = closed.T - np.eye(states)
    balance[-1] = 1.0
    balance[-1, -1] = 1.0 / (1.0 - decay)
    right = np.zeros(states)
    right[-1] = 1.0
    result: Floats = np.linalg.solve(balance, right).astype(np.float64)
    return result


def memoryless_batches(rate: float, size: int, step_s: float) -> tuple[float, float]:
    """Mean seconds of a task in M/M[1,B]/1, and the share of time in which the executor is idle.

    Steps take exponential times of mean ``step_s``, whatever their members; nobody joins one that has begun.

    >>> [round(number, 6) for number in memoryless_batches(6.4, 8, 1.0)]
    [3.95671, 0.007725]

    Source: D. Gross, C. M. Harris, Fundamentals of Queueing Theory (bulk service), for the roots.
    """
    _check_rate(rate, size, step_s)
    service = 1.0 / step_s
    low, high = rate / (rate + service), 1.0
    for _ in range(200):
        omega = (low + high) / 2.0
        if service * omega ** (size + 1) - (rate + service) * omega + rate > 0:
            low = omega
        else:
            high = omega
    empty = 1.0 / (service / rate + 1.0 / (1.0 - omega))
    return empty * omega / (rate * (1.0 - omega) ** 2) + step_s, empty * service / rate


def unlimited_bound_s(rate: float, fixed_s: float, each_s: float) -> float:
    """Return an upper bound of a task's mean seconds where steps take τ + α·b and B is unlimited.

    The least of φ0 = (α + τ)/(2(1 - λα))·(1 + 2λτ + (1 - λτ)/(1 + λα)) and
    φ1 = 3τ/(2(1 - λα)) + α(λα + 2)/(2(1 - λ²α²)); ``inf`` for λα ≥ 1.

    >>> round(unlimited_bound_s(2.0, 1.8874, 0.1438), 5)
    4.15334

    Source: Y. Inoue, Queueing analysis of GPU-based inference servers with dynamic batching, Performance
    Evaluation 147 (2021), arXiv:1912.06322.
    """
    used, fixed = rate * each_s, rate * fixed_s
    if used >= 1.0:
        return math.inf
    light = (each_s + fixed_s) / (2 * (1 - used)) * (1 + 2 * fixed + (1 - fixed) / (1 + used))
    heavy = 3 * fixed_s / (2 * (1 - used)) + each_s / 2 * (used + 2) / (1 - used**2)
    return min(light, heavy)
