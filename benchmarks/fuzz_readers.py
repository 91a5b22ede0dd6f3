"""Damage real files at random and read them: every outcome must be a graph or an error of one line.

``python -m benchmarks.fuzz_readers [MUTATIONS] [SEED]`` prints how many files of each format gave a
graph, were refused, or brought the guarded child down, and ends with status 1 if anything else
happened: another exception, a message of several lines, or an error that no reader foresaw.
"""

from __future__ import annotations

import collections
import random
import sys
import time
from pathlib import Path

import onnx

from benchmarks.damage import damaged, options
from nona.core.errors import GraphError
from nona.models.graph.guard import GuardedWorker
from nona.models.graph.guard_child import UNEXPECTED
from nona.models.graph.readers import read_model

SAMPLES = Path(__file__).resolve().parents[1] / "sample_models"
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
DOT = b"""digraph slides { node [kind="Conv"]; a [compute_ms=2]; b [compute_ms="{\\"t4\\": 3}"];
  a -> b [bytes=9000, tensor=x]; a -> c [bytes=9000, tensor=x]; subgraph cluster_1 { b -> d; c -> d } }"""
GRAPHML = b"""<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="compute_ms" attr.type="double"><default>1</default></key>
<key id="d1" for="edge" attr.name="bytes" attr.type="long"/><graph edgedefault="directed">
<node id="a"/><node id="b"><data key="d0">3.5</data></node><node id="c"/>
<edge source="a" target="b"><data key="d1">1000</data></edge><edge source="b" target="c"/>
</graph></graphml>"""


def seeds() -> list[tuple[str, bytes]]:
    """Real files of every format; small ones, so that a change hits something that matters."""
    files = [*sorted(SAMPLES.glob("*.onnx")), *sorted(LIGHT.glob("*.onnx"))]
    files = sorted(files, key=lambda p: p.stat().st_size)[:12]
    files += sorted((SAMPLES / "workflows").glob("*.json"))
    texts = [("slides.dot", DOT), ("chain.graphml", GRAPHML)] * 4
    return [(p.name, p.read_bytes()) for p in files] + texts


LENGTHS = (0, 1, -1, 7, 2**31, 2**40, 2**62)
SYMBOLS = ("batch", "batch + 1", "batch // 0", "n", "a b", "\n")
KINDS = ("", "Loop", "If", "Concat", "Reshape", "Range", "Mystery")


def alter_model(data: bytes, rng: random.Random) -> bytes:
    """An ONNX file with a few fields changed: still protobuf, but not what an exporter writes."""
    model = onnx.load_model_from_string(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        if rng.random() < 0.4:
            alter_types(model, rng)
        else:
            alter_node(model.graph, rng)
    return bytes(model.SerializeToString())


def alter_types(model: onnx.ModelProto, rng: random.Random) -> None:
    """Change a type, a shape or the operator set."""
    graph = model.graph
    change = rng.randrange(4)
    if change == 0 and graph.initializer:
        tensor = rng.choice(graph.initializer)
        tensor.dims[:] = [rng.choice(LENGTHS) for _ in range(rng.randrange(5))]
    elif change == 1 and graph.initializer:
        rng.choice(graph.initializer).data_type = rng.randrange(-1, 40)
    elif change == 2:
        for dim in rng.choice(graph.input).type.tensor_type.shape.dim:
            if rng.random() < 0.5:
                dim.dim_value = rng.choice(LENGTHS)
            else:
                dim.dim_param = rng.choice(SYMBOLS)
    else:
        model.opset_import[0].version = rng.choice([0, -1, 1, 7, 22, 10**6])


def alter_node(graph: onnx.GraphProto, rng: random.Random) -> None:
    """Change, copy or drop a node."""
    node = rng.choice(graph.node)
    other = onnx.NodeProto.FromString(rng.choice(graph.node).SerializeToString())
    change = rng.randrange(8)
    if change == 0 and node.input:
        names = [*other.output, *other.input, "", "nowhere"]
        node.input[rng.randrange(len(node.input))] = rng.choice(names)
    elif change == 1 and node.output:
        node.output[0] = rng.choice([*other.output, "", "new"])
    elif change == 2:
        node.op_type = rng.choice([other.op_type, *KINDS])
    elif change == 3:
        node.domain = rng.choice(["com.microsoft", "ai.onnx.ml", "nowhere"])
    elif change == 4:
        graph.node.add().CopyFrom(other)
    elif change == 5:
        del graph.node[rng.randrange(len(graph.node)) :]
        graph.node.add().CopyFrom(other)
    elif change == 6:
        node.name = rng.choice([other.name, "<b>", "\n", "\u202e", "x" * 3000, ""])
    else:
        attribute = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        attribute.g.node.add().CopyFrom(other)


def mutate(name: str, data: bytes, rng: random.Random) -> bytes:
    """``data`` with one to three random changes."""
    if name.endswith(".onnx") and rng.random() < 0.6:
        return alter_model(data, rng)
    return damaged(data, rng)


def outcome(data: bytes, name: str, worker: GuardedWorker) -> tuple[str, str]:
    """What became of one file, and the message."""
    try:
        read_model(data, name, symbols={"batch": 1}, worker=worker)
    except GraphError as error:
        message = str(error)
        if "\n" in message or UNEXPECTED in message or not message:
            return "ESCAPE", message
        lost = "crashed" in message or "longer than" in message or "processor time" in message
        return ("child lost" if lost else "refused"), message
    except Exception as error:  # what this program is looking for
        return "ESCAPE", f"{type(error).__name__}: {error}"
    return "graph", ""


def main() -> int:
    """Fuzz and print the counts."""
    given = options("Damage real files at random and read them.")
    rng = random.Random(given.seed)
    files = seeds()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    start = time.perf_counter()
    with GuardedWorker() as worker:
        for number in range(given.mutations):
            name, data = files[number % len(files)]
            changed = mutate(name, data, rng)
            what, message = outcome(changed, name, worker)
            counts[Path(name).suffix][what] += 1
            if what in ("ESCAPE", "child lost"):
                print(f"{what}: mutation {number} of {name} (seed {given.seed}): {message[:300]!r}")
    kinds = ("graph", "refused", "child lost", "ESCAPE")
    print(f"{'format':<10}" + "".join(f"{k:>12}" for k in kinds))
    for suffix, row in sorted(counts.items()):
        print(f"{suffix:<10}" + "".join(f"{row[k]:>12}" for k in kinds))
    print(f"{given.mutations} mutations in {time.perf_counter() - start:.0f} s")
    return int(any(row["ESCAPE"] for row in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
