"""The simulations of a session, the latest last: named by what changed, one of them pinned as baseline."""

from __future__ import annotations

from dataclasses import dataclass, field

from nona.report.simulations.compared.scenario_diff import change_text
from nona.report.simulations.simulated import SimulatedRun

MOST = 8


@dataclass(frozen=True, slots=True)
class Kept:
    """A finished simulation: ``data`` is the job's result; ``number`` counts from 1."""

    number: int
    name: str
    fingerprint: str
    job_id: str
    data: SimulatedRun

    @property
    def title(self) -> str:
        """Number and name in a line."""
        return f"{self.number} · {self.name}"

    @property
    def mark(self) -> str:
        """What every view of the run carries: its number and the fingerprint of its scenario."""
        return f"Run {self.number} · fingerprint {self.data.about.hash}"

    @property
    def made(self) -> str:
        """When it was made, as text."""
        return self.data.about.made


@dataclass
class Runs:
    """At most ``most`` runs; the oldest go first, but never the one that is pinned."""

    most: int = MOST
    kept: list[Kept] = field(default_factory=list)
    pinned: int | None = None
    _made: int = 0

    def add(self, fingerprint: str, job_id: str, data: SimulatedRun, name: str = "") -> Kept:
        """Keep a run; by default named after the scenario, or what changed since the run before."""
        last = self.kept[-1] if self.kept else None
        self._made += 1
        run = Kept(self._made, name or _name(last, data), fingerprint, job_id, data)
        self.kept.append(run)
        while len(self.kept) > self.most:
            self.kept.remove(next(k for k in self.kept if k.number != self.pinned))
        return run

    def find(self, number: int | None) -> Kept | None:
        """The run of that number, while it is kept."""
        return next((k for k in self.kept if k.number == number), None)

    def of_job(self, job_id: str) -> Kept | None:
        """The run that a job made."""
        return next((k for k in self.kept if k.job_id == job_id), None)

    def of(self, data: SimulatedRun) -> Kept | None:
        """The run with that result."""
        return next((k for k in self.kept if k.data is data), None)

    @property
    def made(self) -> int:
        """How many were made so far, also those that are gone."""
        return self._made

    def restore(self, made: int, pinned: int | None) -> None:
        """Go on counting, and pin, as before a restart."""
        self._made = max([made, *(k.number for k in self.kept)])
        self.pinned = pinned if self.find(pinned) else None

    @property
    def baseline(self) -> Kept | None:
        """The run that is pinned."""
        return self.find(self.pinned)


def _name(last: Kept | None, data: SimulatedRun) -> str:
    name = data.about.name
    if last is None or last.data.about.name != name:
        return name
    return change_text(last.data.scenario, data.scenario) or "the same again"
