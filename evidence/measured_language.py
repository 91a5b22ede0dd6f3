"""Language engines: a measured run of vLLM, measured steps and the formula, beside the simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

import numpy as np
import plotly.graph_objects as go

from evidence.results import TimeBeside
from nona.cluster.hardware.executor import executor_class
from nona.cluster.hardware.table_file import shipped_table
from nona.core.arrays import Floats
from nona.core.document import Estimate
from nona.core.figures import PALETTE, add_line, add_points, figure, text
from nona.core.registry import ChartStyle
from nona.core.statistics import percentile
from nona.core.tables import CHANGE, COUNT, PRECISE, SHARE, Column, Table, share_text
from nona.language.formula import predict
from nona.language.gpu import step_times, widths
from nona.language.models import language_models
from nona.language.report.tables import MEASURES
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.simulation import simulate_language
from nona.scenario.file import scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario

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

MEASURED = "vllm_rtx4090.csv"
ENGINE = {"blocks": 2588, "budget": 2048, "sequences": 256}  # as that vLLM printed them
STATISTICS: Mapping[str, Callable[[Floats], float]] = MappingProxyType(
    {
        "mean": lambda of: float(of.mean()),
        "p50": lambda of: percentile(of, 50),
        "p99": lambda of: percentile(of, 99),
    }
)


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """``requests``: by time, each as (measured, simulated) seconds."""

    rows: tuple[TimeBeside, ...]
    requests: Mapping[str, tuple[tuple[float, float], ...]]
    preemptions: int


def beside_vllm() -> MeasuredRun:
    """Replay the measured requests on the engine that served them, with shipped constants; about 1 s."""
    requests = files("nona.language").joinpath(f"data/{MEASURED}").read_bytes()
    scenario = scenario_from_mapping(
        {
            "cluster": {"servers": [{"gpu": "rtx-4090", "engine": ENGINE}]},
            "workload": [{"llm": {"model": "llama-3.1-8b", "trace": MEASURED}}],
            "schedulers": ["round-robin"],
        }
    )
    study = prepare_language(scenario, Sources(in_memory={MEASURED: requests}))
    (run,) = simulate_language(study).runs["round-robin"]
    rows = shipped_table("nona.language", f"data/{MEASURED}")
    first_s, last_s = (np.array([float(row[key]) for row in rows]) for key in ("ttft_s", "e2e_s"))
    more = run.requests.outputs - 1
    times, arrival_s = run.times, run.times.arrival_s
    pairs = {
        "ttft_s": (first_s, times.first_s - arrival_s),
        "tpot_s": ((last_s - first_s) / more, (times.end_s - times.first_s) / more),
        "e2e_s": (last_s, times.end_s - arrival_s),
    }
    beside = [
        TimeBeside(measure=key, statistic=name, measured_s=of(pair[0]), simulated_s=of(pair[1]))
        for key, pair in pairs.items()
        for name, of in STATISTICS.items()
    ]
    return MeasuredRun(
        rows=tuple(beside),
        requests={
            key: tuple(zip(*(side.tolist() for side in pair), strict=True)) for key, pair in pairs.items()
        },
        preemptions=int(times.preemptions.sum()),
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


def measured_finding(run: MeasuredRun) -> str:
    """How far means and percentiles are off."""
    means = share_text(max(abs(r.error) for r in run.rows if r.statistic == "mean"), 1)
    rest = share_text(max(abs(r.error) for r in run.rows if r.statistic != "mean"), 1)
    return f"Means within {means} of those measured, percentiles within {rest}"


def requests_figure(run: MeasuredRun, measure: str) -> go.Figure:
    """Return a point for each request: measured against simulated time, with the line of equality."""
    chart = figure(340, legend=False)
    factor, unit = (1e3, "ms") if measure == "tpot_s" else (1.0, "s")
    pairs = [(factor * measured, factor * simulated) for measured, simulated in run.requests[measure]]
    most = max(max(pair) for pair in pairs)
    add_line(
        chart, "equal", [0.0, most], [0.0, most], ChartStyle(PALETTE[7], "dash", "circle"), "", width=1.5
    )
    measured, simulated = zip(*pairs, strict=True)
    hover = f"measured %{{x:.4~r}} {unit}, simulated %{{y:.4~r}} {unit}"
    add_points(
        chart,
        "request",
        list(measured),
        list(simulated),
        ChartStyle(PALETTE[0], "solid", "circle"),
        hover,
        size=5,
    )
    chart.update_xaxes(title=f"measured, {unit}", range=[0, most])
    chart.update_yaxes(title=f"simulated, {unit}", range=[0, most])
    return chart


@dataclass(frozen=True, slots=True)
class StepBeside:
    """A step of Llama-3.1-8B, measured and by the shipped constants: so many decodes or tokens of a prompt.

    ``past`` tokens are in the cache, of each decode.
    """

    gpu: str
    decodes: int
    prompt: int
    past: int
    measured_s: float
    shipped_s: float

    @property
    def error(self) -> float:
        return self.shipped_s / self.measured_s - 1


def beside_steps() -> tuple[StepBeside, ...]:
    """The constants that ship for Llama-3.1-8B beside steps of a decoder of its shape, measured by us."""
    model = language_models()["llama-3.1-8b"]
    beside = []
    for row in shipped_table("nona.language", "data/steps_measured.csv"):
        decodes, prompt, past = int(row["decodes"]), int(row["prompt"]), int(row["past"])
        constants = step_times(model, executor_class(row["gpu"]), 1, widths(model, "fp16")).times
        seconds = constants.seconds(decodes, decodes * past, prompt, prompt * (past + prompt / 2))
        beside.append(
            StepBeside(
                gpu=row["gpu"],
                decodes=decodes,
                prompt=prompt,
                past=past,
                measured_s=float(row["ms"]) / 1e3,
                shipped_s=seconds,
            )
        )
    return tuple(beside)


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


def steps_finding(steps: Sequence[StepBeside]) -> str:
    """How far the shipped constants are off, for decodes on each GPU and for prompts."""
    decodes = {
        gpu: max(abs(s.error) for s in steps if s.decodes and s.gpu == gpu)
        for gpu in dict.fromkeys(s.gpu for s in steps)
    }
    words = " and ".join(f"{share_text(most, 1)} on the {gpu.upper()}" for gpu, most in decodes.items())
    prompts = share_text(max(abs(s.error) for s in steps if s.prompt))
    return f"Decoding steps by the shipped constants are within {words}, prompts within {prompts}"


OUTPUTS: Mapping[str, object] = MappingProxyType(
    {"all of 128 tokens": 128, "log-normal, CV 1": {"mean": 128, "cv": 1}, "32 or 224 tokens": [32, 224]}
)
LOADS = (0.1, 0.3, 0.5, 0.7, 0.85)


@dataclass(frozen=True, slots=True)
class FormulaPoint:
    """Time per output token by formula and simulated, at one load, with one distribution of answers."""

    lengths: str
    load: float
    formula_s: float
    simulated_s: Estimate

    @property
    def off(self) -> float:
        return 0.0 if self.simulated_s.mean is None else self.formula_s / self.simulated_s.mean - 1


def beside_formula(loads: Sequence[float] = LOADS) -> tuple[FormulaPoint, ...]:
    """Simulate one engine under loads and distributions of answers, whose mean is the same; about 5 s."""
    points: list[FormulaPoint] = []
    for name, output in OUTPUTS.items():
        per_request = _formula(output, 1.0)[0]  # load of one request a second
        for load in loads:
            rate = load / per_request
            _, formula_s = _formula(output, rate)
            report = simulate_language(prepare_language(_one_engine(output, rate))).report
            (row,) = report.schedulers["round-robin"].models.values()
            simulated = Estimate(mean=row.tpot_s.mean, ci95=row.tpot_s.ci95)
            points.append(FormulaPoint(name, load, formula_s, simulated))
    return tuple(points)


def _one_engine(output: object, rate: float) -> Scenario:
    return scenario_from_mapping(
        {
            "cluster": {"servers": [{"gpu": "h100", "engine": {"budget": 8192}}]},
            "workload": [
                {"llm": {"model": "llama-3.1-8b", "tokens": {"input": 512, "output": output}}, "rate": rate}
            ],
            "simulation": {"jobs": 6000, "replications": 5},
            "schedulers": ["round-robin"],
        }
    )


def _formula(output: object, rate: float) -> tuple[float, float]:
    """Load, and seconds per output token."""
    prediction = predict(prepare_language(_one_engine(output, rate)).system, 0)
    if prediction is None:
        raise ValueError("the formula holds for one open engine")
    return prediction.load, prediction.tpot_s


POINTS = Table[FormulaPoint](
    "",
    (
        Column("answers", lambda p: p.lengths),
        Column("load", lambda p: p.load, SHARE),
        Column("by formula", lambda p: p.formula_s, PRECISE, "formula"),
        Column("simulated", lambda p: p.simulated_s, PRECISE, interval=True),
        Column("formula off by", lambda p: p.off, CHANGE, "off"),
    ),
)


def formula_finding(points: Sequence[FormulaPoint]) -> str:
    """How far the formula is off, and that lengths of answers do not matter."""
    half = share_text(max(abs(p.off) for p in points if p.load <= 0.5), 1)
    whole = share_text(max(abs(p.off) for p in points), 1)
    most = share_text(max(p.load for p in points))
    return (
        f"Whatever the lengths of answers, the formula is within {half} up to 50 % load, {whole} up to {most}"
    )


def formula_figure(points: Sequence[FormulaPoint]) -> go.Figure:
    """Time per output token over load: curves by formula, points simulated, by distribution."""
    chart = figure(340)
    for k, name in enumerate(dict.fromkeys(p.lengths for p in points)):
        of = [p for p in points if p.lengths == name]
        look = ChartStyle(PALETTE[k], "solid", ("circle", "square", "diamond")[k % 3])
        x = [100 * p.load for p in of]
        curve = [1e3 * p.formula_s for p in of]
        add_line(chart, f"{name}: formula", x, curve, look, f"{text(name)}, formula: %{{y:.2f}} ms")
        y = [1e3 * (p.simulated_s.mean or 0.0) for p in of]
        add_points(chart, f"{name}: simulated", x, y, look, f"{text(name)}, simulated: %{{y:.2f}} ms", size=9)
    chart.update_xaxes(title="load of the engine, %")
    chart.update_yaxes(title="per output token, ms", rangemode="tozero")
    return chart
