"""A known system of two kinds of executors, each query class drawing them by shares of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.contraction.task_graph import TaskGraph
from nona.placement.fixed.presets import place_fixed
from nona.placement.result.placement import Placement
from nona.placement.waits.queueing import fifo_wait_s
from nona.schedulers.base import Prepared
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling.tables import build_tables
from nona.simulation.known.parts import KnownSystem, exactly, query_of, run_length, system_of
from nona.system import System

Floats = NDArray[np.float64]
_COUNTS = np.array([2.0, 3.0])
_NAMES = ("short", "long")
_TIMES = np.array([[0.004, 0.012], [0.02, 0.03]])  # seconds of a query on each kind
_SCV = np.array([1.0, 0.0])
_RATES = np.array([4.0, 1.0])  # relative
_SHARES = np.array([[0.8, 0.2], [0.3, 0.7]])
_APART = 0.2  # relative: a rival nearer than that would not be told apart


@dataclass(frozen=True, slots=True)
class _ByShares:
    """``prepare`` of ``local`` with given shares; a class, so that it can go to another process."""

    shares: tuple[tuple[float, ...], ...]

    def __call__(self, system: System, placement: Placement | None, options: Mapping[str, Any]) -> Prepared:
        placed = [place_fixed(system, q, "local") for q in system.queries]
        return build_tables(system, placed, shares=np.array(self.shares))


def two_kinds(load: float) -> KnownSystem:
    """Two quick and three slow executors; the busier kind is loaded to ``load``."""
    rates = _RATES * load / _loads(_RATES, _SHARES).max()
    used, times = _loads(rates, _SHARES), _jct_s(rates, _SHARES)
    alike = _jct_s(rates, np.tile(_COUNTS / _COUNTS.sum(), (2, 1)))
    expected = []
    for j, name in enumerate(_NAMES):
        far = not abs(alike[j] / times[j] - 1) < _APART and math.isfinite(alike[j])
        rivals = {"every executor drawn alike": float(alike[j])} if far else {}
        expected.append(exactly(float(times[j]), rivals, name, j))
    queries = [
        query_of(TaskGraph.from_edges(name, _TIMES[j][:, None]), float(rates[j]), float(_SCV[j]))
        for j, name in enumerate(_NAMES)
    ]
    system = replace(
        system_of(queries, executors=int(_COUNTS.sum()), seed=31),
        executor_class=np.repeat([0, 1], _COUNTS.astype(np.int64)),
        class_names=("quick", "slow"),
    )
    by_shares = _ByShares(tuple(map(tuple, _SHARES.tolist())))
    return KnownSystem(
        name="M/G/1 of two kinds, by shares",
        theory="Pollaczek–Khinchine",
        load=load,
        system=system,
        scheduler=replace(get_scheduler("local"), prepare=by_shares),
        expected=tuple(expected),
        compute=float(used @ _COUNTS / _COUNTS.sum()),
        network=0.0,
        length=run_length(load, share=0.2),
    )


def _loads(rates: Floats, shares: Floats) -> Floats:
    """(K,) ρ of an executor of each kind."""
    result: Floats = (rates[:, None] * shares * _TIMES).sum(axis=0) / _COUNTS
    return result


def _jct_s(rates: Floats, shares: Floats) -> Floats:
    """(J,) Σ_k s_jk (W_k + p_jk), W_k of an M/G/1 queue at each executor."""
    squares = _TIMES**2 * (1 + _SCV)[:, None]
    moments = (rates[:, None] * shares * squares).sum(axis=0) / _COUNTS
    used = _loads(rates, shares)
    waits = np.array([fifo_wait_s(r, m) for r, m in zip(used.tolist(), moments.tolist(), strict=True)])
    result: Floats = (shares * (waits + _TIMES)).sum(axis=1)
    return result
