"""The parts of each model's predicted time; they add up to the prediction shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nona.results.placement.configuration import PlacedModel
from nona.results.placement.response import ResponseReport


@dataclass(frozen=True, slots=True)
class TimeParts:
    """Mean JCT of a model and its parts, seconds; ``joins_s`` is what sampled jobs take beyond the path."""

    jct_s: float
    compute_s: float
    transfer_s: float
    network_wait_s: float
    server_wait_s: float
    joins_s: float = 0.0


PARTS: Mapping[str, Callable[[TimeParts], float]] = {
    "compute": lambda t: t.compute_s,
    "transfer": lambda t: t.transfer_s,
    "network_wait": lambda t: t.network_wait_s,
    "server_wait": lambda t: t.server_wait_s,
    "joins": lambda t: t.joins_s,
}
"""Name of a part → its seconds, in the order in which they are shown."""


def parts_of(models: Mapping[str, PlacedModel], response: ResponseReport | None) -> dict[str, TimeParts]:
    """Parts of each model's mean JCT: :func:`with_joins` where jobs were sampled, else the formula's."""
    path = {name: path_parts(m) for name, m in models.items()}
    if response is None:
        return path
    return {name: with_joins(p, response.models[name].mean_s) for name, p in path.items()}


def path_parts(model: PlacedModel) -> TimeParts:
    """The formula's parts of the longest path; 0 where there is no steady state."""
    return TimeParts(
        model.jct_s or 0.0,
        model.compute_s or 0.0,
        model.transfer_s or 0.0,
        model.network_wait_s or 0.0,
        model.server_wait_s or 0.0,
    )


def with_joins(path: TimeParts, mean_s: float | None) -> TimeParts:
    """The formula's parts of the longest path, and what sampled jobs take beyond it.

    Where they take less, the formula's waits are too long: these are shortened so that the parts add up.

    >>> path = TimeParts(8.0, compute_s=5.0, transfer_s=1.0, network_wait_s=1.5, server_wait_s=0.5)
    >>> with_joins(path, 10.0).joins_s, with_joins(path, 7.0).network_wait_s
    (2.0, 0.75)
    """
    waits_s = path.network_wait_s + path.server_wait_s
    total_s = path.compute_s + path.transfer_s + waits_s
    if mean_s is None:
        mean_s = total_s
    beyond_s = mean_s - total_s
    left = max(waits_s + beyond_s, 0.0) / waits_s if beyond_s < 0 and waits_s > 0 else 1.0
    return TimeParts(
        mean_s,
        path.compute_s,
        path.transfer_s,
        left * path.network_wait_s,
        left * path.server_wait_s,
        max(beyond_s, 0.0),
    )
