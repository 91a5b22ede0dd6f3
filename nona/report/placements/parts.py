"""The parts of each model's predicted time; they add up to the prediction shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
WAITS = ("network_wait_s", "server_wait_s")


def parts_of(models: Mapping[str, Row], response: Row | None) -> dict[str, dict[str, float]]:
    """Parts of each model's mean JCT, seconds: :func:`parts` where jobs were sampled, else the formula's."""
    if response is None:
        return {name: dict(m) for name, m in models.items()}
    return {name: parts(m, response["models"][name]["mean_s"]) for name, m in models.items()}


def parts(formula: Row, mean_s: float | None) -> dict[str, float]:
    """The formula's parts of the longest path, and what sampled jobs take beyond it, ``joins_s``.

    Where they take less, the formula's waits are too long: these are shortened so that the parts add up.

    >>> path = {"compute_s": 5.0, "transfer_s": 1.0, "network_wait_s": 1.5, "server_wait_s": 0.5}
    >>> parts(path, 10.0)["joins_s"], parts(path, 7.0)["network_wait_s"]
    (2.0, 0.75)
    """
    found = {k: float(v) for k, v in formula.items() if k in ("compute_s", "transfer_s", *WAITS)}
    if mean_s is None:
        return {**found, "jct_s": sum(found.values()), "joins_s": 0.0}
    beyond = mean_s - sum(found.values())
    waits = sum(found[k] for k in WAITS)
    if beyond < 0 and waits > 0:
        left = max(waits + beyond, 0.0) / waits
        found |= {k: left * found[k] for k in WAITS}
    return {**found, "jct_s": mean_s, "joins_s": max(beyond, 0.0)}
