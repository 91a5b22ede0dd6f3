"""What a scenario adds to the times in a model's file: their device, and factors for other devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nona.cost.carrying import bound_of
from nona.errors import CostError
from nona.graph.model import ANY_DEVICE, ModelGraph, Operator


def has_given_times(graph: ModelGraph) -> bool:
    """Whether the file states a time for some operator."""
    return any(o.compute_s for o in graph.operators)


def with_given(graph: ModelGraph, device: str | None, factors: Mapping[str, float]) -> ModelGraph:
    """The graph with its stated times on ``device``, and on others by ``factors``.

    Parameters
    ----------
    device
        On which the times hold (``"any"``: on all alike), in place of what the file says; ``None``: as the
        file says. Where it gives a task times for several devices, those stay.
    factors
        Device or executor class → its time over the stated one. Host work has no factor, and a time
        that the file states for that very class stays.

    Raises
    ------
    CostError
        When the file states no times.

    Examples
    --------
    >>> flow = ModelGraph("flow", (Operator("a", compute_s={"*": 0.002}),), ())
    >>> with_given(flow, "a100-40gb", {"t4": 3.0}).operators[0].compute_s
    {'a100-40gb': 0.002, 't4': 0.006}
    """
    if device is None and not factors:
        return graph
    if not has_given_times(graph):
        raise CostError(
            f"Model {graph.name!r}: its file states no times, so cost.given has nothing to say; remove it."
        )
    named = ANY_DEVICE if device == "any" else device
    operators = tuple(replace(o, compute_s=_times(o, named, factors)) for o in graph.operators)
    return replace(graph, operators=operators, device=named or graph.device)


def _times(
    operator: Operator, device: str | None, factors: Mapping[str, float]
) -> Mapping[str, float] | None:
    stated = operator.compute_s
    if not stated:
        return stated
    times = dict(stated)
    if device is not None and len(times) == 1:
        times = {device: next(iter(times.values()))}
    if bound_of(operator) != "host":
        base = next(iter(times.values()))
        times |= {name: base * factor for name, factor in factors.items() if name not in times}
    return times
