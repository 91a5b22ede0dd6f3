"""Batches of one run: where and when each held a GPU, and how the first came to their invokers."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.about import About
from nona.results.document import Document
from nona.results.serverless.report import ServerlessReport


class LayoutBatch(Document):
    """A batch on a GPU, times in seconds from the start of the measured window.

    It computes from ``computes_s`` on; a row of no ``jobs`` is an instance that stands idle.

    ``slots`` are the bits of the vGPUs or memory slices held, 0 where nothing has a place (MPS, turns).
    """

    invoker: int
    gpu: int
    from_s: float
    computes_s: float
    to_s: float
    slots: int
    vgpus: int
    application: str
    stage: str
    configuration: str
    jobs: int
    cold: bool


class LayoutNode(Document):
    """The GPUs of an invoker: how many, vGPUs and memory slices of each, and the MIG board, if it is one."""

    gpus: int
    vgpus: int
    board: str
    memory: int


class Layouts(Document):
    """The batches of every policy's first run under ``mode`` of sharing."""

    mode: str
    applications: tuple[str, ...]
    nodes: tuple[LayoutNode, ...]
    rows: Mapping[str, tuple[LayoutBatch, ...]]


class RefusalRow(Document):
    """An invoker that refused: for which configuration, by which rule, and why."""

    configuration: str
    invoker: int
    rule: str
    why: str


class StoryRow(Document):
    """How one batch came to its invoker; ``dispatched_s`` from the start of the measured window.

    ``ranked`` are the configurations of the plan, best first.
    """

    application: str
    stage: str
    dispatched_s: float
    waited_s: float
    jobs: int
    invoker: int
    rule: str
    configuration: str
    cold: bool
    forced: bool
    ranked: tuple[str, ...]
    refusals: tuple[RefusalRow, ...]


class ServerlessOutcome(Document):
    """What the page and exports show of a simulation: its report, GPU layouts, and stories by policy.

    ``about`` is its provenance.
    """

    about: About
    report: ServerlessReport
    layouts: Layouts
    stories: Mapping[str, tuple[StoryRow, ...]]
