"""Jobs that hold their GPUs: interactive ones from first use to their end, replicas of inference jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nona.allocation.policies.problem import Floats
from nona.training.mechanism.gpus import Board
from nona.training.model.rates import Rates
from nona.training.model.system import TrainingSystem
from nona.training.records.run import Held


@dataclass
class Pinned:
    """Jobs that wait for their GPUs, in order of arrival, and those that hold some.

    A job takes the type that runs it fastest, among those with enough free GPUs; ties alphabetically.
    Replicas of an inference job stand on different nodes, so that one failure leaves the others.
    """

    system: TrainingSystem
    rates: Rates
    boards: Sequence[Board]
    waiting: list[int] = field(default_factory=list)
    holding: dict[int, Held] = field(default_factory=dict)
    past: list[Held] = field(default_factory=list)

    def arrive(self, job: int) -> None:
        """A job asks for its GPUs."""
        self.waiting.append(job)

    def start(self, now: float) -> list[Held]:
        """Give GPUs to those that wait, in order; one that does not fit lets later ones pass."""
        started = []
        for job in list(self.waiting):
            if (held := self._held(job, now)) is not None:
                self.waiting.remove(job)
                self.holding[job] = held
                started.append(held)
        return started

    def end(self, now: float) -> list[Held]:
        """Those that are done by now give their GPUs back."""
        done = [h for h in self.holding.values() if h.end_s <= now]
        for held in done:
            del self.holding[held.job]
        self.past += done
        return done

    def taken(self, kind: int) -> tuple[int, ...]:
        """GPUs of a type that are held."""
        return tuple(g for h in self.holding.values() if h.kind == kind for g in h.gpus)

    def free(self, gpus: Floats) -> Floats:
        """(J,) GPUs that nobody holds."""
        found: Floats = gpus - np.array([len(self.taken(kind)) for kind in range(len(gpus))])
        return found

    @property
    def next_end_s(self) -> float:
        """When the first of them is done; infinite without any."""
        return min((h.end_s for h in self.holding.values()), default=np.inf)

    def _held(self, job: int, now: float) -> Held | None:
        what = self.system.jobs[job]
        speed = self.rates.alone[job]
        for kind in np.argsort(-speed, kind="stable").tolist():
            if speed[kind] <= 0:
                return None
            board, held = self.boards[kind], self.taken(kind)
            if len(board) - len(held) < what.workers:
                continue
            found = board.place([(job, what.workers)], {}, held, apart=what.kind == "inference")
            if found:
                return Held(job, kind, found[job], now, now + what.steps)
        return None
