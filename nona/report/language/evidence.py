"""How accurate simulated engines are, in tables, figures and sentences."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import PALETTE, add_line, add_points, figure, text
from nona.report.language.tables import MEASURES
from nona.results.document import TimeBeside
from nona.results.language import FormulaCheck, FormulaPoint, MeasuredRun, StepBeside
from nona.tables import CHANGE, COUNT, PRECISE, SHARE, Column, Filled, Table, share_text

SOURCE = (
    "Measured: 300 ShareGPT requests to Llama-3.1-8B, served by vLLM 0.19.0 on one RTX 4090 (2,588 blocks, "
    "256 sequences, 2,048 tokens a step, bf16). From LLMServingSim (casys-kaist/LLMServingSim, "
    "bench/examples/RTX4090), MIT licence, © 2024 CASYS Lab at KAIST."
)
STEPS_SOURCE = (
    "Measured on 2026-11-26 on one H100 80 GB and one H200: a decoder of Llama-3.1-8B's shape in bf16, "
    "PyTorch 2.11.0, a CUDA graph for each step. It is not vLLM: its attention over prompts is another "
    "kernel, and nothing of it went into the constants."
)
OPEN_QUESTIONS = (
    "Not established: this is one workstation card with more requests than it can serve; its step times "
    "were profiled on the same card. No public run of H100s or A100s was found request by request; there and "
    "for SGLang, nothing beyond the step times is compared with measurements. Where no steps were profiled "
    "they are modelled, ± 30 %."
)

BESIDE = Table[TimeBeside](
    "",
    (
        Column("time", lambda r: MEASURES[r.measure]),
        Column("of all requests", lambda r: r.statistic),
        Column("measured", lambda r: r.measured_s, PRECISE),
        Column("simulated", lambda r: r.simulated_s, PRECISE),
        Column("error", lambda r: r.error, CHANGE),
    ),
)
STEPS = Table[StepBeside](
    "",
    (
        Column("GPU", lambda s: s.gpu),
        Column("decodes", lambda s: s.decodes, COUNT),
        Column("tokens of a prompt", lambda s: s.prompt, COUNT, "prompt"),
        Column("cached tokens", lambda s: s.past, COUNT, "past", help="Of each decode, or of the prompt."),
        Column("measured", lambda s: s.measured_s, PRECISE),
        Column("shipped", lambda s: s.shipped_s, PRECISE),
        Column("error", lambda s: s.error, CHANGE),
    ),
)
POINTS = Table[FormulaPoint](
    "",
    (
        Column("answers", lambda p: p.lengths),
        Column("load", lambda p: p.load, SHARE),
        Column("by formula", lambda p: p.formula_s, PRECISE, "formula"),
        Column("simulated", lambda p: p.simulated_s, PRECISE, interval=True),
        Column("formula off by", lambda p: _off(p), CHANGE, "off"),
    ),
)


def _off(point: FormulaPoint) -> float | None:
    mean = point.simulated_s.mean
    return None if mean is None or point.formula_s is None else point.formula_s / mean - 1


def beside_table(run: MeasuredRun) -> Filled:
    """Each statistic of the measured run."""
    return BESIDE.of(run.rows)


def points_table(check: FormulaCheck) -> Filled:
    """Each point of the formula."""
    return POINTS.of(check.points)


def steps_table(steps: Sequence[StepBeside]) -> Filled:
    """Each measured step."""
    return STEPS.of(steps)


def steps_finding(steps: Sequence[StepBeside]) -> str:
    """Say how far the shipped constants are off, for decodes on each GPU and for prompts."""
    decodes = {
        gpu: max(abs(s.error) for s in steps if s.decodes and s.gpu == gpu)
        for gpu in dict.fromkeys(s.gpu for s in steps)
    }
    words = " and ".join(f"{share_text(most, 1)} on the {gpu.upper()}" for gpu, most in decodes.items())
    prompts = share_text(max(abs(s.error) for s in steps if s.prompt))
    return f"Decoding steps by the shipped constants are within {words}, prompts within {prompts}"


def measured_finding(run: MeasuredRun) -> str:
    """Say how far means and percentiles are off."""
    means = share_text(max(abs(r.error) for r in run.rows if r.statistic == "mean"), 1)
    rest = share_text(max(abs(r.error) for r in run.rows if r.statistic != "mean"), 1)
    return f"Means within {means} of those measured, percentiles within {rest}"


def formula_finding(check: FormulaCheck) -> str:
    """Say how far the formula is off, and that lengths of answers do not matter."""
    half = share_text(max(abs(_off(p) or 0.0) for p in check.points if p.load <= 0.5), 1)
    whole = share_text(max(abs(_off(p) or 0.0) for p in check.points), 1)
    most = share_text(max(p.load for p in check.points))
    return (
        f"Whatever the lengths of answers, the formula is within {half} up to 50 % load, {whole} up to {most}"
    )


def requests_figure(run: MeasuredRun, measure: str) -> go.Figure:
    """A point for each request: measured against simulated time, with the line of equality."""
    chart = figure(340, legend=False)
    factor, unit = (1e3, "ms") if measure == "tpot_s" else (1.0, "s")
    pairs = [(factor * measured, factor * simulated) for measured, simulated in run.requests[measure]]
    most = max(max(pair) for pair in pairs)
    add_line(chart, "equal", [0.0, most], [0.0, most], Look(PALETTE[7], "dash", "circle"), "", width=1.5)
    measured, simulated = zip(*pairs, strict=True)
    hover = f"measured %{{x:.4~r}} {unit}, simulated %{{y:.4~r}} {unit}"
    add_points(
        chart, "request", list(measured), list(simulated), Look(PALETTE[0], "solid", "circle"), hover, size=5
    )
    chart.update_xaxes(title=f"measured, {unit}", range=[0, most])
    chart.update_yaxes(title=f"simulated, {unit}", range=[0, most])
    return chart


def formula_figure(check: FormulaCheck) -> go.Figure:
    """Time per output token over load: curves by formula, points simulated, by distribution."""
    chart = figure(340)
    for k, name in enumerate(dict.fromkeys(p.lengths for p in check.points)):
        of = [p for p in check.points if p.lengths == name]
        look = Look(PALETTE[k], "solid", ("circle", "square", "diamond")[k % 3])
        x = [100 * p.load for p in of]
        curve = [1e3 * (p.formula_s or 0.0) for p in of]
        add_line(chart, f"{name}: formula", x, curve, look, f"{text(name)}, formula: %{{y:.2f}} ms")
        y = [1e3 * (p.simulated_s.mean or 0.0) for p in of]
        add_points(chart, f"{name}: simulated", x, y, look, f"{text(name)}, simulated: %{{y:.2f}} ms", size=9)
    chart.update_xaxes(title="load of the engine, %")
    chart.update_yaxes(title="per output token, ms", rangemode="tozero")
    return chart
