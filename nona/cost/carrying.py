"""Stated times on other hardware: how much longer a task takes on one executor class than on another.

Where the task's FLOPs and bytes are known, the ratio is that of the modelled times
(:mod:`nona.cost.costing`). Where they are not, it follows from what bounds the task:

=============  =========================================================================
``compute``    (e_c·g·P) of the one over that of the other
``memory``     (e_m·g·B) of the one over that of the other
``host``       1: it does not run on the device
not known      from device to device the geometric mean of both; to a slice or share f^(−γ)
=============  =========================================================================

P is the peak at the precision in use, B the bandwidth, g the gain of a slice (:class:`Roofline`), γ the
exponent of :func:`given_slowdown`. A task's bound is what its file states, else that of its kind
(``data/task_kinds.csv``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import cast

from nona.cost.options import CostOptions
from nona.cost.roofline import Roofline, given_slowdown
from nona.graph.model import Bound, Operator
from nona.hardware.device import Precision
from nona.hardware.executor import ExecutorClass, make_executor_class
from nona.hardware.table_file import shipped_table


def bound_of(operator: Operator) -> Bound | None:
    """What the operator's time depends on: as stated, else by its kind; ``None`` where nothing tells.

    >>> bound_of(Operator("a", "MatMul")), bound_of(Operator("b", "Lookup")), bound_of(Operator("c"))
    ('compute', 'host', None)
    """
    return operator.bound or _kinds().get(operator.kind.lower())


def carried(bound: Bound | None, source: ExecutorClass, target: ExecutorClass, options: CostOptions) -> float:
    """Time on ``target`` over time on ``source`` of a task whose work is not known.

    >>> from nona.hardware.executor import executor_class
    >>> a100, t4 = executor_class("a100-40gb"), executor_class("t4")
    >>> [round(carried(b, a100, t4, CostOptions()), 2) for b in ("compute", "memory", "host", None)]
    [2.41, 4.86, 1.0, 3.42]
    """
    if bound == "host" or source.name == target.name:
        return 1.0
    precision = options.peak_for(None)
    if bound is not None:
        return _speed(bound, source, precision, options) / _speed(bound, target, precision, options)
    whole = [make_executor_class(e.device) for e in (source, target)]
    ratios = [carried(b, whole[0], whole[1], options) for b in ("compute", "memory")]
    return math.sqrt(math.prod(ratios)) * given_slowdown(target) / given_slowdown(source)


def _speed(bound: Bound, executor: ExecutorClass, precision: Precision, options: CostOptions) -> float:
    """FLOP/s or bytes/s that kernels reach."""
    roofline = Roofline(executor, options.stack)
    work = (1.0, 0.0) if bound == "compute" else (0.0, 1.0)
    return 1.0 / roofline.work_s(*work, precision)


@cache
def _kinds() -> Mapping[str, Bound]:
    rows = shipped_table("nona.cost", "data/task_kinds.csv")
    return MappingProxyType({row["kind"]: cast(Bound, row["bound"]) for row in rows})
