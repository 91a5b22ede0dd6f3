"""A simulation with all that later runs are compared by."""

from __future__ import annotations

from nona.report.simulations.compared.baseline import replication_means
from nona.report.simulations.simulated import SimulatedRun
from nona.report.simulations.sureness import idle_bound_s
from nona.results.simulation.live import LiveRun
from nona.results.simulation.outcome import SimulationOutcome
from nona.study.preparation import Study
from nona.study.simulating.run import SimulationResult


def simulated_run(
    prepared: Study, result: SimulationResult, outcome: SimulationOutcome, live: LiveRun
) -> SimulatedRun:
    """The run whose ``outcome`` is that of :func:`~nona.study.outcome.simulation_outcome`."""
    return SimulatedRun(
        **dict(outcome),
        live=live,
        means=replication_means(result.records, [q.slo_s for q in prepared.system.queries]),
        idle_s=idle_bound_s(prepared.system),
        scenario=prepared.scenario,
    )
