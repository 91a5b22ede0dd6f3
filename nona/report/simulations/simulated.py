"""The result of the job that simulates a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Figure
from nona.results.simulation.compared import ReplicationMeans
from nona.results.simulation.live import LiveRun
from nona.results.simulation.outcome import SimulationOutcome
from nona.scenario.schema import Scenario


class SimulatedRun(SimulationOutcome):
    """A simulation's outcome, the last figures of its live charts, and what a later run is compared by.

    ``means`` is scheduler → each measure in every replication; ``idle_s`` the bound below which no mean
    JCT lies (seconds).
    """

    live: LiveRun
    means: Mapping[str, ReplicationMeans]
    idle_s: Figure
    scenario: Scenario
