"""The uncertainty of a simulation, as a table and in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import NormalDist

from nona.report.inputs.given_times import given_text
from nona.report.means import mean_text
from nona.report.text import or_dash, share_text
from nona.results.about import ModelFacts
from nona.results.simulation.sureness import Sureness
from nona.units import format_time

LEVEL = 0.9  # of the stated error of a modelled time
MEANING = {
    "Predicted": "sampled jobs among random waits: each executor and link is a separate queue with the load "
    "and the arrivals of the placement. It neglects the dependence between these queues, and what a "
    "scheduler observes of them.",
    "Simulated": "the mean over independent runs with Student's 95 % interval. Its "
    "errors: the sampling error, which the interval states, and the error of the cluster's model, which it "
    "does not.",
    "Idle bound": "the longest chain of tasks on the fastest executors of an idle cluster: a lower bound for "
    "every scheduler at any load.",
    "By Little's law": "mean number of jobs in the system over the arrival rate, counted in these runs "
    "without using completion times. It must agree, except for effects at the ends of the window.",
    "Load": "offered load of the busier of executors and link, relative to its capacity. At 100 % or more "
    "there is no steady state and no mean.",
}


def sureness_table(rows: Sequence[Sureness]) -> list[dict[str, str]]:
    """The rows of :func:`~nona.report.simulations.sureness.sureness_rows`, formatted."""
    return [
        {
            "scheduler": r.scheduler,
            "state": r.state,
            "predicted": _prediction(r),
            "simulated": mean_text(r.jct_s, format_time),
            "± of mean": or_dash(r.relative_half_width, partial(share_text, digits=2)),
            "predicted / simulated": _error(r),
            "by Little's law": or_dash(r.little_s, format_time) if r.state != "overloaded" else "–",
            "idle bound": or_dash(r.idle_s, format_time),
            "× idle bound": or_dash(r.over_idle, "{:.3g} ×".format),
            "load": f"{or_dash(r.load, share_text)} {r.bottleneck}",
            "why": r.reason,
        }
        for r in rows
    ]


def _prediction(row: Sureness) -> str:
    if row.predicted_s is not None:
        return format_time(row.predicted_s)
    return "no prediction" if row.prediction == "none" else "overloaded"


def _error(row: Sureness) -> str:
    if row.error is None:
        return "–"
    inside = ", within the interval" if row.explained else ""
    return f"{share_text(row.error, 1, '+')}{inside}"


def provenance_lines(models: Mapping[str, ModelFacts]) -> list[str]:
    """For each model the origin of its times and their uncertainty, by the cost model's stated error."""
    lines = []
    for name, facts in models.items():
        parts = [
            f"{share_text(share)} {kind} ({_stated(facts.sigma.get(kind, 0.0))})"
            for kind, share in sorted(facts.provenance.items(), key=lambda item: -item[1])
        ]
        given = given_text(facts.given, facts.device)
        lines.append(f"{name} on {facts.device}: {', '.join(parts)}{f'; {given}' if given else ''}.")
    return lines


def _stated(sigma: float) -> str:
    if sigma == 0:
        return "taken as stated"
    factor = math.exp(NormalDist().inv_cdf((1 + LEVEL) / 2) * sigma)
    return f"with {share_text(LEVEL)} between {1 / factor:.2f} and {factor:.2f} times"
