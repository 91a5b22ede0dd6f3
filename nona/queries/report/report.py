"""The report on a simulation for JSON, a row per job, and the whole result of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator

from nona.core.checks import passed_and_failed
from nona.core.document import ErrorRange, Figure
from nona.queries import results as simulation
from nona.queries.chart_data import LiveRun, SimulationOutcome
from nona.queries.report.stage_loads import stage_loads
from nona.queries.simulation.records import Records
from nona.queries.simulation.steady_state import Warmup
from nona.queries.simulation.summary import SchedulerSummary
from nona.queries.system import System
from nona.scenario.arrivals import effective_rate
from nona.scenario.file import without_gone
from nona.scenario.schema import Scenario

if TYPE_CHECKING:
    import pandas as pd


def simulation_report(
    summaries: Mapping[str, SchedulerSummary],
    seconds: float,
    warmup: Warmup | None = None,
    precision: simulation.PrecisionReport | None = None,
    system: System | None = None,
) -> simulation.SimulationReport:
    """Report all schedulers of one simulation.

    Parameters
    ----------
    summaries : mapping of str to SchedulerSummary
        Scheduler → its summary.
    seconds : float
        Time on the clock.
    warmup : Warmup, optional
        Jobs that were left out, and why.
    precision : PrecisionReport, optional
        How precise the means are.
    system : System, optional
        Gives the loads of stages.

    Returns
    -------
    SimulationReport
        All schedulers of one simulation; intervals at 95 %.
    """
    engines = sorted({engine for s in summaries.values() for engine in s.engine.split(", ")})
    checks, failed = passed_and_failed({name: s.checks for name, s in summaries.items()})
    return simulation.SimulationReport(
        engine=", ".join(engines),
        seconds=seconds,
        schedulers={name: s.result for name, s in summaries.items()},
        checks=checks,
        failed_checks=failed,
        warmup=_warmup(warmup) if warmup else None,
        precision=precision,
        stages=stage_loads(system, _per_second(system, summaries)) if system and system.pools else (),
    )


def _per_second(system: System, summaries: Mapping[str, SchedulerSummary]) -> dict[str, float]:
    """Query class → queries per second: of users as many as they sent under the first scheduler."""
    rates = {q.name: effective_rate(q.arrivals, q.rate) for q in system.queries}
    for summary in list(summaries.values())[:1]:
        sent = {name: model.loop for name, model in summary.result.models.items() if model.loop}
        rates |= {name: loop.per_s.mean for name, loop in sent.items() if loop.per_s.mean is not None}
    return rates


def compared(
    report: simulation.SimulationReport,
    baseline: str | None,
    differences: Mapping[str, simulation.Difference],
    off: Mapping[str, ErrorRange],
    advice: Sequence[str],
) -> simulation.ComparedReport:
    """Return the report with every scheduler's difference from a baseline, and what follows.

    Parameters
    ----------
    report : SimulationReport
        The report.
    baseline : str or None
        Scheduler from which the others differ.
    differences : mapping of str to Difference
        Scheduler → its paired difference.
    off : mapping of str to ErrorRange
        Scheduler → range of its mean if task times are off.
    advice : sequence of str
        What follows, in sentences.

    Returns
    -------
    ComparedReport
        The report with all of these.
    """
    return simulation.ComparedReport(
        **dict(report), baseline=baseline, differences=differences, off=off, advice=tuple(advice)
    )


def python_decisions(report: simulation.SimulationReport) -> list[str]:
    """Schedulers that slow the compiled engine down: their decisions could not be compiled."""
    if report.engine != "compiled":
        return []
    return [name for name, s in report.schedulers.items() if s.decisions == "python"]


def job_table(records: Iterable[Records], names: Sequence[str]) -> pd.DataFrame:
    """One row per recorded job: scheduler, replication, model, arrival, completion, JCT (seconds)."""
    import pandas as pd

    frames = [
        pd.DataFrame(
            {
                "scheduler": r.scheduler,
                "replication": r.replication,
                "model": [names[q] for q in r.query.tolist()],
                "arrival_s": r.arrival_s,
                "completion_s": r.completion_s,
                "jct_s": r.completion_s - r.arrival_s,
            }
        )
        for r in records
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _warmup(warmup: Warmup) -> simulation.WarmupReport:
    return simulation.WarmupReport.from_fields(
        warmup, schedulers={n: simulation.PilotCut.from_fields(c) for n, c in warmup.cuts.items()}
    )


class SimulatedRun(SimulationOutcome):
    """A simulation's outcome, the last figures of its live charts, and what a later run is compared by.

    ``means`` is scheduler → each measure in every replication; ``idle_s`` the bound below which no mean
    JCT lies (seconds). ``ended_early_s``: seconds after which the run was cancelled, with what had ended.
    """

    live: LiveRun
    means: Mapping[str, simulation.ReplicationMeans]
    idle_s: Figure
    scenario: Annotated[Scenario, BeforeValidator(without_gone)]
    ended_early_s: Figure = None
