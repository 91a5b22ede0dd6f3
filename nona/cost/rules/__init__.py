"""FLOP and byte rules per kind of ONNX operator. Importing this package fills the register."""

from nona.cost.rules import (
    attention,
    convolution,
    elementwise,
    matmul,
    movement,
    normalisation,
    recurrent,
    reduction,
    views,
)
from nona.cost.rules.registry import RULES, Rule, rule
from nona.cost.rules.site import Site, UnknownShapeError

__all__ = [
    "RULES",
    "Rule",
    "Site",
    "UnknownShapeError",
    "attention",
    "convolution",
    "elementwise",
    "matmul",
    "movement",
    "normalisation",
    "recurrent",
    "reduction",
    "rule",
    "views",
]
