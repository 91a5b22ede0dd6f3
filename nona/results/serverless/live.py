"""A serverless simulation while it runs: every policy so far, and the platform at the last instant."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure


class PolicySoFar(Document):
    """A policy's share of SLOs kept, its cost, and the curve (share of the run done, share kept)."""

    curve: tuple[tuple[float, float], ...]
    hits: Figure
    cost_per_call_usd: Figure
    completed: int


class PlatformState(Document):
    """The platform at one instant: jobs per queue; free vCPUs, free and stranded vGPUs per invoker."""

    time_s: float
    queues: tuple[int, ...]
    free_vcpus: tuple[int, ...]
    free_vgpus: tuple[int, ...]
    stranded: tuple[int, ...]


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
    snapshot: PlatformState | None
