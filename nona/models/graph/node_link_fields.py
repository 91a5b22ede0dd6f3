"""The parts of a node-link document: nodes, edges, tensors, and attributes as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard, get_args

from nona.core.errors import GraphError
from nona.models.graph import model
from nona.models.graph.registry import Document
from nona.models.graph.text import (
    MAX_FLOPS,
    MAX_NAME,
    MAX_RANK,
    MAX_SIZE_BYTES,
    MAX_TENSORS,
    MAX_TIME_S,
    check_count,
    check_name,
    checked,
    one_line,
    quote,
)

MAX_ATTRIBUTE_ITEMS = 256
_WORK = {
    "flops": MAX_FLOPS,
    "macs": MAX_FLOPS,
    "read_bytes": MAX_SIZE_BYTES,
    "write_bytes": MAX_SIZE_BYTES,
    "weight_bytes": MAX_SIZE_BYTES,
}
_TIMES = frozenset({"compute_ms", "compute_s", "batch_ms", "batch_s"})
_KNOWN = {"id", "kind", *_TIMES, "scope", "inputs", "outputs", "attributes", *_WORK}
_KNOWN |= {"device", "bound", "bodies", "turns"}
LOOKS = frozenset(
    re.findall(
        r"\w+",
        "class color colour comment constraint description dir fillcolor fixedsize fontcolor "
        "fontname fontsize group height key label layer margin name ordering orientation penwidth "
        "peripheries pos position rank regular shape sides size skew style title tooltip type "
        "weight width x xlabel y z arrowhead arrowsize arrowtail headlabel headport labelangle "
        "labeldistance labelfontcolor labelfontname labelfontsize labelloc lhead ltail minlen "
        "nojustify samehead sametail taillabel tailport",
    )
)
"""Keys about looks, or about other tools: ignored without a warning."""


def read_node(
    node: object,
    place: int,
    ignored: dict[str, int],
    device: str | None = None,
    read_body: Callable[[Mapping[str, object]], model.ModelGraph] | None = None,
) -> model.Operator:
    """Return the operator that ``node``, number ``place`` of the list, describes.

    Keys without a meaning are counted in ``ignored``; a time without a device is one of ``device``.
    ``read_body`` makes the graphs of its bodies.

    >>> read_node({"id": "a", "compute_ms": {"v100": 2, "t4": 5}}, 0, {}).compute_s
    {'v100': 0.002, 't4': 0.005}
    >>> read_node({"id": "a", "compute_ms": 2, "device": "t4"}, 0, {}).compute_s
    {'t4': 0.002}
    >>> read_node({"id": "a", "batch_ms": {"1": 2, "8": 3}}, 0, {}).batch_s
    ((1, 0.002), (8, 0.003))
    """
    if not isinstance(node, (dict, Mapping)) or "id" not in node:
        raise GraphError(f"Node number {place}: {quote(node)} has no 'id'; give an object with an id.")
    name = _node_id(node["id"], f"Node number {place}")
    if not node.keys() <= _KNOWN:
        for key in node.keys() - _KNOWN:
            count_ignored(key, ignored)
    times, batch_s = (None, ()) if _TIMES.isdisjoint(node) else _times(node, f"Node {quote(name)}", device)
    return model.Operator(
        id=name,
        kind=_text(node.get("kind", "Task"), "kind", name),
        inputs=_names(node.get("inputs", ()), "inputs", name),
        outputs=_names(node.get("outputs", ()), "outputs", name),
        attributes=_attributes(node["attributes"], name) if "attributes" in node else {},
        compute_s=times,
        work=None if _WORK.keys().isdisjoint(node) else _work(node, f"Node {quote(name)}"),
        scope=_text(node.get("scope", ""), "scope", name),
        bound=_bound(node["bound"], name) if "bound" in node else None,
        bodies=tuple(map(read_body, _bodies(node["bodies"], name))) if read_body and "bodies" in node else (),
        turns=_turns(node.get("turns", 1), name),
        batch_s=batch_s,
    )


MAX_BODIES, MAX_TURNS = 64, 10**9


def _bodies(value: object, node: str) -> Sequence[Mapping[str, object]]:
    if isinstance(value, list | tuple) and len(value) <= MAX_BODIES:
        return value
    raise GraphError(f"Node {quote(node)}: bodies={quote(value)} must list at most {MAX_BODIES} documents.")


def _turns(value: object, node: str) -> int | None:
    if value is None or (type(value) is int and 0 <= value <= MAX_TURNS):
        return value
    raise GraphError(
        f"Node {quote(node)}: turns={quote(value)} must be a whole number from 0 to {MAX_TURNS}, or null."
    )


def device_of(data: Mapping[str, object], owner: str) -> str | None:
    """Return the device that a graph or a node names for its times; ``"*"`` for ``any``.

    >>> device_of({"device": "any"}, "Graph 'g'"), device_of({}, "Graph 'g'")
    ('*', None)
    """
    value = data.get("device")
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise GraphError(
            f"{owner}: device={quote(value)} must be a text; name the device of its times, or 'any'."
        )
    return model.ANY_DEVICE if value == "any" else check_name(value, f"{owner}, device")


def _bound(value: object, node: str) -> model.Bound:
    for bound in get_args(model.Bound):
        if value == bound:
            return bound  # type: ignore[no-any-return]
    raise GraphError(
        f"Node {quote(node)}: bound={quote(value)} must be compute, memory or host; choose what its time "
        "depends on."
    )


def _node_id(value: object, what: str) -> str:
    """Return an id as text: text itself, or a whole number as NetworkX writes it."""
    if type(value) is int:
        return str(value) if abs(value) < 10**30 else check_name(quote(value), what)
    if not isinstance(value, str) or not value:
        raise GraphError(f"{what}: {quote(value)} is not an id; give a text or a whole number.")
    return check_name(value, what)


def count_ignored(key: object, ignored: dict[str, int]) -> None:
    """Count ``key`` unless it is about looks only."""
    text = key if isinstance(key, str) else quote(key)
    if text not in LOOKS and (text in ignored or len(ignored) < 1000):
        ignored[text] = ignored.get(text, 0) + 1


def _text(value: object, key: str, node: str) -> str:
    if not isinstance(value, str):
        raise GraphError(f"Node {quote(node)}: {key}={quote(value)} must be a text; put it in quotes.")
    return check_name(value, key)


def _names(value: object, key: str, node: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(type(name) is str for name in value):
        raise GraphError(f"Node {quote(node)}: {key}={quote(value)} must be a list of names of tensors.")
    together = "".join(value)
    if len(together) > MAX_NAME or not together.isprintable():  # one look at all of them is faster
        for name in value:
            check_name(name, "Tensor")
    return tuple(value)


BatchTimes = tuple[tuple[int, float], ...]
MAX_BATCH = 4096
_BATCH = re.compile("[1-9][0-9]{0,3}")


def _times(
    node: Mapping[str, object], owner: str, device: str | None
) -> tuple[dict[str, float] | None, BatchTimes]:
    key, factor = _time_key(node, "compute", owner)
    value = node.get(key)
    by_device = isinstance(value, Mapping)
    own, batches = device_of(node, owner), _batch_times(node, owner)
    times = None if value is None else _device_times(value, key, factor, own, owner, device)
    if not batches:
        return times, ()
    if times is None and 1 in batches:
        times = {own or device or model.ANY_DEVICE: batches[1]}
    if times is not None and not by_device:
        (one_s,) = times.values()
        if batches.setdefault(1, one_s) != one_s:
            raise GraphError(
                f"{owner}: the times of one input by batch, {batches[1]:g} s, and in {key}, {one_s:g} s, "
                "differ; keep one of them."
            )
    if 1 not in batches:
        raise GraphError(f'{owner}: its times by batch lack that of one input; add "1".')
    if min(batches.values()) <= 0:
        raise GraphError(f"{owner}: a time by batch is 0; give times above 0.")
    return times, tuple(sorted(batches.items())) if len(batches) > 1 else ()


def _time_key(node: Mapping[str, object], name: str, owner: str) -> tuple[str, float]:
    """Return the key that a node uses for times, and how many of its units a second has."""
    in_ms, in_s = f"{name}_ms", f"{name}_s"
    if node.get(in_ms) is not None and node.get(in_s) is not None:
        raise GraphError(f"{owner}: it has both {in_ms} and {in_s}; keep one of them.")
    return (in_ms, 1e3) if in_ms in node else (in_s, 1.0)


def _batch_times(node: Mapping[str, object], owner: str) -> dict[int, float]:
    key, factor = _time_key(node, "batch", owner)
    value = node.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not value:
        raise GraphError(
            f'{owner}: {key}={quote(value)} must map inputs that run together to times; write {{"1": 2.03, '
            '"8": 3.04}.'
        )
    times = {}
    for inputs, time in value.items():
        label, text = f"{key}[{quote(inputs)}]", str(inputs)
        if not _BATCH.fullmatch(text) or int(text) > MAX_BATCH:
            raise GraphError(
                f"{owner}: {label} must be of a whole number of inputs from 1 to {MAX_BATCH}; correct it."
            )
        seconds = number(time, owner, label) if isinstance(time, str) else time
        times[int(text)] = checked(seconds, owner, label, MAX_TIME_S * factor) / factor
    return times


def _device_times(
    value: object, key: str, factor: float, own: str | None, owner: str, device: str | None
) -> dict[str, float]:
    if not isinstance(value, Mapping):
        value = {own or device or model.ANY_DEVICE: value}
    elif own is not None:
        raise GraphError(f"{owner}: it has a device and a map of devices; keep one of them.")
    if not value:
        raise GraphError(f"{owner}: {key} is an empty map; give a number, or at least one device.")
    times = {}
    for name, time in value.items():
        label = key if name == model.ANY_DEVICE else f"{key}[{quote(name)}]"
        device_name = check_name(name, f"{owner}, device") if isinstance(name, str) else quote(name)
        times[device_name] = checked(time, owner, label, MAX_TIME_S * factor) / factor
    return times


def _work(node: Mapping[str, object], owner: str) -> model.StatedWork:
    values = {
        key: checked(node[key], owner, key, most)
        for key, most in _WORK.items()
        if key in node and node[key] is not None
    }
    if "flops" not in values and "macs" in values:
        values["flops"] = 2 * values["macs"]  # a multiply-add is two operations
    return model.StatedWork(**values)


def _attributes(value: object, node: str) -> dict[str, model.AttributeValue]:
    if not isinstance(value, Mapping):
        raise GraphError(f"Node {quote(node)}: attributes={quote(value)} must be an object, name → value.")
    attributes: dict[str, model.AttributeValue] = {}
    for key, item in value.items():
        key = check_name(str(key), "Attribute")
        if isinstance(item, list | tuple):
            if len(item) > MAX_ATTRIBUTE_ITEMS or not all(map(_is_scalar, item)):
                raise GraphError(_attribute_complaint(node, key, item))
            attributes[key] = tuple(item)
        elif _is_scalar(item):
            attributes[key] = item
        else:
            raise GraphError(_attribute_complaint(node, key, item))
    return attributes


def _is_scalar(value: object) -> TypeGuard[int | float | str]:
    if type(value) is int:
        return True
    if type(value) is float:
        return math.isfinite(value)
    if isinstance(value, str):
        check_name(value, "Attribute")
        return True
    return False


def _attribute_complaint(node: str, key: str, value: object) -> str:
    return (
        f"Node {quote(node)}: attribute {quote(key)}={quote(value)} must be a finite number, a text, or a "
        "short list of those; remove it."
    )


_EDGES_KNOWN = {"source", "target", "bytes", "tensor", "key"}


def read_edges(
    links: Sequence[object],
    ids: Collection[str],
    tensors: Mapping[str, model.Tensor],
    graph: str,
    ignored: dict[str, int],
) -> tuple[list[model.Edge], list[str]]:
    """Return the edges among the nodes ``ids``, one per (producer, consumer, tensor), and what to warn of.

    An edge without ``bytes`` takes them from the tensor of its name in ``tensors``, else 0 with a
    warning. Edges with equal ``tensor`` carry one tensor: one producer, one size.
    """
    edges: list[model.Edge] = []
    unnamed: list[int] = []
    by_tensor: dict[str, model.Edge] = {}
    seen: set[tuple[str, str]] = set()
    silent = 0
    for place, link in enumerate(links):
        fields, source, target = _ends(link, place, ids, graph)
        if not fields.keys() <= _EDGES_KNOWN:
            for key in fields.keys() - _EDGES_KNOWN:
                count_ignored(key, ignored)
        tensor = _tensor_name(fields.get("tensor"), source, target)
        size = fields.get("bytes")
        if size is None and tensor in tensors:
            size = tensors[tensor].size_bytes
        silent += size is None
        edge = model.Edge(source, target, tensor, 0.0 if size is None else _size(size, source, target))
        if not tensor:
            unnamed.append(len(edges))
        else:
            first = by_tensor.setdefault(tensor, edge)
            if first is not edge:
                _check_shared(edge, first, graph)
            if (target, tensor) in seen:
                continue  # the same tensor into two inputs of one consumer is one edge
            seen.add((target, tensor))
        edges.append(edge)
    _name(edges, unnamed, {*by_tensor, *tensors})
    notes = [f"{silent} of {len(edges)} edges state no bytes; they count as 0 bytes."] if silent else []
    return edges, notes


def _ends(
    link: object, place: int, ids: Collection[str], graph: str
) -> tuple[Mapping[str, object], str, str]:
    if not isinstance(link, (dict, Mapping)) or "source" not in link or "target" not in link:
        raise GraphError(
            f"Edge number {place}: {quote(link)} lacks 'source' or 'target'; give an object with both."
        )
    source, target = link["source"], link["target"]
    if type(source) is not str or type(target) is not str:
        source = _node_id(source, f"Source of edge number {place}")
        target = _node_id(target, f"Target of edge number {place}")
    if source not in ids or target not in ids:
        end = target if source in ids else source
        raise GraphError(
            f"Graph {quote(graph)}: {_owner(source, target)} names the unknown node {quote(end)}; "
            "add the node or drop the edge."
        )
    return link, source, target


def _owner(source: str, target: str) -> str:
    return f"edge {quote(source)} → {quote(target)}"


def _size(value: object, source: str, target: str) -> float:
    if type(value) is float and 0 <= value <= MAX_SIZE_BYTES:
        return value
    return checked(value, f"Edge {quote(source)} → {quote(target)}", "bytes", MAX_SIZE_BYTES)


def _tensor_name(value: object, source: str, target: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise GraphError(
            f"Edge {quote(source)} → {quote(target)}: tensor={quote(value)} must be a text and not empty; "
            "put it in quotes."
        )
    return check_name(value, "Tensor")


def _check_shared(edge: model.Edge, first: model.Edge, graph: str) -> None:
    if first.source != edge.source:
        raise GraphError(
            f"Graph {quote(graph)}: tensor {quote(edge.tensor)} is made by {quote(first.source)} and by "
            f"{quote(edge.source)}; give each its own name."
        )
    if first.size_bytes != edge.size_bytes:
        raise GraphError(
            f"Graph {quote(graph)}: tensor {quote(edge.tensor)} has {first.size_bytes:g} bytes on one edge "
            f"and {edge.size_bytes:g} on another; one tensor has one size."
        )


def _name(edges: list[model.Edge], unnamed: Sequence[int], taken: set[str]) -> None:
    """Give every edge without a tensor one of its own, named after its ends."""
    reached: dict[str, int] = {}  # so that a million edges between two nodes take no square of that
    for i in unnamed:
        edge = edges[i]
        base = name = f"{edge.source}→{edge.target}"
        number = reached.get(base, 1)
        while name in taken:
            number += 1
            name = f"{base} #{number}"
        taken.add(name)
        reached[base] = number
        edges[i] = model.Edge(edge.source, edge.target, name, edge.size_bytes)


MAX_WARNINGS = 1_000


def read_tensors(data: object, graph: str) -> dict[str, model.Tensor]:
    """Tensors by name, from ``{name: {"bytes": …, "shape": […], "dtype": …}}``."""
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
        tensors[check_name(name, "Tensor")] = model.Tensor(
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
    meta: Mapping[str, object], key: str, tensors: Mapping[str, model.Tensor], graph: str
) -> frozenset[str]:
    """Return the names listed under ``key``; each must be a tensor."""
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
    """Return the symbolic dimensions that were bound."""
    symbols = meta.get("symbols", {})
    if not isinstance(symbols, Mapping):
        raise GraphError(f"'symbols' is {quote(symbols)}; give an object, name → whole number.")
    return model.check_symbols({check_name(str(k), "Dimension"): v for k, v in symbols.items()})


def warnings_of(meta: Mapping[str, object]) -> tuple[str, ...]:
    """Warnings that an earlier reader left, each on one line."""
    lines = meta.get("warnings", [])
    if not isinstance(lines, list | tuple):
        raise GraphError(f"'warnings' is {quote(lines)}; give a list of lines.")
    return tuple(one_line(line, 1000) for line in lines[:MAX_WARNINGS])


def with_edge_tensors(
    nodes: Sequence[object], operators: Iterable[model.Operator], edges: Iterable[model.Edge]
) -> tuple[list[model.Operator], dict[str, model.Tensor]]:
    """Tensors of a document that lists none: those on the edges, entered into the operators.

    Operators for which the document itself lists inputs or outputs keep them.
    """
    stated = {
        key: {str(n["id"]) for n in nodes if isinstance(n, Mapping) and key in n}
        for key in ("inputs", "outputs")
    }
    into: dict[str, list[str]] = {}
    out: dict[str, dict[str, None]] = {}
    tensors: dict[str, model.Tensor] = {}
    for edge in edges:
        into.setdefault(edge.target, []).append(edge.tensor)
        out.setdefault(edge.source, {})[edge.tensor] = None
        tensors[edge.tensor] = model.Tensor(edge.tensor, edge.size_bytes)
    filled = [
        replace(
            o,
            inputs=o.inputs if o.id in stated["inputs"] else tuple(into.get(o.id, ())),
            outputs=o.outputs if o.id in stated["outputs"] else tuple(out.get(o.id, ())),
        )
        for o in operators
    ]
    return filled, tensors


NUMBERS = _TIMES | _WORK.keys()
NODE_TEXTS = frozenset({"kind", "scope", "device", "bound"})
NODE_KEYS = NUMBERS | NODE_TEXTS
EDGE_KEYS = frozenset({"bytes", "tensor"})
_NUMBER = re.compile(r"[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d{1,4})?")
_WHOLE = re.compile(r"[+-]?\d{1,18}")


def number(text: str, owner: str, key: str) -> int | float:
    """Return the number that ``text`` writes; whether it is allowed is checked later.

    >>> number("1e6", "Node 'a'", "flops"), number(" 3 ", "Node 'a'", "flops")
    (1000000.0, 3)
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise GraphError(
            f"{owner}: {key}={quote(text)} is not a number; give a number of at least 0, without a unit."
        )
    return int(text) if _WHOLE.fullmatch(text) else float(text)


