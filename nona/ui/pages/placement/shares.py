"""How much of a placement is split, from its report."""

from __future__ import annotations

from nona.results.placement.configuration import PlacedModel
from nona.results.placement.report import PlacementReport

LEAST = 5e-4  # of the probability: what is less splits nothing that counts


def split_share(report: PlacementReport) -> float:
    """Mean probability of splitting over the sub-graphs that have an interior."""
    shares = [s.split for m in report.models.values() for s in m.subgraphs if s.has_interior]
    return sum(shares) / len(shares) if shares else 0.0


def model_split(model: PlacedModel) -> float:
    """The same of one model; 0 if it has nothing to split."""
    own = [s.split for s in model.subgraphs if s.has_interior]
    return sum(own) / len(own) if own else 0.0
