"""What a policy of a training cluster is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from nona.allocation.policies.problem import Allocation, Problem
from nona.look import Look
from nona.options import Options


class Allocator(Protocol):
    """A policy with its options; keeps nothing between questions: equal problems have equal answers."""

    def __call__(self, problem: Problem) -> Allocation:
        """Shares of time for the problem's jobs."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy's declaration.

    ``summary``, ``source``, ``adaptation``: what it does, where it is from, what was changed or assumed.
    ``prepare(options)`` gives the allocator and refuses options that are not in ``defaults``.
    ``objective`` says what ``Allocation.objective`` is, with its unit; "" where nothing is optimised.
    ``heterogeneous``: whether it knows that types differ; its rounds then look at types in a fixed order.
    ``space_sharing``: whether it can put two jobs on the same GPUs (option ``space_sharing``).
    ``needs_share``: whether rounds leave GPUs idle rather than give them to a job without a share.
    ``needs_steps``, ``needs_prices``: whether it looks at remaining steps (NaN where nobody stated them), or
    at prices. ``look`` is how it looks on charts; without one it gets a spare look.
    """

    name: str
    title: str
    summary: str
    source: str
    adaptation: str
    prepare: Callable[[Options], Allocator]
    defaults: Options
    option_help: Mapping[str, str]
    objective: str = ""
    heterogeneous: bool = True
    space_sharing: bool = False
    needs_share: bool = False
    needs_steps: bool = False
    needs_prices: bool = False
    look: Look | None = None
