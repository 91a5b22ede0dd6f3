"""The sweep of the shipped scenario of five models on 80 servers: how soon it is there, and what it says.

Link background from 0 to 0.95, every scheduler of the scenario: seconds until every curve has its first
values, until every value was looked at, and until all is done; each scheduler's edge of stability by
simulation and by formula; its mean JCT over nona's at three loads.
``python -m benchmarks.scheduler_sweep [JOBS [REPLICATIONS [WORKERS]]]``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from benchmarks.machine import look, verdict
from nona.report.sweep_findings import at_value, explanation, ratio_text, stability_text
from nona.results.sweeps import SweepReport, SweepRequest
from nona.scenario.file import load_scenario
from nona.simulation.run import engine_named
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.study.cache import StudyCache
from nona.study.sweep_numbers import with_value
from nona.study.sweeps import FIRST, sweep

SCENARIO, KEY = "five_models_80_servers", "background.network.utilization"
VALUES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SHOWN = (0.2, 0.5, 0.8)


def main(jobs: int = 4000, replications: int = 4, workers: int = 1) -> None:
    """Sweep once, and print when what was there and what was found."""
    looks = [look()]
    path = scenario_path(SCENARIO)
    scenario, sources = load_scenario(path), Sources(path.parent)
    names = tuple(s.name for s in scenario.schedulers)
    _warm(names)
    settings = SweepRequest(number=KEY, values=VALUES, schedulers=names, jobs=jobs, replications=replications)
    when: dict[str, tuple[float, float]] = {}
    begin, used = time.perf_counter(), time.process_time()

    def note(names: list[str]) -> None:
        for name in names:
            when.setdefault(name, (time.perf_counter() - begin, time.process_time() - used))

    def heard(fraction: float, text: str, report: Callable[[], SweepReport]) -> None:
        note(_reached(report()))

    report = sweep(scenario, settings, sources, heard, workers=workers)
    note(["all done"])
    looks.append(look())
    print(f"{SCENARIO}, {KEY} at {len(VALUES)} values, {len(names)} schedulers, {replications} × {jobs} jobs")
    print(f"engine {engine_named('auto')}, {workers} process(es); {verdict(looks)}")
    whole = when["all done"][1]
    for name, (seconds, busy) in when.items():
        print(f"  {name:<28}{seconds:7.1f} s, {busy:5.1f} s of this processor ({busy / whole:.0%} of all)")
    _print_findings(report)


def _warm(names: tuple[str, ...]) -> None:
    """The machine code is loaded once in a process, as in the app's workers that wait."""
    small = load_scenario(scenario_path("slides_example"))
    small = with_value(small, "simulation.jobs", 10)
    chosen = SweepRequest(number=KEY, values=(0.0,), schedulers=names, jobs=10, replications=1)
    sweep(small, chosen, cache=StudyCache())


def _reached(report: SweepReport) -> list[str]:
    least = min(len(curve.points) for curve in report.schedulers.values())
    stages = {
        f"{FIRST} values of every curve": least >= FIRST,
        "every value, one run": least >= len(report.values),
        "all runs at every value": report.stage in ("edges", "bends", "servers"),
        "edges of stability": report.stage in ("bends", "servers"),
    }
    return [name for name, there in stages.items() if there]


def _print_findings(report: SweepReport) -> None:
    heads = "".join(f"JCT / nona at {v:<9}" for v in SHOWN)
    print(f"{'scheduler':<15}{'edge':<22}{'by formula':<12}{heads}")
    for name, curve in report.schedulers.items():
        formula = curve.formula_edges
        by_formula = f"{formula[0].overloaded:.3f}" if formula else "–"
        ratios = [at_value(report, v)[name].ratio for v in SHOWN]
        edge = stability_text(curve, report.unit)
        print(f"{name:<15}{edge:<22}{by_formula:<12}" + "".join(f"{ratio_text(r):<23}" for r in ratios))
    for what, text in explanation(report).items():
        print(f"{what}: {text}")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
