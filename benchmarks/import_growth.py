"""How the time to import an ONNX file, and to contract it, grows with its operators.

Prints seconds for each size (the better of two runs, guarded child process included) and the
exponent p of the fit time = c·nᵖ over the larger sizes, where the start of the child no longer
counts: 1 is linear.
"""

from __future__ import annotations

import math
import sys
import time
from importlib.util import find_spec

import onnx
from onnx import TensorProto, helper

from nona.graph.model import ModelGraph
from nona.graph.readers import read_model

SIZES = (1_600, 6_400, 12_800, 25_600, 50_000)
WIDTH = 64


def block(place: int, source: str) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto], str]:
    """Ten operators: a norm, three heads of two operators each, their sum, an activation and a skip."""
    here = f"blocks.{place}"
    weights = []
    for name, dims in (("scale", (WIDTH,)), *((f"head{h}", (WIDTH, WIDTH)) for h in range(3))):
        weight = TensorProto(name=f"{here}.{name}", data_type=TensorProto.FLOAT, dims=dims)
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="weights-not-shipped")
        weights.append(weight)
    norm = f"{here}/norm"
    nodes = [helper.make_node("LayerNormalization", [source, f"{here}.scale"], [norm], name=norm, axis=-1)]
    for h in range(3):
        product, active = f"{here}.head{h}/matmul", f"{here}.head{h}/relu"
        nodes.append(helper.make_node("MatMul", [norm, f"{here}.head{h}"], [product], name=product))
        nodes.append(helper.make_node("Relu", [product], [active], name=active))
    total, bent, out = f"{here}/sum", f"{here}/sigmoid", f"{here}/skip"
    heads = [f"{here}.head{h}/relu" for h in range(3)]
    nodes.append(helper.make_node("Sum", heads, [total], name=total))
    nodes.append(helper.make_node("Sigmoid", [total], [bent], name=bent))
    nodes.append(helper.make_node("Add", [source, bent], [out], name=out))
    return nodes, weights, out


def model(operators: int) -> bytes:
    """A weight-free ONNX file of about ``operators`` operators in residual blocks of ten."""
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    tensor = "x"
    for place in range(operators // 10):
        more, stored, tensor = block(place, tensor)
        nodes += more
        weights += stored
    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, WIDTH])
    end = helper.make_tensor_value_info(tensor, TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "residual", [shape], [end], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    return bytes(made.SerializeToString())


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log time over log size by least squares."""
    x, y = [math.log(n) for n in sizes], [math.log(t) for t in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)


def timed(data: bytes) -> tuple[float, float, ModelGraph]:
    """Seconds to import and to contract (0 without the contraction layer)."""
    start = time.perf_counter()
    graph = read_model(data, "residual.onnx")
    middle = time.perf_counter()
    if find_spec("nona.contraction.rules"):
        from nona.contraction.rules import contract

        contract(graph)
    return middle - start, time.perf_counter() - middle, graph


def main() -> int:
    """Print the table and the exponents."""
    rows = []
    print(f"{'operators':>10} {'file':>9} {'import':>9} {'contract':>9} {'µs/operator':>12}")
    for size in SIZES:
        data = model(size)
        runs = [timed(data) for _ in range(2)]
        read, contracted = min(r[0] for r in runs), min(r[1] for r in runs)
        count = len(runs[0][2].operators)
        rows.append((count, read, read + contracted))
        each = 1e6 * (read + contracted) / count
        print(f"{count:>10} {len(data) / 1e6:>6.1f} MB {read:>7.2f} s {contracted:>7.2f} s {each:>12.0f}")
    sizes = [r[0] for r in rows[-4:]]
    print(f"exponent of the import:               {exponent(sizes, [r[1] for r in rows[-4:]]):.2f}")
    print(f"exponent of import and contraction:   {exponent(sizes, [r[2] for r in rows[-4:]]):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
