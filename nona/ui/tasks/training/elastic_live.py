"""The reports of a run of elastic jobs: policies so far, and who has which GPU now."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nona.results.training.elastic_history import ElasticLive, ElasticMoment, ElasticSoFar
from nona.training.elastic.engine.run import ElasticProgress
from nona.training.elastic.model.given import Given, size_of

MOST_POINTS = 120  # of a policy's curve
ENDED = 0.999  # share of the jobs after which the picture may turn to another policy
PATIENCE = 8  # reports of others after which it does
NOTHING = ElasticSoFar(curve=(), completed=0)


class ElasticWatch:
    """Takes in progress, keeps a curve for each policy and the GPUs of one, all of replication 0."""

    def __init__(self, policies: Sequence[str], nodes: int, gpus: int) -> None:
        self._nodes, self._gpus = nodes, gpus
        self._policies = dict.fromkeys(policies, NOTHING)
        self._work: dict[str, tuple[float, float]] = {}
        self._done = dict.fromkeys(policies, 0.0)
        self._focus, self._silent, self._time_s = "", 0, 0.0
        self._given: Mapping[int, Given] = {}

    def take(self, progress: ElasticProgress) -> None:
        """Take in the report of one run."""
        name = progress.policy
        if name not in self._policies or progress.replication:
            return
        self._done[name] = progress.fraction
        self._policies[name] = self._so_far(name, progress)
        self._silent = 0 if name == self._focus else self._silent + 1
        if not self._focus or self._done[self._focus] >= ENDED or self._silent >= PATIENCE:
            self._focus, self._silent = name, 0
        if name == self._focus:
            self._given, self._time_s = progress.given, progress.time_s

    def _so_far(self, name: str, progress: ElasticProgress) -> ElasticSoFar:
        """Goodput: the work since the report before, by the simulated hours since."""
        before = self._policies[name]
        then_s, done = self._work.get(name, (0.0, 0.0))
        hours = (progress.time_s - then_s) / 3600
        goodput = (progress.work - done) / hours if hours > 0 else 0.0
        self._work[name] = (progress.time_s, progress.work)
        used = sum(size_of(given) for given in progress.given.values())
        mean_s = None if math.isnan(progress.mean_jct_s) else progress.mean_jct_s
        now = ElasticMoment(progress.time_s, progress.running, progress.waiting, used, goodput, mean_s)
        curve = (*before.curve, now)
        return ElasticSoFar(
            curve=curve[::2] if len(curve) > MOST_POINTS else curve,
            completed=round(progress.fraction * progress.jobs),
        )

    def told(self) -> ElasticLive:
        """All that is known so far."""
        return ElasticLive(
            order=tuple(self._policies),
            policies=dict(self._policies),
            nodes=self._nodes,
            gpus=self._gpus,
            focus=self._focus,
            time_s=self._time_s,
            given={n: tuple((s.node, s.gpus) for s in given) for n, given in self._given.items() if given},
        )
