"""What the browser gets of a running platform."""

from __future__ import annotations

from nona.results.document import Document, Figure


class PolicyRow(Document):
    """A policy so far: share of SLOs kept, US dollars for 1,000 calls, the curve of the share."""

    name: str
    colour: str
    hits: Figure
    cost: Figure
    curve: tuple[tuple[float, float], ...]


class QueueRow(Document):
    """The queues of an application: jobs in each stage's."""

    application: str
    stages: tuple[str, ...]
    jobs: tuple[int, ...]
    colour: str


class NodeRow(Document):
    """A node: what it has, what batches hold of it, stranded vGPUs."""

    vcpus: int
    vgpus: int
    cpu_held: int
    gpu_held: int
    stranded: int


class PlatformDrawing(Document):
    """The whole picture; ``told``, ``now``, ``more`` and ``alts`` are texts."""

    fraction: float
    told: str
    policies: tuple[PolicyRow, ...]
    queues: tuple[QueueRow, ...]
    nodes: tuple[NodeRow, ...]
    colours: tuple[str, str]
    now: str
    more: str
    alts: tuple[str, str, str]
