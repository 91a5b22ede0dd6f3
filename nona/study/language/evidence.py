"""How accurate simulated engines are: beside a measured run of vLLM, and beside the formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType

import numpy as np

from nona.arrays import Floats
from nona.hardware.executor import executor_class
from nona.hardware.table_file import shipped_table
from nona.language.formula import predict
from nona.language.gpu import step_times
from nona.language.models import language_models
from nona.results.document import Estimate, TimeBeside, number
from nona.results.language import FormulaCheck, FormulaPoint, MeasuredRun, StepBeside
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.statistics import percentile
from nona.study.engines import prepare_language
from nona.study.language.simulation import simulate_language

MEASURED = "vllm_rtx4090.csv"
ENGINE = {"blocks": 2588, "budget": 2048, "sequences": 256}  # as that vLLM printed them
STATISTICS: Mapping[str, Callable[[Floats], float]] = MappingProxyType(
    {
        "mean": lambda of: float(of.mean()),
        "p50": lambda of: percentile(of, 50),
        "p99": lambda of: percentile(of, 99),
    }
)


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
    study = prepare_language(scenario, Sources(held={MEASURED: requests}))
    (run,) = simulate_language(study, readable=True).runs["round-robin"]
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


def beside_steps() -> tuple[StepBeside, ...]:
    """The constants that ship for Llama-3.1-8B beside steps of a decoder of its shape, measured by us."""
    model = language_models()["llama-3.1-8b"]
    beside = []
    for row in shipped_table("nona.language", "data/steps_measured.csv"):
        decodes, prompt, past = int(row["decodes"]), int(row["prompt"]), int(row["past"])
        constants = step_times(model, executor_class(row["gpu"]), 1, "fp16").times
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


OUTPUTS: Mapping[str, object] = MappingProxyType(
    {"all of 128 tokens": 128, "log-normal, CV 1": {"mean": 128, "cv": 1}, "32 or 224 tokens": [32, 224]}
)
LOADS = (0.1, 0.3, 0.5, 0.7, 0.85)


def beside_formula(tell: Callable[[float, str], None], loads: Sequence[float] = LOADS) -> FormulaCheck:
    """Simulate one engine under loads and distributions of answers, whose mean is the same."""
    points: list[FormulaPoint] = []
    for name, output in OUTPUTS.items():
        per_request = _formula(output, 1.0)[0]  # load of one request a second
        for load in loads:
            tell(len(points) / (len(OUTPUTS) * len(loads)), f"{name}, load {load:.0%}")
            rate = load / per_request
            _, formula_s = _formula(output, rate)
            report = simulate_language(prepare_language(_one_engine(output, rate))).report
            (row,) = report.schedulers["round-robin"].models.values()
            simulated = Estimate(mean=row.tpot_s.mean, ci95=row.tpot_s.ci95)
            points.append(
                FormulaPoint(lengths=name, load=load, formula_s=number(formula_s), simulated_s=simulated)
            )
    return FormulaCheck(points=tuple(points))


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
