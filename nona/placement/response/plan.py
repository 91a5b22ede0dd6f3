"""A configuration as one job walks it: which task runs where, what it waits for, what it sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nona.placement.response.task_order import Block, Errand, blocks_of
from nona.placement.spans.candidates import Candidates


@dataclass(frozen=True, slots=True)
class Message:
    """One tensor to one server, of ``size_bytes``, from the server with label ``source``.

    ``shared_bytes``: Σ min(own size, other size) over its task's messages, served by its end in equal shares.
    """

    size_bytes: float
    shared_bytes: float
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Nodes 0 (root), 1…m (interior), m + 1 (sink); servers by label, 0 the root's.

    ``label`` has the server of every node. ``blocks`` are the events of a job alone, in order. ``sent[u]``
    are the messages of node u in the order in which they are asked for. ``local[v]`` are the nodes
    whose tensors v finds on its server, ``remote[v]`` the messages (u, place in ``sent[u]``) it needs.
    ``ends`` are the nodes that the end waits for where the sink is virtual.
    """

    label: tuple[int, ...]
    servers: int
    blocks: tuple[Block, ...]
    sent: tuple[tuple[Message, ...], ...]
    local: tuple[tuple[int, ...], ...]
    remote: tuple[tuple[tuple[int, int], ...], ...]
    has_root: bool
    has_sink: bool


def make_plan(c: Candidates, row: int) -> Plan:
    """The plan of configuration ``row`` of ``c``."""
    shape = c.shape
    label = (0, *c.labels[row].tolist())
    source, target, tensor = shape.source.tolist(), shape.target.tolist(), shape.tensor.tolist()
    nodes = shape.m + 2
    sent: list[list[Message]] = [[] for _ in range(nodes)]
    local: list[list[int]] = [[] for _ in range(nodes)]
    remote: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    known: dict[tuple[int, int, int], int] = {}
    for edge, (u, v) in enumerate(zip(source, target, strict=True)):
        if label[u] == label[v]:
            local[v].append(u)
            continue
        key = (u, tensor[edge], label[v])
        if key not in known:
            known[key] = len(sent[u])
            sent[u].append(Message(float(shape.size[edge]), 0.0, label[u], label[v]))
        remote[v].append((u, known[key]))
    return Plan(
        label=label,
        servers=max(label) + 1,
        blocks=_blocks(c, label, sent, remote),
        sent=tuple(tuple(_shared(messages)) for messages in sent),
        local=tuple(tuple(n) for n in local),
        remote=tuple(tuple(n) for n in remote),
        has_root=shape.has_root,
        has_sink=shape.has_sink,
    )


def _shared(sent: list[Message]) -> list[Message]:
    sizes = [m.size_bytes for m in sent]
    return [replace(m, shared_bytes=sum(min(m.size_bytes, other) for other in sizes)) for m in sent]


def _blocks(
    c: Candidates,
    label: Sequence[int],
    sent: Sequence[Sequence[Message]],
    remote: Sequence[Sequence[tuple[int, int]]],
) -> tuple[Block, ...]:
    """The order in which a job alone does it all, at mean times."""
    shape, link = c.shape, c.link
    feeds: list[list[int]] = [[] for _ in label]
    for u, v in zip(shape.source.tolist(), shape.target.tolist(), strict=True):
        if label[u] == label[v]:
            feeds[u].append(v)
    waiting = [[(m.size_bytes / link.speed, list[int]()) for m in messages] for messages in sent]
    for v, needed in enumerate(remote):
        for u, place in needed:
            waiting[u][place][1].append(v)
    seconds = (0.0, *shape.mean_s.tolist(), 0.0)
    return blocks_of(Errand(label, seconds, feeds, waiting, link.latency_s, shape.has_root))
