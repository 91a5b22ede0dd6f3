"""Prediction against simulation on every shipped scenario: which targets are met, counted.

For placements from all local to all spread, servers and link loaded up to 0.85: is the predicted mean
within 10 % of the simulated one, the 95th percentile within 15 %? And how long a prediction takes.
``python -m benchmarks.prediction_vs_simulation [TASKS [REPLICATIONS]]``; ``nona study prediction`` is the
whole study with longer runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from nona.placement.response.equilibrium import predict_response
from nona.results.studies import MapPoint, Measure, PredictionMap
from nona.study.shipped import stored_result
from nona.study.tested_range import error
from studies.prediction_map import SCENARIOS, MapSettings, map_study, map_system, placed
from studies.reports.prediction import BOUNDS, MEASURES, surely_outside, title, within


def main(tasks: int = 200_000, replications: int = 4) -> None:
    """A line for each scenario, the counts, the shipped map beside them, and CPU times."""
    data = map_study(MapSettings(tasks, replications))
    print(f"{replications} runs of about {tasks:,} tasks at each point; targets: mean 10 %, p95 15 %")
    for name in SCENARIOS:
        _scenario(name, [p for p in data.points if p.scenario == name])
    for label, found in (("now", data), ("shipped map", stored_result(PredictionMap))):
        print(f"{label}: {'; '.join(title(found, m) for m in MEASURES)}")
    _speed()


def _scenario(name: str, points: Sequence[MapPoint]) -> None:
    words = []
    measures: tuple[Measure, ...] = ("mean_s", "p95_s")
    for measure in measures:
        good, of = within(points, measure, BOUNDS[measure])
        sure = sum(surely_outside(p, measure, BOUNDS[measure]) for p in points)
        worst = max((abs(e) for p in points if (e := error(p, measure)) is not None), default=0.0)
        verdict = "met" if good == of else f"missed at {of - good}, at {sure} for sure"
        words.append(f"{MEASURES[measure]} {good} of {of} (worst {worst:.0%}): {verdict}")
    print(f"{name:26} " + "; ".join(words))


def _speed() -> None:
    """CPU seconds of one prediction, which the load of the machine touches little."""
    for name in ("five_models_80_servers", "vision_language_8_servers", "ensemble_bursty"):
        system = map_system(name)
        for placement in ("local", "half", "spread"):
            queries = placed(system, placement).queries
            begin = time.process_time()
            predict_response(system, queries)
            print(f"{name:26} {placement:7} {time.process_time() - begin:.2f} s CPU a prediction")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
