"""What rules an option out before any simulation, whatever its scheduler does.

Load: with p_c(v) the seconds of task v on class c, n_c executors of class c and background ρ₀, any weights
w ≥ 0 give a bound. Of the work x_c(v) ≥ 0 that is done on class c,

    Σ_j λ_j Σ_v min_c w_c p_c(v)  ≤  Σ_c w_c · (seconds of class c in use)  ≤  Σ_c w_c n_c (1 − ρ₀),

so that the left divided by the right must be below 1. Two weights are tried: equal ones, and 1/(seconds of
all work on class c), which count every class by its speed. Idle time: a job takes at least its longest chain
of tasks on the fastest class. Memory: some class must hold the weights of each model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.planning.offers import Option
from nona.results.plan import By
from nona.simulation.records.tally import ROUNDING
from nona.study.cache import StudyCache
from nona.study.planning.question import MILLE, Question
from nona.study.preparation import prepare
from nona.system import System
from nona.units import format_size, format_time

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Excluded:
    """Why an option needs no simulation."""

    by: By
    reason: str


class Bounds:
    """Bounds for the options of a question, from one cluster that has one server of every offer."""

    def __init__(self, question: Question, cache: StudyCache | None = None) -> None:
        self.question = question
        one = Option((1,) * len(question.offers))
        study = prepare(question.scenario_of(one), question.sources, cache)
        self.system: System = study.system
        classes = len(self.system.class_names)
        self.executors = np.zeros((len(question.offers), classes), dtype=np.int64)
        """(offers, classes) Executors of each class on a server of each offer."""
        np.add.at(self.executors, (self.system.executor_server, self.system.executor_class), 1)
        self.rates: Floats = np.array([q.rate for q in self.system.queries])
        self.work: Floats = np.array([q.tasks.compute_s.sum(axis=1) for q in self.system.queries])
        """(models, classes) Seconds of all tasks of a job."""
        self.chain: Floats = np.array(
            [
                [q.tasks.dag.critical_path(q.tasks.compute_s[c].tolist())[0] for c in range(classes)]
                for q in self.system.queries
            ]
        )
        """(models, classes) Seconds of the longest chain of tasks."""
        stream = self.system.background_compute
        self.background = stream.rate * stream.mean

    def classes(self, option: Option) -> NDArray[np.int64]:
        """(classes,) Executors of each class that an option has."""
        counts: NDArray[np.int64] = np.array(option.counts) @ self.executors
        return counts

    def load(self, option: Option) -> float:
        """The least utilisation that any scheduler can reach; from 1 on there is no steady state."""
        counts = self.classes(option)
        used = np.flatnonzero(counts)
        speed = 1 / (self.rates @ self.work)[used]
        return max(self._load(counts, used, w) for w in (np.ones(len(used)), speed))

    def _load(self, counts: NDArray[np.int64], used: NDArray[np.int64], weights: Floats) -> float:
        done = sum(
            q.rate * float((weights[:, None] * q.tasks.compute_s[used]).min(axis=0).sum())
            for q in self.system.queries
        )
        return self.background + done / float(weights @ counts[used])

    def excluded(self, option: Option, load: int = MILLE) -> Excluded | None:
        """Why an option cannot keep the targets with ``load`` thousandths of the traffic, if it cannot."""
        used = np.flatnonzero(self.classes(option)).tolist()
        found = self._memory(used) or self._idle(used)
        if found is not None:
            return found
        least = self.background + (self.load(option) - self.background) * load / MILLE
        if least >= 1:
            return Excluded("load", f"the executors are loaded to at least {least:.3g} of what they can do")
        return None

    def _idle(self, used: Sequence[int]) -> Excluded | None:
        names = self.question.scenario.labels
        for target in self.question.targets:
            query = self.system.queries[target.model]
            chain_s = float(
                query.tasks.dag.critical_path(query.tasks.compute_s[used].min(axis=0).tolist())[0]
            )
            if query.service_scv == 0 and chain_s > target.bound_s * (1 + ROUNDING):
                return Excluded(
                    "idle",
                    f"{names[target.model]} takes at least {format_time(chain_s, 4)} of the "
                    f"{format_time(target.bound_s, 4)} even without queueing",
                )
        return None

    def _memory(self, used: Sequence[int]) -> Excluded | None:
        room = self.system.class_memory_bytes
        if room is None:
            return None
        most = float(np.asarray(room)[list(used)].max()) * (1 + 1e-12)
        for name, query in zip(self.question.scenario.labels, self.system.queries, strict=True):
            if query.weight_bytes > most:
                weights = format_size(query.weight_bytes)
                return Excluded("memory", f"{name} has {weights} of weights, an executor {format_size(most)}")
        return None
