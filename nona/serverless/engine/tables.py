"""The system in plain lists, as the loop reads it."""

from __future__ import annotations

from nona.scenario.late import LATE
from nona.serverless.dispatch.late import least_left_s
from nona.serverless.model.system import ServerlessSystem


class Tables:
    """What does not change in a run. Queues have numbers, in the order of ``system.queues``.

    Attributes
    ----------
    application, stage, function, entry
        By queue.
    queue_at
        ``queue_at[a][s]``: the number of a queue.
    before, after
        By queue: stages before its own, and queues after it.
    drops, least_left_s
        Whether late calls are dropped; by queue, the seconds that a call there needs at least.
    cpu_s
        ``cpu_s[f][c]``: seconds of the CPU phase.
    """

    def __init__(self, system: ServerlessSystem) -> None:
        apps = system.applications
        self.system = system
        self.application = [a for a, _ in system.queues]
        self.stage = [s for _, s in system.queues]
        self.function = [apps[a].function[s] for a, s in system.queues]
        number = {pair: q for q, pair in enumerate(system.queues)}
        self.queue_at = [[number[a, s] for s in range(app.stages)] for a, app in enumerate(apps)]
        self.before = [apps[a].dag.predecessors[s] for a, s in system.queues]
        self.after = [tuple(number[a, v] for v in apps[a].dag.successors[s]) for a, s in system.queues]
        self.entry = [not before for before in self.before]
        self.entries = [tuple(number[a, s] for s in app.entries) for a, app in enumerate(apps)]
        self.input_bytes = [apps[a].input_bytes[s] for a, s in system.queues]
        self.slo_s = [app.slo_s for app in apps]
        self.widest = max(app.stages for app in apps)
        self.drops = LATE.find(system.dispatch.late).drops
        self.least_left_s = least_left_s(system) if self.drops else ()
        self.cpu_s: list[list[float]] = system.cpu_s.tolist()
        self.cold_start_s = [f.cold_start_s for f in system.functions]
        self.configurations = system.space.configurations
        self.batch = [c.batch for c in self.configurations]
        self.vcpus = [c.vcpus for c in self.configurations]
        self.vgpus = [c.vgpus for c in self.configurations]

    @property
    def queues(self) -> int:
        """Number of AFW queues."""
        return len(self.application)
