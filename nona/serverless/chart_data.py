"""Data for drawings of a serverless run: batches on GPUs, the live platform."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import model_validator

from nona.core.document import Document, Figure, RunResult, read_without
from nona.serverless.results import ServerlessReport


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


class ServerlessOutcome(RunResult):
    """The result of a simulation for page and exports: its report and GPU layouts.

    ``about`` is its provenance.
    """

    report: ServerlessReport
    layouts: Layouts

    _earlier = model_validator(mode="before")(read_without("stories"))


class PolicySoFar(Document):
    """A policy's share of SLOs kept, its cost, and the curve (share of the run done, share kept)."""

    curve: tuple[tuple[float, float], ...]
    hits: Figure
    cost_per_call_usd: Figure
    completed: int


class PlatformSnapshot(Document):
    """The platform at one instant: jobs per AFW queue; free vCPUs, free and stranded vGPUs per invoker.

    ``completed``: calls so far, of which ``hits`` within their SLO.
    """

    time_s: float
    queues: tuple[int, ...]
    free_vcpus: tuple[int, ...]
    free_vgpus: tuple[int, ...]
    stranded: tuple[int, ...]
    completed: int
    hits: int


class PlatformLive(Document):
    """All that is known so far.

    ``applications`` are (name, stages), ``nodes`` (vCPUs, vGPUs), ``order`` the policies in the
    scenario's order; ``focus`` is the policy that ``snapshot`` shows.
    """

    applications: tuple[tuple[str, tuple[str, ...]], ...]
    nodes: tuple[tuple[int, int], ...]
    order: tuple[str, ...]
    policies: Mapping[str, PolicySoFar]
    focus: str
    snapshot: PlatformSnapshot | None
