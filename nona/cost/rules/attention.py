"""Attention as one operator. MACs = batch · heads · queries · keys · (head size of Q·Kᵀ + of ·V)."""

from __future__ import annotations

from nona.cost.rules.registry import rule
from nona.cost.rules.site import Site, UnknownShapeError
from nona.graph.model import Work

SOFTMAX_FLOPS = 5


@rule("Attention")
def attention(site: Site) -> Work:
    """ONNX's operator (Q, K, V), or ONNX Runtime's older one (input, weights of Q, K and V, bias)."""
    if len(site.input_shape()) == 3 and len(site.input_shape(1)) == 2:
        return _projected(site)
    return _attention(site, site.attribute("q_num_heads", 0), site.attribute("kv_num_heads", 0), past=4)


@rule("MultiHeadAttention")
def multi_head_attention(site: Site) -> Work:
    """ONNX Runtime's operator on separate Q, K and V."""
    heads = site.attribute("num_heads", 0)
    return _attention(site, heads, heads, past=6)


@rule("GroupQueryAttention")
def group_query_attention(site: Site) -> Work:
    """ONNX Runtime's operator: more query heads than key heads."""
    return _attention(site, site.attribute("num_heads", 0), site.attribute("kv_num_heads", 0), past=3)


@rule("LinearAttention")
def linear_attention(site: Site) -> Work:
    """Per token and head a state of key size × value size: read by the query, updated by the key.

    The delta rules read it once more, the gated ones scale it.
    """
    query_heads, key_heads = site.attribute("q_num_heads", 0), site.attribute("kv_num_heads", 0)
    queries, values = site.input_shape(), site.input_shape(2)
    if query_heads <= 0 or key_heads <= 0 or len(queries) != 3 or len(values) != 3:
        raise UnknownShapeError
    batch, tokens, width = queries
    state = (width // query_heads) * (values[2] // key_heads)
    kind = site.text("update_rule")
    updates = 2 if "delta" in kind else 1
    gate = batch * tokens * key_heads * state if "gated" in kind else 0
    return site.work(macs=batch * tokens * state * (query_heads + updates * key_heads), flops=gate)


def _attention(site: Site, query_heads: int, key_heads: int, past: int) -> Work:
    batch, heads, queries, width = _heads_first(site.input_shape(0), query_heads)
    _, _, keys, _ = _heads_first(site.input_shape(1), key_heads)
    _, _, _, value_width = _heads_first(site.input_shape(2), key_heads)
    if site.has_input(past):
        keys += site.input_shape(past)[2]
    points = batch * heads * queries * keys
    return site.work(macs=points * (width + value_width), flops=SOFTMAX_FLOPS * points)


def _heads_first(shape: tuple[int, ...], heads: int) -> tuple[int, int, int, int]:
    """(batch, heads, length, head size) of a tensor of 4 axes, or of 3 with the heads side by side."""
    if len(shape) == 4:
        return shape[0], shape[1], shape[2], shape[3]
    if len(shape) == 3 and heads > 0:
        return shape[0], heads, shape[1], shape[2] // heads
    raise UnknownShapeError


def _projected(site: Site) -> Work:
    batch, length, width = site.input_shape()
    columns = site.input_shape(1)[1]
    inner = columns // 3
    heads = max(site.attribute("num_heads", 1), 1)
    macs = batch * length * width * columns + 2 * batch * length * length * inner
    bias = batch * length * columns if site.has_input(2) else 0
    return site.work(macs=macs, flops=bias + SOFTMAX_FLOPS * batch * heads * length * length)
