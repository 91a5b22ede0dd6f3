"""A weight-free ONNX model made runnable: random weights and inputs of the right shape."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.errors import CostError
from nona.graph.model import ModelGraph

MOST_WEIGHT_BYTES = 6e9
_SCALE = 0.02
"""Standard deviation of random weights: small, so that deep networks neither vanish nor overflow."""


def fill_weights(model: Any, seed: int = 0) -> int:
    """Give every initialiser whose data is not in the file random values, in place.

    Variances of batch normalisation become positive; integers become 0. External data is never
    opened.

    Returns
    -------
    int
        How many initialisers were filled.

    Raises
    ------
    CostError
        When the weights would take more than 6 GB.
    """
    from onnx import TensorProto, helper, numpy_helper

    missing = [t for t in model.graph.initializer if t.data_location == TensorProto.EXTERNAL]
    total = sum(
        float(np.prod(t.dims, dtype=float)) * helper.tensor_dtype_to_np_dtype(t.data_type).itemsize
        for t in missing
    )
    if total > MOST_WEIGHT_BYTES:
        raise CostError(
            f"Model {model.graph.name!r}: its weights take {total / 1e9:.1f} GB, more than the "
            f"{MOST_WEIGHT_BYTES / 1e9:g} GB that are filled in for a measurement; measure a smaller model."
        )
    positive = {n.input[4] for n in model.graph.node if n.op_type == "BatchNormalization"}
    rng = np.random.default_rng(seed)
    for tensor in missing:
        kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        values = _random(tuple(tensor.dims), kind, rng)
        if tensor.name in positive:
            values = (np.abs(values) + 1).astype(kind)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return len(missing)


def random_inputs(model: Any, symbols: Mapping[str, int], seed: int = 0) -> dict[str, NDArray[Any]]:
    """An array for every input of the model: random numbers, zeros for whole numbers, ones for bools.

    Raises
    ------
    CostError
        When an input has no shape, or a symbolic size that ``symbols`` does not give.
    """
    from onnx import helper

    stored = {t.name for t in model.graph.initializer}
    rng = np.random.default_rng(seed)
    arrays = {}
    for value in model.graph.input:
        if value.name in stored:
            continue
        kind = value.type.tensor_type
        if not kind.HasField("shape"):
            raise CostError(f"Input {value.name!r}: it has no shape; export the model with one.")
        shape = tuple(_length(d, symbols, value.name) for d in kind.shape.dim)
        arrays[value.name] = _random(shape, helper.tensor_dtype_to_np_dtype(kind.elem_type), rng, 1.0)
    return arrays


def name_nodes(model: Any, graph: ModelGraph) -> None:
    """Name the nodes as the operators of ``graph``, so that a profile identifies them."""
    ids = {o.outputs[0]: o.id for o in graph.operators if o.outputs}
    for place, node in enumerate(model.graph.node):
        known = ids.get(node.output[0]) if node.output else None
        node.name = known or f"not-an-operator-{place}"


def save_model(model: Any, path: Path) -> None:
    """Write the model; weights beyond what one protobuf holds go to a file beside it."""
    import onnx

    large = sum(len(t.raw_data) for t in model.graph.initializer) > 1_000_000_000
    onnx.save_model(model, path, save_as_external_data=large, location="weights.bin")


def _length(dimension: Any, symbols: Mapping[str, int], name: str) -> int:
    if dimension.WhichOneof("value") == "dim_value":
        return int(dimension.dim_value)
    if dimension.dim_param in symbols:
        return symbols[dimension.dim_param]
    raise CostError(
        f"Input {name!r}: its size {dimension.dim_param or '?'!r} is symbolic; give a number for it."
    )


def _random(
    shape: tuple[int, ...], kind: np.dtype[Any], rng: np.random.Generator, scale: float = _SCALE
) -> NDArray[Any]:
    if kind == np.bool_:
        return np.ones(shape, kind)
    if np.issubdtype(kind, np.integer):
        return np.zeros(shape, kind)
    values: NDArray[Any] = (scale * rng.standard_normal(shape, dtype=np.float32)).astype(kind)
    return values
