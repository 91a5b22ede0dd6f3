"""Matrix products: MatMul, Gemm, Einsum. MACs = output elements · length of the summed axes."""

from __future__ import annotations

import math

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site, UnknownShapeError
from nona.graph.model import Work


@rule("MatMul", "MatMulInteger", "QLinearMatMul")
def matmul(site: Site) -> Work:
    """The last axis of the first input is summed."""
    shape = site.input_shape()
    return site.work(macs=site.output_elements * (shape[-1] if shape else 1))


@rule("FusedMatMul")
def fused_matmul(site: Site) -> Work:
    """A MatMul with optional transposition (ONNX Runtime)."""
    shape = site.input_shape()
    return site.work(macs=site.output_elements * shape[-2 if site.attribute("transA", 0) else -1])


@rule("MatMulNBits", "MatMulBnb4")
def packed_matmul(site: Site) -> Work:
    """A MatMul whose weights are packed to a few bits; the summed length is the attribute K."""
    length = site.attribute("K", 0) or site.input_shape()[-1]
    return site.work(macs=site.output_elements * length)


@rule("Gemm", "QGemm")
def gemm(site: Site) -> Work:
    """α·A·B + β·C; C, the bias, adds one per output element."""
    length = site.input_shape()[0 if site.attribute("transA", 0) else -1]
    out = site.output_elements
    return site.work(macs=out * length, flops=out if site.has_input(2) else 0)


@rule("Einsum")
def einsum(site: Site) -> Work:
    """MACs = product of the lengths of all indices, for each of the products between the inputs.

    With one input there is nothing to multiply: additions of the summed elements only.
    """
    lengths, ellipsis = _index_lengths(site)
    points = math.prod(lengths.values()) * ellipsis
    factors = len(site.operator.inputs)
    return site.work(macs=points * (factors - 1)) if factors > 1 else site.work(flops=points)


def _index_lengths(site: Site) -> tuple[dict[str, int], int]:
    """Length of every index of the equation, and the elements that the ellipsis stands for."""
    terms = site.text("equation").replace(" ", "").split("->")[0].split(",")
    if len(terms) != len(site.operator.inputs):
        raise UnknownShapeError
    lengths: dict[str, int] = {}
    ellipsis: dict[int, int] = {}
    for place, term in enumerate(terms):
        shape = site.input_shape(place)
        before, dots, after = term.partition("...")
        if len(before) + len(after) > len(shape):
            raise UnknownShapeError
        tail = len(shape) - len(after)
        pairs = [*zip(before, shape, strict=False), *zip(after, shape[tail:], strict=True)]
        for letter, length in pairs:
            lengths[letter] = max(lengths.get(letter, 1), length)
        if dots:
            for back, length in enumerate(reversed(shape[len(before) : tail])):
                ellipsis[back] = max(ellipsis.get(back, 1), length)
    return lengths, math.prod(ellipsis.values())
