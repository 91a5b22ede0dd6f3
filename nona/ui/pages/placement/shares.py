"""How much of a placement is split, from its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona.ui.pages.placement.configuration_list import is_local

Report = Mapping[str, Any]
LEAST = 5e-4  # of the probability: what is less splits nothing that counts


def split_share(report: Report) -> float:
    """Mean probability of splitting over the sub-graphs that have an interior."""
    shares = [split_of(s) for m in report["models"].values() for s in m["subgraphs"] if has_interior(s)]
    return sum(shares) / len(shares) if shares else 0.0


def has_interior(subgraph: Report) -> bool:
    """Whether there is anything to place between root and sink."""
    return any(part for c in subgraph["configurations"] for part in c["parts"])


def split_of(subgraph: Report) -> float:
    """Probability that the sub-graph does not stay on one server."""
    return float(sum(c["probability"] for c in subgraph["configurations"] if not is_local(c)))
