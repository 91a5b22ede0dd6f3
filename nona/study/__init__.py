"""The study: the one place that composes the layers; app and command line call it.

:func:`prepare` turns a scenario into a :class:`~nona.system.System`, :func:`place` solves its
placement, :func:`simulate` runs its schedulers.

* ``preparation``, ``cache``, ``network``, ``coarsening``: from a scenario to a system.
* ``placing/``: the placement, judged by sampled jobs and short simulations. ``response``: its distribution.
* ``simulating/``: all schedulers, replicated. ``outcome``, ``exports``: results as data and as files.
* ``sweeps/``, ``capacity``, ``congestion``: one number varied; fewest servers; link load by formula.
* ``paper/``, ``decisions/``, ``prediction_map/``, ``serverless/``: studies whose results ship; ``networks/``:
  networks made by rule for them. ``network_story``, ``self_checks``: the Overview's example; quick checks.
"""

from nona.study.cache import StudyCache
from nona.study.preparation import (
    PreparedModel,
    Study,
    configuration_counts,
    given_graph,
    glued_model,
    prepare,
    prepare_model,
)
from nona.study.simulation import (
    Answer,
    Comparison,
    SimulationProgress,
    SimulationResult,
    answers,
    chosen_schedulers,
    compare,
    needs_placement,
    place,
    predictions,
    simulate,
)
from nona.study.sweep_numbers import Number, number_named, numbers_of, with_value
from nona.study.sweeps import SweptPoint, sweep

__all__ = [
    "Answer",
    "Comparison",
    "Number",
    "PreparedModel",
    "SimulationProgress",
    "SimulationResult",
    "Study",
    "StudyCache",
    "SweptPoint",
    "answers",
    "chosen_schedulers",
    "compare",
    "configuration_counts",
    "given_graph",
    "glued_model",
    "needs_placement",
    "number_named",
    "numbers_of",
    "place",
    "predictions",
    "prepare",
    "prepare_model",
    "simulate",
    "sweep",
    "with_value",
]
