"""The results of the map as text, computed from its numbers."""

from __future__ import annotations

from nona.report.prediction_map.rows import (
    BANDS,
    BOUNDS,
    MEASURES,
    error,
    half_width,
    surely_outside,
    within,
)
from nona.report.text import share_text, table
from nona.results.studies.prediction_map import Measure, PredictionMap

WHICH = (
    "The map compares two predictions. The optimiser's *formula* uses mean waits, so that its optimum can be "
    "certified; the *response* samples jobs with random waits and gives the mean, the 95th percentile and "
    "the share of SLO misses. The pages show the response next to the certificate."
)


def title(data: PredictionMap, measure: Measure = "mean_s") -> str:
    """The main finding in one sentence."""
    good, of = within(data.points, measure, BOUNDS[measure])
    name = {
        "mean_s": "predicted mean",
        "p95_s": "predicted 95th percentile",
        "formula_s": "mean by the optimiser's formula",
    }[measure]
    bound = f"{100 * BOUNDS[measure]:.0f} %"
    return f"The {name} is within {bound} of the simulation at {good} of {of} points"


def findings(data: PredictionMap) -> list[str]:
    """The number of points in each band, the worst point, and the uncertainty of its simulation."""
    points = data.points
    lines = []
    for measure, name in MEASURES.items():
        counts = [(bound, within(points, measure, bound)[0]) for bound in BANDS]
        of = within(points, measure, 1.0)[1]
        parts = ", ".join(f"{count} within {100 * bound:.0f} %" for bound, count in counts)
        lines.append(f"{name}: {parts}, of {of} points.")
    known = [(abs(e), p) for p in points if (e := error(p, "mean_s")) is not None]
    if known:
        _, worst = max(known, key=lambda pair: pair[0])
        half = half_width(worst, "mean_s")
        lines.append(
            f"The mean has its largest error in {worst.scenario}, {worst.placement}, {worst.load}: "
            f"{share_text(error(worst, 'mean_s') or 0.0, sign='+')}"
            + ("." if half is None else f"; the simulated mean has ± {share_text(half)}.")
        )
    sure = sum(surely_outside(p, "mean_s", BOUNDS["mean_s"]) for p in points)
    lines.append(
        f"At {sure} points the error of the mean is above {100 * BOUNDS['mean_s']:.0f} % for every value in "
        "the simulation's interval."
    )
    unsteady = sum(p.state != "stable" for p in points)
    if unsteady:
        lines.append(f"{unsteady} points had no steady state in the simulation and are left out.")
    return lines


def provenance(data: PredictionMap) -> str:
    """The provenance of the stored map."""
    about = data.about
    seed = "the scenarios' own seeds" if about.seed is None else f"seed {about.seed}"
    return (
        f"Made by {about.command} (version {about.version}, {about.made}, "
        f"{about.seconds / 60:.0f} min): {about.replications} runs of about {about.tasks:,} tasks "
        f"at each point, {seed}. Loads are those of the most loaded executors and links."
    )


def map_text(data: PredictionMap) -> str:
    """The map for a terminal."""
    rows = []
    for p in data.points:
        e, e95, old = error(p, "mean_s"), error(p, "p95_s"), error(p, "formula_s")
        half = half_width(p, "mean_s")
        rows.append(
            {
                "scenario": p.scenario,
                "placement": p.placement,
                "load": p.load,
                "servers": f"{p.servers:.2f}",
                "link": f"{p.link:.2f}",
                "mean": "–" if e is None else f"{e:+.1%}",
                "±": "–" if half is None else f"{half:.1%}",
                "p95": "–" if e95 is None else f"{e95:+.1%}",
                "formula": "–" if old is None else f"{old:+.1%}",
            }
        )
    head = tuple(rows[0]) if rows else ()
    return "\n".join([table(rows, head), "", title(data), *findings(data), provenance(data)])
