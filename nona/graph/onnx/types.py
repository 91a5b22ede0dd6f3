"""ONNX element types: their names, their sizes, and which of them hold weights."""

from __future__ import annotations

import math

from nona.graph.registry import Document

# onnx.proto, enum TensorProto.DataType: number → (name, bits per element). A string has no size of
# its own; 64 bits, a pointer, is assumed.
DTYPES: dict[int, tuple[str, int]] = {
    1: ("float32", 32),
    2: ("uint8", 8),
    3: ("int8", 8),
    4: ("uint16", 16),
    5: ("int16", 16),
    6: ("int32", 32),
    7: ("int64", 64),
    8: ("string", 64),
    9: ("bool", 8),
    10: ("float16", 16),
    11: ("float64", 64),
    12: ("uint32", 32),
    13: ("uint64", 64),
    14: ("complex64", 64),
    15: ("complex128", 128),
    16: ("bfloat16", 16),
    17: ("float8e4m3fn", 8),
    18: ("float8e4m3fnuz", 8),
    19: ("float8e5m2", 8),
    20: ("float8e5m2fnuz", 8),
    21: ("uint4", 4),
    22: ("int4", 4),
    23: ("float4e2m1", 4),
    24: ("float8e8m0", 8),
    25: ("uint2", 2),
    26: ("int2", 2),
    27: ("float6e2m3", 6),
    28: ("float6e3m2", 6),
}
# Weights are floating-point, or integers of at most 16 bits (quantised). Wider integers, bools
# and strings among the constants are indices, shapes and masks.
WEIGHT_TYPES = frozenset(DTYPES) - {0, 6, 7, 8, 9, 12, 13}

STANDARD = frozenset({"", "ai.onnx", "ai.onnx.ml"})
"""Operator domains that ONNX itself defines."""

TensorType = tuple[int, tuple[int, ...] | None]
"""Element type (number) and shape; ``None`` where the shape is not known."""


def size_bytes(kind: TensorType) -> float:
    """Bytes of a dense tensor: ⌈elements · bits / 8⌉; 0 where type or shape is not known.

    >>> size_bytes((1, (1, 3, 224, 224))), size_bytes((22, (3,))), size_bytes((1, None))
    (602112.0, 2.0, 0.0)
    """
    element, shape = kind
    if shape is None or element not in DTYPES:
        return 0.0
    bits = math.prod(shape) * DTYPES[element][1]
    return float(min(-(-bits // 8), 10**300))


def tensor_data(kind: TensorType) -> Document:
    """The tensor as node-link data."""
    element, shape = kind
    data: Document = {
        "bytes": size_bytes(kind),
        "dtype": DTYPES[element][0] if element in DTYPES else "unknown",
    }
    if shape is not None:
        data["shape"] = shape
    return data
