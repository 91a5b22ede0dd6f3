"""The constants of the cost formula, fitted again with each network left out in turn.

``python -m evidence.fitted_times`` prints how far modelled times are off for networks that the constants
were not fitted to (about ten minutes). Rows: ``data/published.csv`` of the cost layer, and the networks
measured on an H100 and an H200 (``benchmarks/data/gpu``). PyTorch runs batch normalisation on its own, so
the exported graphs, in which it is folded into the convolutions, get it back.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np

from evidence.published_latencies import reference_model
from nona.cluster.hardware.executor import ExecutorClass, executor_class
from nona.cluster.hardware.table_file import shipped_table
from nona.core.arrays import Floats
from nona.models.cost import options as cost_options
from nona.models.cost import roofline
from nona.models.cost.costed import interval
from nona.models.cost.costing import kernel_loads
from nona.models.cost.operators import operator_work
from nona.models.cost.options import CostOptions, CostPrecision, kernel_constant
from nona.models.cost.roofline import KernelLoad, Roofline
from nona.models.graph.model import Edge, ModelGraph, Operator, Tensor
from nona.scenario.sample_files import load_sample

STEPS = Path(__file__).parents[1] / "benchmarks/data/gpu"
NORMALISED = frozenset({"resnet18", "resnet50", "densenet121", "googlenet", "inception_v3", "mobilenet_v2"})
FITTED = ("product", "convolution", "half_convolution", "memory", "launch_cycles")
MOST = {"product": 0.85, "memory": 0.9}
"""What no kernel exceeds."""
Constants = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class TimedRow:
    """A time of a network and the conditions that it holds for; ``weight`` is its part in a fit."""

    network: str
    model: str
    executor: str
    options: CostOptions
    measured_s: float
    weight: float


def with_norms(graph: ModelGraph) -> ModelGraph:
    """Return the graph with a batch normalisation after each convolution that has a bias."""
    tensors, weights, renamed = dict(graph.tensors), set(graph.parameters), dict[str, str]()
    operators: list[Operator] = []
    for operator in graph.operators:
        operators.append(replace(operator, inputs=tuple(renamed.get(n, n) for n in operator.inputs)))
        if operator.kind != "Conv" or len([n for n in operator.inputs if n]) != 3:
            continue
        (made,) = operator.outputs
        normed, channels = f"{made}/norm", (tensors[made].shape or (0, 0))[1]
        own = [f"{normed}/{k}" for k in range(4)]
        tensors |= {n: Tensor(n, 4.0 * channels, (channels,), "float32") for n in own}
        tensors[normed] = replace(tensors[made], name=normed)
        weights |= set(own)
        renamed[made] = normed
        operators.append(Operator(f"{operator.id}/norm", "BatchNormalization", (made, *own), (normed,)))
    maker = {name: o.id for o in operators for name in o.outputs}
    edges = tuple(
        Edge(maker[n], o.id, n, tensors[n].size_bytes)
        for o in operators
        for n in dict.fromkeys(o.inputs)
        if n in maker
    )
    return ModelGraph(
        graph.name, tuple(operators), edges, tensors, frozenset(weights), graph.static | weights
    )


@cache
def network(model: str, exported: bool) -> ModelGraph:
    """Return the graph that was timed."""
    if not exported:
        return reference_model(model)
    return with_norms(load_sample(model)) if model in NORMALISED else load_sample(model)


def timed_rows() -> list[TimedRow]:
    """All rows that count.

    Under CUDA graphs PyTorch takes another attention kernel for BERT and GPT-2 in batches of 4 and more,
    slower than without; those rows are left out.
    """
    rows = []
    for row in shipped_table("nona.models.cost", "data/published.csv"):
        if row["use"] != "shown":
            options = _options(row["stack"], row["precision"], int(row["batch"]))
            family = row["model"].split("/")[0].removesuffix("+bn")
            seconds = float(row["ms"]) / 1e3
            rows.append(TimedRow(family, row["model"], row["executor"], options, seconds, 4.0))
    for gpu in ("h100", "h200"):
        with (STEPS / gpu / "networks.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                options = _options(row["stack"], row["precision"], int(row["batch"]))
                replayed = row["stack"] == "cuda-graphs" and row["precision"] != "fp32"
                if not (replayed and row["model"] in ("bert_base", "gpt2") and options.batch >= 4):
                    family = row["model"].replace("bert_base", "bert-base")
                    seconds = float(row["ms_median"]) / 1e3
                    rows.append(TimedRow(family, f"={row['model']}", gpu, options, seconds, 1.0))
    return rows


def _options(stack: str, precision: str, batch: int) -> CostOptions:
    known: dict[str, CostPrecision] = {
        "fp32": "fp32",
        "tf32": "tf32",
        "fp16": "fp16",
        "int8": "int8",
        "fp8": "fp8",
    }
    return CostOptions(stack, known[precision], batch)


def shipped_constants() -> dict[tuple[str, str], float]:
    """Return the fitted constants of ``data/efficiencies.csv``."""
    fitted = {(k, name): kernel_constant(k, name) for k in ("engine", "library") for name in FITTED}
    return {**fitted, ("any", "bytes_per_cycle"): kernel_constant("any", "bytes_per_cycle"),
            ("any", "single"): kernel_constant("any", "single")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loads:
    """The kernels of a row, each with how many there are alike."""

    executor: ExecutorClass
    stack: str
    counts: tuple[tuple[KernelLoad, int], ...]

    def total_s(self) -> float:
        """Seconds of all, by the constants in force."""
        roof = Roofline(self.executor, self.stack)
        return sum(n * roof.total_s(load) for load, n in self.counts)


def loads_of(row: TimedRow) -> Loads:
    """Return the kernels of a row."""
    graph = network(row.model.removeprefix("="), row.model.startswith("="))
    executor = executor_class(row.executor)
    works, _ = operator_work(graph, row.options)
    found = kernel_loads(graph, works, executor, row.options)
    counts = Counter(load for kernel, load in found if kernel.launches)
    return Loads(executor, row.options.stack, tuple(counts.items()))


def modelled_s(loads: Sequence[Loads], constants: Constants) -> Floats:
    """Seconds of every row with these constants in place of the shipped ones."""

    def constant(kernels: str, name: str) -> float:
        own = constants.get((kernels, name)) or constants.get(("any", name))
        return own or kernel_constant(kernels, name)

    places = (cost_options, roofline)
    with ExitStack() as stack:
        for place in places:
            stack.enter_context(patch.object(place, "kernel_constant", constant))
        return np.array([one.total_s() for one in loads])


def _badness(rows: Sequence[TimedRow], loads: Sequence[Loads], constants: Constants) -> float:
    """Return the weighted mean of |ln(modelled/measured)|, each at most 0.5, and half their median."""
    logs = np.abs(np.log(modelled_s(loads, constants) / [r.measured_s for r in rows]))
    beyond = sum(max(value - MOST[name], 0.0) for (_, name), value in constants.items() if name in MOST)
    weights = [r.weight for r in rows]
    return float(np.average(np.minimum(logs, 0.5), weights=weights) + 0.5 * np.median(logs) + 5 * beyond)


def fit(
    rows: Sequence[TimedRow], loads: Sequence[Loads], start: Constants, steps: Sequence[float] = (1.1, 1.05)
) -> dict[tuple[str, str], float]:
    """Fit the constants by coordinate descent from ``start``."""
    best, found = _badness(rows, loads, start), dict(start)
    for step in steps:
        better = True
        while better:
            better = False
            for key in found:
                for factor in (step, 1 / step):
                    tried = {**found, key: found[key] * factor}
                    badness = _badness(rows, loads, tried)
                    if badness < best - 1e-4:
                        best, found, better = badness, tried, True
                        break
    return found


def left_out() -> tuple[list[TimedRow], Floats, Floats]:
    """Rows, seconds with the shipped constants, and with those fitted without the row's own network."""
    rows = timed_rows()
    loads = [loads_of(row) for row in rows]
    shipped = shipped_constants()
    apart = np.zeros(len(rows))
    for name in dict.fromkeys(r.network for r in rows):
        rest = [i for i, r in enumerate(rows) if r.network != name]
        own = [i for i, r in enumerate(rows) if r.network == name]
        fitted = fit([rows[i] for i in rest], [loads[i] for i in rest], shipped)
        apart[own] = modelled_s([loads[i] for i in own], fitted)
    return rows, modelled_s(loads, shipped), apart


def main() -> None:
    """Print medians of the absolute error and the share of rows inside the interval."""
    rows, fitted, apart = left_out()
    measured = np.array([r.measured_s for r in rows])
    groups = {"all": [True] * len(rows), "published": [r.weight > 1 for r in rows]}
    groups |= {
        stack: [r.weight == 1 and r.options.stack == stack for r in rows]
        for stack in ("eager", "cuda-graphs")
    }
    groups |= {name: [r.network == name for r in rows] for name in sorted({r.network for r in rows})}
    for name, inside in groups.items():
        line = f"{name}: {sum(inside)} rows"
        for label, seconds in (("fitted", fitted), ("left out", apart)):
            error = np.abs(seconds / measured - 1)[inside]
            low, high = (
                np.array(b)[inside] for b in zip(*(interval(s, "modelled") for s in seconds), strict=True)
            )
            covered = np.mean((low <= measured[inside]) & (measured[inside] <= high))
            line += f"; {label} {np.median(error):.1%}, interval {covered:.0%}"
        print(line)


if __name__ == "__main__":
    main()
