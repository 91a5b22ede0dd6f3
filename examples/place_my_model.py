"""From a model of your own to a placement: read its graph, see what a split could gain, place it."""

import json

import nona

# Two detectors look at a frame; a last task joins what they find. Times in ms on an A100, tensors in bytes.
TASKS = {"decode": 2.0, "faces": 6.0, "text": 5.0, "merge": 1.0}
FRAME, BOXES = 600_000, 20_000
TENSORS = [
    ("decode", "faces", FRAME),
    ("decode", "text", FRAME),
    ("faces", "merge", BOXES),
    ("text", "merge", BOXES),
]
MODEL = {
    "directed": True,
    "nodes": [{"id": name, "compute_ms": {"a100-40gb": ms}} for name, ms in TASKS.items()],
    "edges": [{"source": a, "target": b, "bytes": size} for a, b, size in TENSORS],
}
SCENARIO = """
version: 1
name: Frames on four servers
cluster:
  servers: [{count: 4, gpu: a100-40gb}]
  network: {capacity: 25 Gbit/s, latency: 20 us}
background: {network: {utilization: 0.3, mean_size: 1 MB}}
workload: [{model: frames.json, rate: 60/s, slo: 40 ms}]
"""


def main() -> dict[str, float]:
    """Print what a split could gain, and return the mean completion time (s) of each placement."""
    data = json.dumps(MODEL).encode()
    executor = nona.executor_class("a100-40gb")
    model = nona.prepare_model(nona.read_model(data, "frames.json"), [executor])
    figures = nona.inspection(model.costed[0])
    print(f"{figures.operators} operators, {len(model.contracted.tasks)} tasks after contraction")
    print(f"path of {1e3 * figures.critical_path_s:.0f} ms: a split gains at most {figures.parallelism:.2f}")
    prepared = nona.prepare(nona.parse_scenario(SCENARIO), nona.Sources(in_memory={"frames.json": data}))
    placement = nona.place(prepared)
    others = nona.compare(prepared, placement)
    placements = {"nona": placement, "local": others.local, "spread": others.spread}
    means = {name: one.simulated.mean for name, one in placements.items() if one and one.simulated}
    for name, mean_s in means.items():
        print(f"{name:>7}: {1e3 * mean_s:.2f} ms")
    return means


if __name__ == "__main__":
    main()
