"""Normalisation and softmax: a few FLOPs per element, bound by memory."""

from __future__ import annotations

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site
from nona.graph.model import Work

_PER_ELEMENT = {
    "BatchNormalization": 2,  # at inference a scale and a shift
    "LayerNormalization": 7,  # mean, centre, square, mean, root, scale, shift
    "SkipLayerNormalization": 8,
    "InstanceNormalization": 7,
    "GroupNormalization": 7,
    "GroupNorm": 7,
    "MeanVarianceNormalization": 5,
    "RMSNormalization": 4,
    "SimplifiedLayerNormalization": 4,
    "SkipSimplifiedLayerNormalization": 5,
    "LpNormalization": 3,
    "Softmax": 5,  # maximum, subtract, exp, sum, divide
    "LogSoftmax": 5,
    "Hardmax": 2,
}


@rule(*_PER_ELEMENT)
def normalisation(site: Site) -> Work:
    """The table's FLOPs per element of the output."""
    return site.work(flops=_PER_ELEMENT[site.operator.kind] * site.output_elements)


@rule("LRN")
def local_response(site: Site) -> Work:
    """Across ``size`` channels: a square and a sum each, then a power and a product."""
    return site.work(flops=(2 * site.attribute("size", 1) + 3) * site.output_elements)