def node_values(texts: Mapping[str, str], owner: str) -> Document:
    """Return the known attributes of a node.

    Times may be a JSON map, device → number, or number of inputs → number.

    >>> node_values({"compute_ms": '{"v100": 2, "t4": 5}', "kind": "Conv"}, "Node 'a'")
    {'compute_ms': {'v100': 2, 't4': 5}, 'kind': 'Conv'}
    """
    values: Document = {}
    for key, text in texts.items():
        if key in _TIMES and text.lstrip().startswith("{"):
            values[key] = _map(text, owner, key)
        elif key in NUMBERS:
            values[key] = number(text, owner, key)
        else:
            values[key] = text
    return values


def edge_values(texts: Mapping[str, str], owner: str) -> Document:
    """Return the known attributes of an edge, its bytes as a number."""
    return {k: number(v, owner, k) if k == "bytes" else v for k, v in texts.items()}


def passed_over(ignored: Iterable[str]) -> list[str]:
    """One line on the attributes that were not read, if there are any.

    >>> passed_over(["speed"])
    ["Ignored attributes: 'speed'."]
    """
    names = sorted(ignored)
    listed = ", ".join(quote(n, 30) for n in names[:8]) + (" and more" if names[8:] else "")
    return [f"Ignored attributes: {listed}."] if names else []


def _map(text: str, owner: str, key: str) -> dict[str, int | float]:
    try:
        times = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        times = None
    if not isinstance(times, dict):
        example = '"1": 2, "8": 3}, inputs' if key.startswith("batch") else '"v100": 2, "t4": 5}, device'
        raise GraphError(f"{owner}: {key}={quote(text)} is not a map; write {{{example} → number.")
    return times
