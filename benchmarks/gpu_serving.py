"""Serve two networks in batches on a GPU in real time (PyTorch, transformers; 3 minutes on an H100).

    python benchmarks/gpu_serving.py --out FOLDER

``steps.csv`` has the time of a step of 1 to 16 queries, copies to the GPU and back included; ``runs.csv``
what queries with Poisson arrivals took, by rule and load; ``durations.csv`` how long their steps took,
by number of queries. Weights are random: times do not depend on them.
``nona/queries/workflows/data/measured_*.csv`` hold the first two of one run a GPU, and how much longer the
steps of a run took than those timed before.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
import torchvision.models as vision
from transformers import BertConfig, BertModel

MOST = 16
LOADS = (0.5, 0.7, 0.85)
STATISTICS = ("mean", "p50", "p95", "p99")


class Served:
    """A network in fp16 with a CUDA graph for each number of queries."""

    def __init__(self, name: str, network: torch.nn.Module, query: torch.Tensor) -> None:
        self.name = name
        self.network = network.eval().cuda().half()  # graphs use its weights: it must live as long as they
        self.graphs = [self._captured(torch.cat([query] * size).pin_memory()) for size in range(1, MOST + 1)]
        self.step_s = [self._timed(size) for size in range(1, MOST + 1)]

    def run(self, size: int) -> None:
        host, inputs, graph, outputs, answers = self.graphs[size - 1]
        inputs.copy_(host, non_blocking=True)
        graph.replay()
        answers.copy_(outputs, non_blocking=True)
        torch.cuda.synchronize()

    def _captured(self, host):
        inputs = host.cuda()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.network(inputs)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answer = self.network(inputs)
            outputs = answer if torch.is_tensor(answer) else answer[0][:, 0]
        return host, inputs, graph, outputs, torch.empty_like(outputs, device="cpu").pin_memory()

    def _timed(self, size: int) -> float:
        for _ in range(20):
            self.run(size)
        begin = time.perf_counter()
        for _ in range(150):
            self.run(size)
        return (time.perf_counter() - begin) / 150


def serve(mix: Sequence[tuple[Served, float]], most: int, delay_s: float, seconds: float, seed: int):
    """Serve the queries of each network and its rate.

    Return rows of model, arrival, end and size of step of every query, and of model, size, begin and end of
    every step.
    A queue may start when it is full or its head has waited for ``delay_s``; the earliest head goes first.
    """
    stream = np.random.default_rng(seed)
    coming = sorted(
        (at, k)
        for k, (_, rate) in enumerate(mix)
        for at in np.cumsum(stream.exponential(1.0, int(rate * seconds))) / rate
    )
    queues: list[list[int]] = [[] for _ in mix]
    served: list[tuple[str, float, float, int]] = []
    steps: list[tuple[str, int, float, float]] = []
    arrived, origin = 0, time.perf_counter() + 0.05
    while len(served) < len(coming):
        now = time.perf_counter() - origin
        while arrived < len(coming) and coming[arrived][0] <= now:
            queues[coming[arrived][1]].append(arrived)
            arrived += 1
        ready = [
            queue
            for queue in queues
            if queue
            and (len(queue) >= most or now - coming[queue[0]][0] >= delay_s or arrived == len(coming))
        ]
        if not ready:
            continue
        queue = min(ready, key=lambda queue: queue[0])
        members, queue[:] = queue[:most], queue[most:]
        network = mix[coming[members[0]][1]][0]
        begin = time.perf_counter() - origin
        network.run(len(members))
        end = time.perf_counter() - origin
        steps.append((network.name, len(members), begin, end))
        served += [(network.name, coming[j][0], end, len(members)) for j in members]
    return served, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=8.0)
    asked = parser.parse_args()
    torch.set_grad_enabled(False)
    image = torch.randn(1, 3, 224, 224, dtype=torch.float16)
    resnet = Served("resnet50", vision.resnet50(weights=None), image)
    bert = Served("bert_base", BertModel(BertConfig()), torch.randint(0, 30_000, (1, 384)))
    asked.out.mkdir(parents=True, exist_ok=True)
    steps = [(n.name, b, f"{1e3 * s:.5f}") for n in (resnet, bert) for b, s in enumerate(n.step_s, 1)]
    _write(asked.out / "steps.csv", ["model", "batch", "ms"], steps)
    ways = [([resnet], size, delay) for size, delay in ((1, 0.0), (8, 0.0), (16, 0.0), (8, 0.002))]
    ways += [(networks, size, 0.0) for networks in ([bert], [resnet, bert]) for size in (1, 8)]
    rows, durations = [], []
    for seed, (networks, most, delay_s, load) in enumerate((*way, load) for way in ways for load in LOADS):
        mix = [(n, load / len(networks) * most / n.step_s[most - 1]) for n in networks]
        served, run_steps = serve(mix, most, delay_s, asked.seconds / (2 if most > 1 else 1), seed)
        rows.append((seed, *_row(mix, served), most, 1e3 * delay_s, load, *_statistics(served)))
        durations += [
            (seed, name, size, f"{1e3 * (end - begin):.5f}") for name, size, begin, end in run_steps
        ]
    head = ["seed", "models", "rates", "jobs", "max_batch", "delay_ms", "load"] + [
        f"{s}_ms" for s in STATISTICS
    ]
    _write(asked.out / "runs.csv", [*head, "mean_batch"], rows)
    _write(asked.out / "durations.csv", ["seed", "model", "batch", "ms"], durations)


def _row(mix, served) -> tuple[str, str, str]:
    of: Callable[[str], int] = [model for model, *_ in served].count
    names = [network.name for network, _ in mix]
    return "+".join(names), "+".join(f"{rate:.9g}" for _, rate in mix), "+".join(str(of(n)) for n in names)


def _statistics(served) -> list[str]:
    times_ms = 1e3 * np.array([end - arrival for _, arrival, end, _ in served])
    sizes = np.array([size for *_, size in served])
    values = [times_ms.mean(), *np.quantile(times_ms, (0.5, 0.95, 0.99)), 1 / np.mean(1 / sizes)]
    return [f"{value:.5f}" for value in values]


def _write(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


if __name__ == "__main__":
    main()
