"""The model graph: operators and tensors in order, and symbolic dimensions.

A :class:`ModelGraph` holds only operators that run (constants are parameters, not operators) and
one :class:`Edge` for every (producer, consumer, tensor). A tensor with many consumers is one
tensor: it is sent once to each server that needs it, so edges that share it carry its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from nona.core.errors import GraphError
from nona.models.graph.dag import Dag
from nona.models.graph.text import quote

MAX_DIMENSION = 10**9


class MissingDimensions(GraphError):  # noqa: N818 (it is a question)
    """The model has symbolic dimensions without a number; ``names`` says which.

    >>> str(MissingDimensions.from_names("m", ["batch"]))
    "Model 'm': dimension 'batch' is symbolic; give a whole number for it, for example batch=1."
    """

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        super().__init__(message)

    @classmethod
    def from_names(cls, model: str, names: Sequence[str]) -> MissingDimensions:
        """Return the question for ``names`` of ``model``."""
        few = ", ".join(quote(n) for n in names[:8]) + (f" and {len(names) - 8} more" if names[8:] else "")
        guesses = usual_sizes(names)
        example = " ".join(f"{n}={guesses.get(n, 1)}" for n in names[:3])
        what, verb, each = (
            ("dimension", "is", "it") if len(names) == 1 else ("dimensions", "are", "each of them")
        )
        return cls(
            f"Model {quote(model)}: {what} {few} {verb} symbolic; give a whole number for {each}, "
            f"for example {example}.",
            names,
        )

    def __reduce__(self) -> tuple[type[MissingDimensions], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.names)


_IMAGE = re.compile(r"(^|[^a-z])(h|w)([^a-z]|$)|image_?size|height|width", re.IGNORECASE)
_TEXT = re.compile(r"seq|len|token|past", re.IGNORECASE)


def usual_sizes(names: Sequence[str]) -> dict[str, int]:
    """Sizes to begin with, of dimensions whose names tell: sides of images, lengths of texts; of no others.

    >>> usual_sizes(["batch", "height", "width"]), usual_sizes(["x[0]", "x[2]", "x[3]"]), usual_sizes(["seq"])
    ({'height': 224, 'width': 224}, {'x[2]': 224, 'x[3]': 224}, {'seq': 128})
    """
    last = {n[:-3] for n in names if n.endswith("[3]")} & {n[:-3] for n in names if n.endswith("[2]")}
    sides = {f"{tensor}[{axis}]" for tensor in last for axis in (2, 3)}
    images = dict.fromkeys((n for n in names if n in sides or _IMAGE.search(n)), 224)
    return {**dict.fromkeys((n for n in names if _TEXT.search(n)), 128), **images}


def check_symbols(symbols: Mapping[str, int] | None) -> dict[str, int]:
    """Return the given numbers, if each is a whole number from 1 to 10⁹.

    >>> check_symbols({"batch": 8})
    {'batch': 8}
    """
    for name, value in (symbols or {}).items():
        if type(value) is not int or not 1 <= value <= MAX_DIMENSION:
            raise GraphError(
                f"Dimension {quote(name)}: {quote(value)} must be a whole number from 1 to "
                f"{MAX_DIMENSION}; give for example {usual_sizes([name]).get(name, 1)}."
            )
    return dict(symbols or {})


AttributeValue = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
ANY_DEVICE = "*"
Bound = Literal["compute", "memory", "host"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value between operators; ``size_bytes`` is that of one query at the bound shape."""

    name: str
    size_bytes: float
    shape: tuple[int, ...] | None = None
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class StatedWork:
    """Work of an operator stated by the file itself, in place of shapes: FLOPs and bytes."""

    flops: float = 0.0
    macs: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0
    weight_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Operator:
    """A node of the model graph.

    ``inputs`` and ``outputs`` name tensors in the order of the operator's definition; an absent
    optional one is ``""``. ``compute_s`` gives times (device name → seconds, ``"*"`` for any
    device) where the file states them; ``work`` gives FLOPs and bytes where the file states those.
    ``bound`` is what its time depends on, where the file states it: the device's arithmetic
    (``compute``), its memory bandwidth (``memory``), or nothing of the device (``host``: a look-up
    in a database, a step on the CPU). ``batch_s`` has the seconds of so many inputs that run together, with
    that of one, where the file states them; on other devices their ratios hold. One of ``bodies``, the
    one with the most work, runs ``turns`` times inside the operator; ``None``: the file does not say how
    often.
    """

    id: str
    kind: str = "Task"
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    compute_s: Mapping[str, float] | None = None
    work: StatedWork | None = None
    scope: str = ""
    bound: Bound | None = None
    bodies: tuple[ModelGraph, ...] = ()
    turns: int | None = 1
    batch_s: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """``target`` consumes ``tensor``, which ``source`` makes."""

    source: str
    target: str
    tensor: str
    size_bytes: float


