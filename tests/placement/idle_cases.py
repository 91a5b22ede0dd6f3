"""Model files with several sources and sinks, skips and caches, and jobs of them that meet nobody."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from event_walk import EventWalk
from onnx import helper

from nona.decomposition import VIRTUAL
from nona.placement.configurations import Shape, canonical, to_configuration
from nona.placement.link_routes import link_of
from nona.placement.model import shapes
from nona.placement.prediction import predict
from nona.placement.response.equilibrium import predict_response
from nona.placement.result import SubGraphPlacement
from nona.scenario.file import scenario_from_mapping
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling_tables import build_tables
from nona.simulation.run import RunOptions, simulate_run
from nona.sources.lookup import Sources
from nona.study.preparation import prepare
from nona.system import System

sys.path.append(str(Path(__file__).resolve().parent.parent / "graph"))
from onnx_cases import model, value, weight

Chooser = Callable[[Shape], Sequence[int]]


def random_node_link(seed: int) -> dict[str, Any]:
    """A random DAG with 1 to 3 sources, ends that nobody reads, skips, and tensors read by several."""
    rng = np.random.default_rng(seed)
    n, sources = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    edges, size = [], {}
    for v in range(sources, n):
        above = [u for u in range(max(0, v - 6), v) if rng.random() < 0.25]
        for u in above or [int(rng.integers(max(0, v - 4), v))]:
            name = f"x{u}" if rng.random() < 0.6 else f"x{u}-{v}"
            bytes_ = size.setdefault(name, int(rng.integers(1, 4000)))
            edges.append({"source": f"n{u:02d}", "target": f"n{v:02d}", "bytes": bytes_, "tensor": name})
    times = rng.choice([0.01, 0.5, 1.0, 2.0, 3.0], n) + rng.integers(0, 1000, n) * 1e-5
    nodes = [{"id": f"n{v:02d}", "compute_ms": float(t)} for v, t in enumerate(times)]
    return {"directed": True, "nodes": nodes, "edges": edges}


def skip_over_cuts() -> dict[str, Any]:
    """Two diamonds in a row whose root also feeds the last sink: r → t passes the middle task by."""
    arcs = ["rx", "ry", "xm", "ym", "mz", "mw", "zt", "wt", "rt"]
    return {
        "directed": True,
        "nodes": [{"id": i, "compute_ms": 1.0 + k / 7} for k, i in enumerate("rxymzwt")],
        "edges": [{"source": a, "target": b, "bytes": 1000 + 100 * k} for k, (a, b) in enumerate(arcs)],
    }


def decoder_with_cache(layers: int = 2, width: int = 256, past: int = 512) -> bytes:
    """An ONNX decoder: every layer scales its cache (a source), extends it, reads it and hands it out.

    A copy of the new keys that no operator reads is handed out too: a sink that leads nowhere.
    """
    nodes, inputs, outputs, weights = [], [value("x0", [1, 1, width])], [], []

    def op(kind: str, target: str, *source: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, list(source), [target], name=target, **attributes))
        return target

    def product(target: str, source: str) -> str:
        weights.append(weight(f"{target}.w", [width, width]))
        return op("MatMul", target, source, f"{target}.w")

    x = "x0"
    for i in range(layers):
        q, k, v = (product(f"{c}{i}", x) for c in "qkv")
        inputs += [value(f"past_{c}{i}", [1, past, width]) for c in "kv"]
        keys = op("Concat", f"keys{i}", op("Relu", f"old_k{i}", f"past_k{i}"), k, axis=1)
        values = op("Concat", f"values{i}", op("Relu", f"old_v{i}", f"past_v{i}"), v, axis=1)
        outputs += [keys, values, op("Relu", f"copy{i}", k)]
        turned = op("Transpose", f"turned{i}", keys, perm=[0, 2, 1])
        weight_ = op("Softmax", f"weight{i}", op("MatMul", f"score{i}", q, turned), axis=-1)
        read = op("MatMul", f"read{i}", weight_, values)
        x = op("Add", f"x{i + 1}", product(f"out{i}", read), x)
    return model(nodes, inputs, [*outputs, x], weights)


def alone(
    source: dict[str, Any] | None,
    folder: Path | None = None,
    *,
    discipline: str = "fifo",
    capacity: str = "1 Gbit/s",
) -> System:
    """A query of ``source`` (or of ``model.onnx`` in ``folder``) each second, on 14 idle servers."""
    name = "model.onnx" if source is None else "g"
    scenario = {
        "version": 1,
        "name": "alone",
        "seed": 3,
        "cluster": {
            "servers": [{"count": 14, "gpu": "a100-40gb", "gpus": 1, "vcpus": 8}],
            "network": {"capacity": capacity, "latency": "3 us", "discipline": discipline},
        },
        "workload": [{"model": name, "rate": 1.0, "arrivals": {"process": "deterministic"}}],
    }
    if source is not None:
        scenario["models"] = {name: source}
    return prepare(scenario_from_mapping(scenario), Sources(folder) if folder else Sources()).system


def drawn_labels(rng: np.random.Generator) -> Chooser:
    """Random configurations whose sink is where a task is."""

    def choose(shape: Shape) -> Sequence[int]:
        labels = rng.integers(0, int(rng.integers(1, 5)), shape.m + 1).tolist()
        if not shape.has_sink or labels[-1] not in labels[:-1]:
            labels[-1] = 0
        return canonical(labels)

    return choose


def few_away(rng: np.random.Generator) -> Chooser:
    """One to three tasks on a second server, all else at home: few messages, which seldom meet."""

    def choose(shape: Shape) -> Sequence[int]:
        labels = [0] * (shape.m + 1)
        for v in rng.permutation(shape.m)[: int(rng.integers(1, 4))].tolist():
            labels[v] = 1
        return canonical(labels)

    return choose


@dataclass(frozen=True)
class Alone:
    """Prediction and simulation of a placement; ``clean``: no job meets itself at the link or out of order.

    ``story_s`` is the sum of the cut tasks and of the sub-graphs' stories.
    """

    predicted_s: float
    story_s: float
    simulated_s: np.ndarray
    clean: bool
    placed: tuple[SubGraphPlacement, ...]

    def response_s(self, system: System) -> float:
        """The median of the predicted response: at one job a second that of a job that meets nobody."""
        return float(np.median(predict_response(system, [self.placed], samples=64).mix.times_s))


def run_alone(system: System, choose: Chooser, jobs: int = 100) -> Alone:
    """Place by ``choose``, simulate, and predict for a rate of next to nothing."""
    query, link = system.queries[0], link_of(system)
    time = query.tasks.compute_s[0]
    story = sum(float(time[c]) for c in query.decomposition.cuts if c != VIRTUAL)
    placed, clean = [], True
    for subgraph, shape in zip(query.decomposition.subgraphs, shapes(system)[0], strict=True):
        labels = choose(shape)
        walk = EventWalk(shape, labels, link, 0.0, 0.0)
        clean &= not (walk.overlaps or walk.overtaken)
        story += walk.span_s
        placed.append(SubGraphPlacement(subgraph, (to_configuration(labels, subgraph.interior),), np.ones(1)))
    options = RunOptions(jobs=jobs, warmup=0, engine="simpy")
    run = simulate_run(system, get_scheduler("nona"), build_tables(system, [placed]), options)
    rare = replace(system, queries=(replace(query, rate=1e-12),))
    taken = run.completion_s - run.arrival_s
    return Alone(predict(rare, [placed]).jct_s, story, taken, clean, tuple(placed))
