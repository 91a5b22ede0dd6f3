"""Figures of elastic jobs: distributions, the cluster over time, one job over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from nona.look import Look
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import figure, rule, text
from nona.report.training.elastic.finding import Policies
from nona.report.training.figures.policies import distributions, rho_distributions
from nona.report.training.words import HOUR_S
from nona.results.training.elastic_history import ElasticCourse, ElasticTrace
from nona.training.elastic.policies.registry import ELASTIC

Gaps = list[float | None]
Traces = Mapping[str, ElasticTrace]
MEASURES: Mapping[str, tuple[str, Callable[[ElasticTrace], tuple[float, ...]]]] = {
    "GPUs in use": ("GPUs", lambda trace: trace.used),
    "Jobs that run": ("jobs", lambda trace: trace.running),
    "Jobs that wait": ("jobs", lambda trace: trace.waiting),
    "Goodput": ("jobs' worth of progress per hour", lambda trace: smooth(trace.goodput)),
}
WINDOW = 15  # ticks of a mean of goodput


def elastic_style(name: str) -> Look:
    """The look of a policy for elastic jobs."""
    found = ELASTIC.get(name)
    return scheduler_style(name) if found is None else found.look


def smooth(values: tuple[float, ...], window: int = WINDOW) -> tuple[float, ...]:
    """Means of the last values.

    >>> smooth((2.0, 4.0, 6.0), 2)
    (2.0, 3.0, 5.0)
    """
    found, total = [], 0.0
    for k, value in enumerate(values):
        total += value - (values[k - window] if k >= window else 0.0)
        found.append(max(total, 0.0) / min(k + 1, window))
    return tuple(found)


def jct_figure(policies: Policies) -> go.Figure:
    """Share of the jobs complete within a time, one line for each policy."""
    hours = {name: [job.jct_s / HOUR_S for job in p.jobs] for name, p in policies.items()}
    return distributions(hours, elastic_style, "JCT, h", "within %{x:.3g} h")


def rho_figure(policies: Policies) -> go.Figure:
    """Share of the jobs with at most a ρ; at 1 a job is as fast as on an equal share."""
    return rho_distributions({n: [job.rho for job in p.jobs] for n, p in policies.items()}, elastic_style)


def time_figure(traces: Traces, measure: str, at_s: float | None = None) -> go.Figure:
    """One measure of the cluster over time, a line for each policy; ``at_s`` is marked."""
    unit, values = MEASURES[measure]
    made = figure(320)
    for name, trace in traces.items():
        style = elastic_style(name)
        made.add_scatter(
            x=[t / HOUR_S for t in trace.time_s],
            y=values(trace),
            name=text(name),
            mode="lines",
            line={"color": style.colour, "dash": style.dash, "width": 1.6, "shape": "hv"},
            hovertemplate=f"{text(name)}: %{{y:.3g}} {unit} at %{{x:.2f}} h<extra></extra>",
        )
    if at_s is not None:
        rule(made, at_s / HOUR_S, "", "x")
    made.update_xaxes(title="hours", rangemode="tozero")
    made.update_yaxes(title=unit, rangemode="tozero")
    return made


ROWS: tuple[tuple[str, Callable[[ElasticCourse], tuple[float, ...]]], ...] = (
    ("GPUs", lambda course: course.gpus),
    ("batch, samples", lambda course: course.batch),
    ("goodput, samples/s", lambda course: course.goodput),
    ("efficiency", lambda course: course.efficiency),
)


def broken(course: ElasticCourse, values: Sequence[float], tick_s: float) -> tuple[Gaps, Gaps]:
    """Times and values of a course, with a gap wherever the job had no GPUs.

    >>> some = ElasticCourse(time_s=(60, 120, 300), gpus=(), batch=(), efficiency=(), goodput=())
    >>> broken(some, (4, 5, 6), 60)
    ([0.0, 60.0, 120.0, 120.0, 240.0, 300.0, 300.0], [4, 5, 5, None, 6, 6, None])
    """
    x: Gaps = []
    y: Gaps = []
    for k, (time_s, value) in enumerate(zip(course.time_s, values, strict=True)):
        x.append(time_s - tick_s)
        y.append(value)
        if k + 1 == len(values) or course.time_s[k + 1] - time_s > 1.5 * tick_s:
            x += [time_s, time_s]
            y += [value, None]
    return x, y


def job_figure(courses: Mapping[str, ElasticCourse], arrival_s: float, tick_s: float) -> go.Figure:
    """GPUs, batch size, goodput and statistical efficiency of one job since its arrival, by policy."""
    made = figure(620)
    for row, (title, values) in enumerate(ROWS):
        top = 0.93 * (1 - row / len(ROWS))
        axis = "y" if not row else f"y{row + 1}"
        for name, course in courses.items():
            style, (times, shown) = elastic_style(name), broken(course, values(course), tick_s)
            made.add_scatter(
                x=[None if t is None else (t - arrival_s) / HOUR_S for t in times],
                y=shown,
                yaxis=axis,
                name=text(name),
                legendgroup=text(name),
                showlegend=not row,
                mode="lines",
                line={"color": style.colour, "dash": style.dash, "width": 1.6, "shape": "hv"},
                hovertemplate=f"{text(name)}: %{{y:.4g}} ({title}) after %{{x:.2f}} h<extra></extra>",
            )
        look = {
            "domain": [top - 0.19, top],
            "title": {"text": title},
            "rangemode": "tozero",
            "automargin": True,
            "gridcolor": "rgba(128,128,128,.22)",
            "zeroline": False,
            "anchor": "x",
        }
        made.update_layout({f"yaxis{row + 1 if row else ''}": look})
    made.update_xaxes(title="hours since its arrival", anchor=f"y{len(ROWS)}", rangemode="tozero")
    return made
