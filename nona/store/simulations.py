"""Simulations as saved items: what is said of one, and several beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.simulations.comparison import HEADINGS, changes, pairing
from nona.report.simulations.findings import headline
from nona.report.simulations.report import SimulatedRun
from nona.report.text import counted, listed
from nona.results.document import UNKNOWN, Estimate
from nona.results.saved import SavedAnswer, SavedFacts, Unit
from nona.results.simulation import Change, Measure, ReplicationMeans
from nona.statistics import mean_interval
from nona.store.contents import Answers
from nona.store.families import saved_facts
from nona.units import duration

_UNITS: dict[Measure, Unit] = {
    "jct_s": "s",
    "slo_hit_rate": "share",
    "compute": "share",
    "network": "share",
}


def facts(run: SimulatedRun) -> SavedFacts:
    """Scenario, schedulers, models and finding of a run."""
    schedulers = run.report.schedulers
    return saved_facts(run, schedulers, _early(run) + headline(schedulers, run.differences, run.off).text)


def _early(run: SimulatedRun) -> str:
    """Say of a cancelled run how far it came; empty for a whole one."""
    if run.ended_early_s is None:
        return ""
    ended = sorted({scheduler.replications for scheduler in run.report.schedulers.values()} or {0})
    least = "" if len(ended) == 1 else f"{ended[0]} to "
    wanted = counted(run.scenario.simulation.replications, "replication")
    none = [s.name for s in run.scenario.schedulers if s.name not in run.report.schedulers]
    without = f", none of {listed(none)}" if none else ""
    return f"Cancelled after {duration(run.ended_early_s)}, {least}{ended[-1]} of {wanted}{without}. "


def answers(runs: Sequence[SimulatedRun]) -> Answers:
    """Every measure of every scheduler in each run, with the change from the first.

    Runs of the same jobs are paired by replication, others compared by Welch's interval: see
    :mod:`nona.report.simulations.comparison`.
    """
    first = runs[0]
    pairs = [pairing(first.scenario, run.scenario, (_warmup(first), _warmup(run))) for run in runs]
    against = [changes(first.means, run.means, pair.paired) for run, pair in zip(runs, pairs, strict=True)]
    names = list(dict.fromkeys(name for run in runs for name in run.means))
    rows = []
    for measure, (word, _) in HEADINGS.items():
        for name in names:
            every = [by_name[name].of(measure) if name in by_name else None for by_name in against]
            values = tuple(
                _value(run.means.get(name), measure, change) for run, change in zip(runs, every, strict=True)
            )
            rows.append(
                SavedAnswer(
                    subject=name,
                    measure=word,
                    unit=_UNITS[measure],
                    values=values,
                    changes=tuple(UNKNOWN if change is None else change.change for change in every),
                    clear=tuple(change is not None and change.clear for change in every),
                )
            )
    notes = (pair.text(first.means, run.means) for pair, run in zip(pairs[1:], runs[1:], strict=True))
    return Answers(tuple(rows), ("", *notes))


def _value(means: ReplicationMeans | None, measure: Measure, change: Change | None) -> Estimate:
    """The mean in one run; that of the comparison where the first run has the scheduler too."""
    if change is not None:
        return change.new
    values = () if means is None else means.of(measure)
    numbers = [v for v in values if v is not None]
    return UNKNOWN if not numbers or len(numbers) < len(values) else mean_interval(numbers).estimate


def _warmup(run: SimulatedRun) -> int | None:
    return None if run.report.warmup is None else run.report.warmup.jobs
