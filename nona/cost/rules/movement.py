"""Operators that only move data: no FLOPs. Some read less than their whole input."""

from __future__ import annotations

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site
from nona.graph.model import Work


@rule("Concat", "SpaceToDepth", "DepthToSpace", "ReverseSequence", "ConcatFromSequence", "QLinearConcat")
def copy(site: Site) -> Work:
    """Everything is read and written."""
    return site.work()


@rule("Transpose", "Pad", "Trilu", launch="fused")
def rearrangement(site: Site) -> Work:
    """Everything is read and written, mostly inside a neighbour's kernel."""
    return site.work()


@rule("Slice", "Split", "Expand", "Tile", launch="fused")
def part_or_repeat(site: Site) -> Work:
    """What is read is at most what is written (Slice, Split), and at most the input (Expand, Tile)."""
    return _partial(site)


@rule("Gather", "GatherElements", "GatherND", "Compress", "OneHot", "EmbedLayerNormalization")
def lookup(site: Site) -> Work:
    """Only the rows that are looked up are read: as many bytes as are written, and the indices."""
    return _partial(site)


@rule("ScatterElements", "ScatterND", "Scatter", "TensorScatter")
def scatter(site: Site) -> Work:
    """Indices and updates are read, the updated rows are written."""
    updates = site.bytes_of(site.operator.inputs[1:])
    return site.work(read=updates, write=min(updates, site.write_bytes), weight=0.0)


@rule("Resize", "Upsample", "GridSample", "AffineGrid", "CenterCropPad", "Col2Im", "ImageDecoder")
def resampling(site: Site) -> Work:
    """Four neighbours, each a product and a sum, per element of the output (linear in two axes)."""
    return site.work(flops=8 * site.output_elements)


@rule("Range", "EyeLike", "Constant", "ConstantOfShape", "HannWindow", "HammingWindow", "BlackmanWindow")
def generation(site: Site) -> Work:
    """Written only."""
    return site.work(read=0.0, weight=0.0)


def _partial(site: Site) -> Work:
    """The first input counts at most as many bytes as are written; the others count whole."""
    data, *rest = site.operator.inputs or ("",)
    used = min(site.bytes_of((data,)), site.write_bytes)
    static = site.is_static(data)
    others = site.bytes_of(n for n in rest if not site.is_static(n))
    return site.work(read=others + (0.0 if static else used), weight=used if static else 0.0)
