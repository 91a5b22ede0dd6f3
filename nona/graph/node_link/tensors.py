"""The ``graph`` part of a node-link document: tensors, parameters, symbols, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nona.errors import GraphError
from nona.graph.limits import MAX_RANK, MAX_SIZE_BYTES, MAX_TENSORS, check_count, checked
from nona.graph.model import Edge, Operator, Tensor
from nona.graph.symbols import check_symbols
from nona.graph.text import check_name, one_line, quote

MAX_WARNINGS = 1_000


def read_tensors(data: object, graph: str) -> dict[str, Tensor]:
    """Tensors by name, from ``{name: {"bytes": …, "shape": […], "dtype": …}}``.

    Raises
    ------
    GraphError
        For a size or a shape that is not made of finite numbers of at least 0.
    """
    if not isinstance(data, Mapping):
        raise GraphError(f"Graph {quote(graph)}: 'tensors' is {quote(data)}; give an object, name → tensor.")
    check_count(len(data), MAX_TENSORS, "tensors", graph)
    tensors = {}
    for name, row in data.items():
        if not isinstance(name, str) or not isinstance(row, (dict, Mapping)):
            raise GraphError(f"Tensor {quote(name)}: {quote(row)} must be an object with bytes and shape.")
        size, shape, dtype = row.get("bytes"), row.get("shape"), row.get("dtype", "float32")
        if type(size) is not float or not 0 <= size <= MAX_SIZE_BYTES:
            size = checked(size, f"Tensor {quote(name)}", "bytes", MAX_SIZE_BYTES)
        if not isinstance(dtype, str):
            raise GraphError(
                f"Tensor {quote(name)}: dtype={quote(dtype)} must be a text; give for example 'float32'."
            )
        tensors[check_name(name, "Tensor")] = Tensor(
            name, size, None if shape is None else _shape(shape, name), check_name(dtype, "Type of a tensor")
        )
    return tensors


def _shape(value: object, tensor: str) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_RANK:
        raise GraphError(
            f"Tensor {quote(tensor)}: shape={quote(value)} must list at most {MAX_RANK} whole numbers."
        )
    for length in value:
        if type(length) is not int or not 0 <= length < 2**63:
            raise GraphError(
                f"Tensor {quote(tensor)}: shape={quote(value)} holds {quote(length)}; every length must be a "
                "whole number of at least 0."
            )
    return tuple(value)


def names_of(
    meta: Mapping[str, object], key: str, tensors: Mapping[str, Tensor], graph: str
) -> frozenset[str]:
    """The names listed under ``key``; each must be a tensor."""
    names = meta.get(key, [])
    if not isinstance(names, list | tuple):
        raise GraphError(f"Graph {quote(graph)}: '{key}' is {quote(names)}; give a list of names.")
    for name in names:
        if not isinstance(name, str) or name not in tensors:
            raise GraphError(
                f"Graph {quote(graph)}: '{key}' names {quote(name)}, which is no tensor; add the tensor."
            )
    return frozenset(names)


def symbols_of(meta: Mapping[str, object]) -> dict[str, int]:
    """The symbolic dimensions that were bound."""
    symbols = meta.get("symbols", {})
    if not isinstance(symbols, Mapping):
        raise GraphError(f"'symbols' is {quote(symbols)}; give an object, name → whole number.")
    return check_symbols({check_name(str(k), "Dimension"): v for k, v in symbols.items()})


def warnings_of(meta: Mapping[str, object]) -> tuple[str, ...]:
    """Warnings that an earlier reader left, each on one line."""
    lines = meta.get("warnings", [])
    if not isinstance(lines, list | tuple):
        raise GraphError(f"'warnings' is {quote(lines)}; give a list of lines.")
    return tuple(one_line(line, 1000) for line in lines[:MAX_WARNINGS])


def with_edge_tensors(
    nodes: Sequence[object], operators: Iterable[Operator], edges: Iterable[Edge]
) -> tuple[list[Operator], dict[str, Tensor]]:
    """Tensors of a document that lists none: those on the edges, entered into the operators.

    Operators for which the document itself lists inputs or outputs keep them.
    """
    stated = {
        key: {str(n["id"]) for n in nodes if isinstance(n, Mapping) and key in n}
        for key in ("inputs", "outputs")
    }
    into: dict[str, list[str]] = {}
    out: dict[str, dict[str, None]] = {}
    tensors: dict[str, Tensor] = {}
    for edge in edges:
        into.setdefault(edge.target, []).append(edge.tensor)
        out.setdefault(edge.source, {})[edge.tensor] = None
        tensors[edge.tensor] = Tensor(edge.tensor, edge.size_bytes)
    filled = [
        replace(
            o,
            inputs=o.inputs if o.id in stated["inputs"] else tuple(into.get(o.id, ())),
            outputs=o.outputs if o.id in stated["outputs"] else tuple(out.get(o.id, ())),
        )
        for o in operators
    ]
    return filled, tensors
