"""Convolutions. MACs = output elements · (input channels / groups) · kernel size."""

from __future__ import annotations

import math

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site
from nona.graph.model import Work


@rule("Conv", "ConvInteger", "FusedConv", "NhwcConv", "NhwcFusedConv", "DeformConv", "CausalConvWithState")
def convolution(site: Site) -> Work:
    """Weights are (out channels, in channels / groups, kernel …)."""
    bias = {"DeformConv": 3, "ConvInteger": -1}.get(site.operator.kind, 2)
    return _convolution(site, weight=1, bias=bias)


@rule("QLinearConv")
def quantised_convolution(site: Site) -> Work:
    """Inputs: x, its scale and zero point, then the weights; the bias is the ninth."""
    return _convolution(site, weight=3, bias=8)


@rule("ConvTranspose")
def transposed_convolution(site: Site) -> Work:
    """Weights are (in channels, out channels / groups, kernel …): every input element meets them once."""
    macs = site.input_elements * math.prod(site.input_shape(1)[1:])
    return site.work(macs=macs, flops=site.output_elements if site.has_input(2) else 0)


def _convolution(site: Site, weight: int, bias: int) -> Work:
    out = site.output_elements
    has_bias = bias > 0 and site.has_input(bias)
    return site.work(macs=out * math.prod(site.input_shape(weight)[1:]), flops=out if has_bias else 0)
