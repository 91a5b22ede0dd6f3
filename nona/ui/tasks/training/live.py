"""The reports of a running training cluster: policies so far, and who had which GPU lately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nona.results.training.live import PolicySoFar, TrainingLive
from nona.results.training.outcome import Stay
from nona.training.engine.options import TrainingProgress
from nona.training.model.cluster import TrainingCluster

MOST_POINTS = 60  # of a policy's curve
MOST_STAYS = 400
ENDED = 0.99  # share of the jobs after which the picture may turn to another policy
PATIENCE = 5  # reports of others after which it does
NOTHING = PolicySoFar(curve=(), mean_jct_s=None, completed=0, running=0, waiting=0, time_s=0.0)


class TrainingWatch:
    """Takes in progress, keeps a curve for each policy and the latest stays of one, all of replication 0."""

    def __init__(self, cluster: TrainingCluster, policies: Sequence[str]) -> None:
        self._types, self._gpus = cluster.types, cluster.gpus
        self._order = tuple(policies)
        self._policies: dict[str, PolicySoFar] = dict.fromkeys(policies, NOTHING)
        self._sums: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._done: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._focus, self._silent, self._until_s = "", 0, 0.0
        self._stays: dict[tuple[tuple[int, ...], str, tuple[int, ...], float], Stay] = {}

    def take(self, progress: TrainingProgress) -> None:
        """Take in the report of one run."""
        name = progress.policy
        if name not in self._policies or progress.replication != 0:
            return
        self._done[name] = progress.fraction
        self._policies[name] = self._so_far(name, progress)
        self._silent = 0 if name == self._focus else self._silent + 1
        if not self._focus or self._done[self._focus] >= ENDED or self._silent >= PATIENCE:
            self._turn_to(name)
        if name == self._focus:
            self._place(progress)

    def _turn_to(self, name: str) -> None:
        if name != self._focus:
            self._focus, self._silent, self._until_s = name, 0, 0.0
            self._stays.clear()

    def _so_far(self, name: str, progress: TrainingProgress) -> PolicySoFar:
        before = self._policies[name]
        self._sums[name] += sum(progress.jcts_s)
        completed = before.completed + len(progress.jcts_s)
        mean = self._sums[name] / completed if completed else None
        curve = before.curve if mean is None else (*before.curve, (progress.time_s, mean))
        return PolicySoFar(
            curve=curve[::2] if len(curve) > MOST_POINTS else curve,
            mean_jct_s=mean,
            completed=completed,
            running=progress.running,
            waiting=progress.waiting,
            time_s=progress.time_s,
        )

    def _place(self, progress: TrainingProgress) -> None:
        """Add the reported round, drawn from the end of the one reported before; equal ones become one stay.

        Rounds between two reports are not known, so the picture is a sample.
        """
        until_s = max((row[4] for row in progress.placed), default=progress.time_s)
        for jobs, kind, gpus, start_s, _ in progress.placed:
            where = (jobs, self._types[kind], gpus)
            before = self._stays.pop((*where, self._until_s), None)
            begin_s = min(self._until_s, start_s) if before is None else before.start_s
            self._stays[(*where, until_s)] = Stay(
                jobs=jobs, gpu=self._types[kind], gpus=gpus, start_s=begin_s, end_s=until_s
            )
        self._until_s = until_s
        for old in list(self._stays)[: max(0, len(self._stays) - MOST_STAYS)]:
            del self._stays[old]

    def told(self) -> TrainingLive:
        """All that is known so far."""
        types: Mapping[str, int] = dict(self._gpus)
        return TrainingLive(
            order=self._order,
            policies=dict(self._policies),
            types=types,
            focus=self._focus,
            stays=tuple(self._stays.values()),
        )