@dataclass(frozen=True)
class ModelGraph:
    """A validated DAG of operators.

    ``operators``: in a topological order.
    ``edges``: one per (producer, consumer, tensor), ordered by producer, then consumer, then tensor.
    ``tensors``: every tensor an operator names, parameters and graph inputs among them.
    ``parameters``: names of the stored weights; each counts once, however many operators use it.
    ``static``: names of all tensors that depend on constants only (parameters and what is made of them).
    ``source_format``: the reader that made the graph (``"onnx"``, ``"json"``, ``"dot"``, ``"graphml"``).
    ``warnings``: parts of the file that the reader ignores, a line each.
    ``symbols``: the symbolic dimensions that were bound, name → value.
    ``device``: the executor class for which the file gives its times: those that name none of their own are
        stored under it. ``"*"``: the file states that its times are the same on any device; ``None``: the
        file does not say.

    Raises ``GraphError`` for an empty graph, a duplicate or unknown operator, a negative size, or a cycle.

    >>> g = ModelGraph("two", (Operator("a"), Operator("b")), (Edge("a", "b", "t", 8.0),))
    >>> g.index["b"], g.dag.successors
    (1, ((1,), ()))
    """

    name: str
    operators: tuple[Operator, ...]
    edges: tuple[Edge, ...]
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    static: frozenset[str] = frozenset()
    source_format: str = "json"
    warnings: tuple[str, ...] = ()
    symbols: Mapping[str, int] = field(default_factory=dict)
    device: str | None = None

    def __post_init__(self) -> None:
        if not self.operators:
            raise GraphError(f"Graph {self.name!r}: it has no operators; give a file with at least one.")
        if len(self.index) != len(self.operators):
            twice = next(o.id for i, o in enumerate(self.operators) if self.index[o.id] != i)
            raise GraphError(
                f"Graph {self.name!r}: operator {twice!r} appears twice; give every node its own id."
            )
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in self.index:
                    raise GraphError(
                        f"Graph {self.name!r}: edge {edge.source!r} → {edge.target!r} names the unknown "
                        f"node {end!r}; add the node or drop the edge."
                    )
            if not (math.isfinite(edge.size_bytes) and edge.size_bytes >= 0):
                raise GraphError(
                    f"Graph {self.name!r}: edge {edge.source!r} → {edge.target!r} has bytes="
                    f"{edge.size_bytes}; it must be finite and at least 0."
                )
        self.dag.topological_order()

    @cached_property
    def index(self) -> dict[str, int]:
        """Operator id → its place in ``operators``."""
        return {o.id: i for i, o in enumerate(self.operators)}

    @cached_property
    def dag(self) -> Dag:
        """The graph on operator indices, one arc per connected pair."""
        index = self.index
        return Dag.from_edges(
            len(self.operators), ((index[e.source], index[e.target]) for e in self.edges), name=self.name
        )

    @property
    def weight_bytes(self) -> float:
        """Bytes of all parameters, each counted once."""
        return sum(self.tensors[p].size_bytes for p in self.parameters) + sum(
            o.work.weight_bytes for o in self.operators if o.work
        )

    @property
    def parameter_count(self) -> int:
        """Number of weight elements, each parameter counted once."""
        return sum(math.prod(self.tensors[p].shape or ()) for p in self.parameters)


def in_order(
    operators: Sequence[Operator], edges: Sequence[Edge], name: str
) -> tuple[list[Operator], list[Edge]]:
    """Operators in a topological order (their own, if it is one), edges by producer, consumer, tensor."""
    index = {o.id: i for i, o in enumerate(operators)}
    arcs = [(index[e.source], index[e.target]) for e in edges]
    order: Sequence[int] = range(len(operators))
    if any(u >= v for u, v in arcs):
        dag = Dag.from_edges(len(operators), arcs)
        cycle = find_cycle(dag)
        if cycle:
            raise GraphError(cycle_message(name, [operators[v].id for v in cycle]))
        order = dag.topological_order()
    rank = [0] * len(operators)
    for place, v in enumerate(order):
        rank[v] = place
    keys = sorted(
        (rank[u], rank[v], e.tensor, k) for k, ((u, v), e) in enumerate(zip(arcs, edges, strict=True))
    )
    return [operators[v] for v in order], [edges[key[3]] for key in keys]


def cycle_message(name: str, nodes: Sequence[str]) -> str:
    """One line that shows the way round."""
    few = nodes[:6]
    way = " → ".join(quote(v, 40) for v in few) + (" → …" if nodes[6:] else "") + f" → {quote(nodes[0], 40)}"
    return f"Graph {quote(name)}: it has a cycle, {way}; remove the edge that points backwards."


def find_cycle(dag: Dag) -> tuple[int, ...]:
    """Return the nodes of one cycle in order, or ``()`` when there is none. O(n + m), no recursion.

    >>> find_cycle(Dag.from_edges(4, [(0, 1), (1, 2), (2, 1), (2, 3)]))
    (1, 2)
    """
    done, missing = dag.kahn_order()
    if len(done) == len(dag):
        return ()
    # every node that is left has a predecessor that is left, so walking back must close a loop
    v = next(v for v, k in enumerate(missing) if k > 0)
    place: dict[int, int] = {}
    walk: list[int] = []
    while v not in place:
        place[v] = len(walk)
        walk.append(v)
        v = next(u for u in dag.predecessors[v] if missing[u] > 0)
    loop = walk[place[v] :][::-1]
    start = loop.index(min(loop))
    return tuple(loop[start:] + loop[:start])
