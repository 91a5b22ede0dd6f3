"""A simulation as one HTML file: no requests, no scripts, light and dark, for screen and print."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping

from markupsafe import Markup

from nona.report.html.loads import parts_section, slo_section, utilisation_section
from nona.report.html.parts import bullets, code, document, header, paragraph, section, subtitle, table
from nona.report.html.placement import placement_section
from nona.report.html.simulation import (
    checks_section,
    difference_section,
    distribution_section,
    results_section,
    warmup_section,
    windows_section,
)
from nona.report.inputs.given_times import hardware_notes, hardware_warnings
from nona.report.simulations.finding.advice import scheduler_advice
from nona.report.simulations.finding.findings import findings
from nona.report.text import share_text
from nona.report.times_off import off_lines
from nona.results.about import About, ModelFacts
from nona.results.placement.outcome import PlacementOutcome
from nona.results.simulation.outcome import SimulationOutcome
from nona.results.simulation.report import SimulationReport
from nona.units import format_time

INTERVALS = (
    "Intervals are at 95 % over replications, without correction for multiple comparisons: about one in "
    "twenty excludes its true value by chance."
)
LIMITS = (
    "Times of operators are modelled unless they are marked as measured or given; their accuracy is "
    "stated above.",
    "An executor runs one task at a time, first come, first served, without preemption; sharing one GPU "
    "is modelled by MIG slices or MPS shares only.",
    "Background load is Poisson and independent of the queries. Failures, cold starts and the loading of "
    "weights are not simulated.",
    "Intervals are at 95 % over replications, without correction for multiple comparisons: about one in "
    "twenty excludes 0 by chance.",
    "Predictions assume Poisson arrivals and waits that are independent of one another.",
)


def simulation_html(data: SimulationOutcome) -> str:
    """The report on a simulation's outcome (:func:`nona.study.outcome.simulation_outcome`).

    Equal data give equal bytes; the date is among them.
    """
    told, report = data.about, data.report
    lines = [(f.text, f.kind) for f in findings(data)]
    told_off = [(f"{line[0].upper()}{line[1:]}.", "") for line in off_lines(data.off)]
    advice = scheduler_advice(report.schedulers, data.differences)
    return document(
        f"{told.name}: simulation",
        [
            report_header(told, "Simulation", {"Engine": _engine(report), "Size": _size(data)}),
            bullets([*lines, *told_off], "findings"),
            paragraph(" ".join(advice.lines)) if advice else Markup(),
            results_section(data),
            difference_section(data),
            distribution_section(data),
            slo_section(data),
            windows_section(data),
            parts_section(data),
            utilisation_section(data),
            warmup_section(data),
            checks_section(report),
            provenance_section(data.models),
            placement_section(data.placement),
            section("Limits", bullets([(line, "") for line in LIMITS])),
            scenario_section(told, "simulate", "--html", "report.html"),
        ],
    )


def placement_html(data: PlacementOutcome) -> str:
    """The report on a placement's outcome (:func:`nona.study.outcome.placement_outcome`)."""
    told = data.about
    return document(
        f"{told.name}: placement",
        [
            report_header(told, "Placement", {"Solver": data.nona.solver}),
            placement_section(data.nona, data),
            provenance_section(data.models),
            section("Limits", bullets([(LIMITS[0], ""), (LIMITS[4], "")])),
            scenario_section(told, "place", "--html", "placement.html"),
        ],
    )


def report_header(told: About, what: str, more: Mapping[str, object]) -> Markup:
    """The top of a report with its provenance."""
    about = {
        "Made": told.made,
        "By": f"Nona Planner {told.version}",
        "Seed": told.seed,
        "Fingerprint": told.hash,
        **more,
    }
    return header(told.name, what, told.description, about)


def _engine(report: SimulationReport) -> str:
    return f"{report.engine}, {format_time(report.seconds)} on the clock"


def _size(data: SimulationOutcome) -> str:
    found = data.report.schedulers
    most = max((s.replications for s in found.values()), default=0)
    return f"{data.about.jobs:,} jobs per run, {most} replications, {len(found)} schedulers"


def provenance_section(models: Mapping[str, ModelFacts]) -> Markup:
    """The origin and the uncertainty of the times."""
    rows = [
        {
            "model": name,
            "device": m.device,
            "all operators": format_time(m.total_compute_s),
            "longest chain": format_time(m.critical_path_s),
            "parallelism": f"{m.parallelism:.3f}",
            "provenance": ", ".join(
                f"{share_text(share, 1)} {kind}" for kind, share in sorted(m.provenance.items())
            ),
        }
        for name, m in models.items()
    ]
    sigma: dict[str, float] = {}
    for m in models.values():
        sigma.update(m.sigma)
    lines = [(_error(kind, value), "") for kind, value in sorted(sigma.items())]
    given = {name: m.given for name, m in models.items()}
    for name, m in models.items():
        lines += [(note, "") for note in hardware_notes({name: m.given}, m.device)]
    lines += [(warning, "bad") for warning in hardware_warnings(given)]
    return section("Where the times come from", table(rows, "Times of the models"), bullets(lines))


def _error(kind: str, sigma: float) -> str:
    if sigma == 0:
        return f"{kind}: taken as the file states them."
    low, high = math.exp(-sigma), math.exp(sigma)
    return (
        f"{kind}: in two of three cases the true time is between {low:.2f} and {high:.2f} times what is "
        f"stated (standard deviation of the logarithm about {sigma:g})."
    )


def scenario_section(told: About, command: str, *arguments: str) -> Markup:
    """The scenario in full, and the command that does the same."""
    files = (
        f" It refers to files that must be in the same folder: {', '.join(told.files)}. "
        "The scenario's bundle (.nona.zip) contains them."
        if told.files
        else ""
    )
    line = shlex.join(["nona", *command.split(), "scenario.yaml", *arguments])
    return section(
        "Reproduce this report",
        paragraph(f"Save the scenario below as scenario.yaml.{files} Then:"),
        code(line),
        subtitle("scenario.yaml"),
        code(told.yaml),
    )
