"""Pooling, reductions, sorting, transforms: one FLOP per element that enters."""

from __future__ import annotations

import math

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site
from nona.graph.model import Work


@rule("MaxPool", "AveragePool", "LpPool", "QLinearAveragePool")
def pooling(site: Site) -> Work:
    """One FLOP per window element and output element."""
    return site.work(flops=site.output_elements * math.prod(site.numbers("kernel_shape")))


@rule(
    *("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "QLinearGlobalAveragePool"),
    *("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1"),
    *("ArgMax", "ArgMin", "CumSum", "CumProd", "NonZero", "Unique", "Det"),
)
def reduction(site: Site) -> Work:
    """One FLOP per element of the input."""
    return site.work(flops=site.input_elements)


@rule("ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
def reduction_of_function(site: Site) -> Work:
    """A function and a sum per element of the input."""
    return site.work(flops=2 * site.input_elements)


@rule("TopK")
def top_k(site: Site) -> Work:
    """A heap of k: n·log₂ k comparisons, n the elements of the input."""
    k = site.output_shape()[site.attribute("axis", -1)]
    return site.work(flops=site.input_elements * max(1.0, math.log2(max(k, 2))))


@rule("DFT", "STFT")
def fourier_transform(site: Site) -> Work:
    """5·n·log₂ n for each transform of length n (Cooley and Tukey 1965; n from the output)."""
    shape = site.output_shape()
    length = shape[site.attribute("axis", -2)] if len(shape) > 1 else shape[0]
    points = math.prod(shape) / (2 if shape[-1] == 2 else 1)
    return site.work(flops=5 * points * math.log2(max(length, 2)))


@rule("MaxRoiPool", "RoiAlign")
def region_pooling(site: Site) -> Work:
    """Four corners, each a product and a sum, per sample of each output element."""
    samples = max(site.attribute("sampling_ratio", 2), 1) ** 2
    return site.work(flops=8 * samples * site.output_elements)


@rule("NonMaxSuppression")
def non_max_suppression(site: Site) -> Work:
    """Every box against every box of its class, ten FLOPs a pair: an upper bound."""
    boxes, scores = site.input_shape(), site.input_shape(1)
    return site.work(flops=10 * boxes[0] * boxes[1] ** 2 * scores[1])
