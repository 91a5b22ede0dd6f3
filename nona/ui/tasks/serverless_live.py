"""The reports of a running serverless run: policies so far, and the platform at the last instant."""

from __future__ import annotations

from collections.abc import Sequence

from nona.results.serverless.live import PlatformLive, PlatformState, PolicySoFar
from nona.serverless.engine.options import ServerlessProgress
from nona.serverless.model.system import HOUR_S, ServerlessSystem
from nona.serverless.records.run import Snapshot

MOST_POINTS = 60  # of a policy's curve
NOTHING = PolicySoFar(curve=(), hits=None, cost_per_call_usd=None, completed=0)


class PlatformWatch:
    """Takes in progress, keeps a curve for each policy and the latest snapshot of one.

    The cost is an estimate: what is held between two snapshots is taken to be what the later one shows.
    Costs and hits are those of replication 0; the snapshot shown is that of one policy until it ends.
    """

    def __init__(self, system: ServerlessSystem, policies: Sequence[str]) -> None:
        self._prices, self._order = system.prices, tuple(policies)
        self._vcpus = sum(node.vcpus for node in system.invokers)
        self._vgpus = sum(node.gpus * node.vgpus for node in system.invokers)
        self._policies = dict.fromkeys(policies, NOTHING)
        self._paid: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._at_s: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._done: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._focus = ""
        self._shown: PlatformState | None = None
        self._applications = tuple((a.name, tuple(a.stage_names)) for a in system.applications)
        self._nodes = tuple((node.vcpus, node.gpus * node.vgpus) for node in system.invokers)

    def take(self, progress: ServerlessProgress) -> None:
        """Take in the report of one run."""
        name, now = progress.policy, progress.snapshot
        if now is None or name not in self._policies or progress.replication != 0:
            return
        self._done[name] = progress.run_fraction
        self._add(name, now, progress.run_fraction)
        if not self._focus or self._done[self._focus] >= 0.99 or self._focus == name:
            self._focus, self._shown = name, _state(now)

    def _add(self, name: str, now: Snapshot, fraction: float) -> None:
        held_vcpus, held_vgpus = self._vcpus - sum(now.free_vcpus), self._vgpus - sum(now.free_vgpus)
        hourly = held_vcpus * self._prices.vcpu_hour + held_vgpus * self._prices.vgpu_hour
        self._paid[name] += (now.time_s - self._at_s[name]) * hourly / HOUR_S
        self._at_s[name] = now.time_s
        if now.completed:
            hits = now.hits / now.completed
            curve = (*self._policies[name].curve, (fraction, hits))
            self._policies[name] = PolicySoFar(
                curve=curve[::2] if len(curve) > MOST_POINTS else curve,
                hits=hits,
                cost_per_call_usd=self._paid[name] / now.completed,
                completed=now.completed,
            )

    def told(self) -> PlatformLive:
        """All that is known so far."""
        return PlatformLive(
            applications=self._applications,
            nodes=self._nodes,
            order=self._order,
            policies=dict(self._policies),
            focus=self._focus,
            snapshot=self._shown,
        )


def _state(now: Snapshot) -> PlatformState:
    return PlatformState(
        time_s=now.time_s,
        queues=now.queues,
        free_vcpus=now.free_vcpus,
        free_vgpus=now.free_vgpus,
        stranded=now.stranded,
    )
