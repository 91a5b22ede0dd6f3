"""A model graph on its way out of the child process: lines of JSON.

The first line is ``{"graph": …}``, what there is once; each further line is ``[kind, rows]``. The
reader takes one line after the other, so that no second copy of the whole is made and a server's other
threads get their turns. Edges name their ends by number, and so does whatever names a listed tensor. The
child has checked names and numbers; the reading side checks types and, as any
:class:`~nona.models.graph.model.ModelGraph` does, structure.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from itertools import islice
from typing import Any, get_args

from nona.models.graph.model import Bound, Edge, ModelGraph, Operator, StatedWork, Tensor

PIECE = 1000  # rows in one line
_BOUNDS = (None, *get_args(Bound))


def to_lines(graph: ModelGraph) -> bytes:
    """Return the graph as lines of JSON.

    >>> print(to_lines(ModelGraph("one", (Operator("a"),), ())).decode())  # doctest: +ELLIPSIS
    {"graph":{"name":"one",...}}
    ["operators",[["a","Task",[],[],{},null,null,"",null,[],1,[]]]]
    """
    once = {
        "name": graph.name,
        "source_format": graph.source_format,
        "warnings": graph.warnings,
        "symbols": dict(graph.symbols),
        "device": graph.device,
    }
    index, tensor = graph.index, {name: i for i, name in enumerate(graph.tensors)}
    names = {"parameters": graph.parameters, "static": graph.static}
    kinds: dict[str, Iterable[Any]] = {
        "tensors": ((t.name, t.size_bytes, t.shape, t.dtype) for t in graph.tensors.values()),
        "operators": (_operator_row(o, tensor) for o in graph.operators),
        "edges": (
            (index[e.source], index[e.target], tensor.get(e.tensor, e.tensor), e.size_bytes)
            for e in graph.edges
        ),
        **{kind: sorted(members) for kind, members in names.items()},
    }
    lines = [_text({"graph": once})]
    for kind, rows in kinds.items():
        lines += [_text([kind, piece]) for piece in _pieces(rows)]
    return b"\n".join(lines)


def _text(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _pieces(rows: Iterable[Any]) -> Iterator[list[Any]]:
    source = iter(rows)
    while piece := list(islice(source, PIECE)):
        yield piece


def _operator_row(o: Operator, tensor: Mapping[str, int]) -> tuple[Any, ...]:
    times = None if o.compute_s is None else dict(o.compute_s)
    work = None if o.work is None else astuple(o.work)
    inputs, outputs = ([tensor.get(t, t) for t in names] for names in (o.inputs, o.outputs))
    bodies = [to_lines(body).decode() for body in o.bodies]
    inside = (o.bound, bodies, o.turns, o.batch_s)
    return o.id, o.kind, inputs, outputs, dict(o.attributes), times, work, o.scope, *inside


def from_lines(data: bytes) -> ModelGraph:
    """Return the graph in what :func:`to_lines` wrote."""
    lines = io.BytesIO(data)
    once = json.loads(lines.readline())["graph"]
    received = _ReceivedGraph()
    for line in lines:
        kind, rows = json.loads(line)
        received.hold(kind, rows)
    device = once["device"]
    return ModelGraph(
        name=_name(once["name"]),
        operators=tuple(received.operators),
        edges=tuple(received.edges),
        tensors=received.tensors,
        parameters=received.names["parameters"],
        static=received.names["static"],
        source_format=_name(once["source_format"]),
        warnings=tuple(map(_name, once["warnings"])),
        symbols={_name(k): _whole(v) for k, v in once["symbols"].items()},
        device=None if device is None else _name(device),
    )


@dataclass
class _ReceivedGraph:
    """Operators and tensors received so far; ``listed`` has the tensors in their order."""

    operators: list[Operator] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    names: dict[str, frozenset[str]] = field(
        default_factory=lambda: {"parameters": frozenset(), "static": frozenset()}
    )

    def hold(self, kind: str, rows: list[Any]) -> None:
        if kind == "tensors":
            for name, size, shape, dtype in rows:
                lengths = None if shape is None else tuple(map(_whole, shape))
                self.tensors[_name(name)] = Tensor(name, _number(size), lengths, _name(dtype))
                self.listed.append(name)
        elif kind == "operators":
            self.operators += (self._operator(*row) for row in rows)
        elif kind == "edges":
            self.edges += (self._edge(*row) for row in rows)
        else:
            tensors = self.tensors
            self.names[kind] |= {tensors[name].name for name in rows}

    def _operator(
        self,
        name: Any,
        kind: Any,
        inputs: Any,
        outputs: Any,
        attributes: Any,
        times: Any,
        work: Any,
        scope: Any,
        bound: Any,
        bodies: Any,
        turns: Any,
        batches: Any,
    ) -> Operator:
        if bound not in _BOUNDS:
            raise TypeError("no bound")
        return Operator(
            _name(name),
            _name(kind),
            tuple(map(self._same, inputs)),
            tuple(map(self._same, outputs)),
            {k: _attribute(v) for k, v in attributes.items()},
            None if times is None else {d: _number(t) for d, t in times.items()},
            None if work is None else StatedWork(*map(_number, work)),
            _name(scope),
            bound,
            tuple(from_lines(body.encode()) for body in bodies),
            None if turns is None else _whole(turns),
            tuple((_whole(inputs), _number(seconds)) for inputs, seconds in batches),
        )

    def _same(self, tensor: Any) -> str:
        return self.listed[tensor] if type(tensor) is int else _name(tensor)

    def _edge(self, source: Any, target: Any, tensor: Any, size: Any) -> Edge:
        operators = self.operators
        return Edge(operators[source].id, operators[target].id, self._same(tensor), _number(size))


def _attribute(value: Any) -> Any:
    if type(value) is list:
        return tuple(map(_attribute, value)) if all(type(v) is not list for v in value) else _name(value)
    return value if type(value) in (int, float) else _name(value)


def _name(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("no name")
    return value


def _number(value: Any) -> float:
    if type(value) is not float:
        raise TypeError("no number")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("no whole number")
    return value
