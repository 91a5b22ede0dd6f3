"""Kernels: a partition without cycles, and the bytes that cross its borders, counted a second way."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cost.costing import fuse
from nona.cost.operators import operator_work
from nona.cost.validation_networks import Sketch
from nona.graph.dag import Dag

SHAPE = (1, 4, 8, 8)
BYTES = 4.0 * 256


def random_graph(seed):
    """Kernels, element-wise operators and views of one shape, wired at random."""
    rng = random.Random(seed)
    s = Sketch("random")
    made = [s.source("x", SHAPE)]
    for _ in range(rng.randint(1, 25)):
        kind = rng.choice(["MaxPool", "MaxPool", "Relu", "Add", "Add", "Reshape", "Transpose", "Softmax"])
        inputs = [rng.choice(made[-6:]) for _ in range(2 if kind == "Add" else 1)]
        made.append(s.add(kind, inputs, SHAPE))
    return s.graph()


def kernels(graph, fuses=True):
    works, _ = operator_work(graph)
    return fuse(graph, works, {n: t.size_bytes for n, t in graph.tensors.items()}, fuses)


def crossing_bytes(graph, kernel):
    """By definition: distinct memory that comes from outside or leaves; views share their source's."""
    works, _ = operator_work(graph)
    memory = {}
    for o, w in zip(graph.operators, works, strict=True):
        memory.update({i: memory.get(i, i) for i in o.inputs})
        memory[o.outputs[0]] = memory[o.inputs[0]] if w.launch == "view" else o.outputs[0]
    real = [i for i, w in enumerate(works) if w.launch != "view"]
    inside = set(kernel.members)
    made = {memory[graph.operators[i].outputs[0]] for i in real if i in inside}
    read = {memory[n] for i in real if i in inside for n in graph.operators[i].inputs}
    wanted_outside = {memory[n] for i in real if i not in inside for n in graph.operators[i].inputs}
    read_anywhere = wanted_outside | read
    written = {m for m in made if m in wanted_outside or m not in read_anywhere}
    return BYTES * (len(read - made) + len(written))


@examples(150)
@given(st.integers(0, 10**6))
def test_kernels_are_a_partition_without_cycles(seed):
    graph = random_graph(seed)
    found = kernels(graph)
    members = sorted(i for k in found for i in k.members)
    assert members == list(range(len(graph.operators)))
    home = {i: n for n, k in enumerate(found) for i in k.members}
    arcs = {(home[u], home[v]) for u, v in graph.dag.edges() if home[u] != home[v]}
    Dag.from_edges(len(found), arcs).topological_order()
    for kernel in found:
        kinds = [graph.operators[i].kind for i in kernel.members]
        assert not {"MaxPool", "Softmax"} & set(kinds[1:])
        assert kernel.launches == (set(kinds) != {"Reshape"})


@examples(150)
@given(st.integers(0, 10**6))
def test_traffic_is_what_crosses_the_kernels_border(seed):
    graph = random_graph(seed)
    for kernel in kernels(graph):
        if kernel.launches:
            assert kernel.traffic_bytes == crossing_bytes(graph, kernel)


@examples(50)
@given(st.integers(0, 10**6))
def test_fusion_never_moves_more_bytes(seed):
    graph = random_graph(seed)
    fused, alone = kernels(graph), kernels(graph, fuses=False)
    assert sum(k.traffic_bytes for k in fused) <= sum(k.traffic_bytes for k in alone)
    launched = sum(o.kind != "Reshape" for o in graph.operators)
    assert sum(k.launches for k in alone) == launched
    assert sum(k.launches for k in fused) <= launched


def test_a_residual_block_has_a_kernel_per_convolution():
    s = Sketch("block")
    x = s.add("MaxPool", [s.source("x", SHAPE)], SHAPE)
    y = s.add("Conv", [x, s.weight((4, 4, 3, 3))], SHAPE)
    y = s.add("Relu", [s.add("BatchNormalization", [y, s.weight((4,))], SHAPE)], SHAPE)
    y = s.add("Conv", [y, s.weight((4, 4, 3, 3))], SHAPE)
    s.add("Relu", [s.add("Add", [y, x], SHAPE)], SHAPE)
    members = [k.members for k in kernels(s.graph())]
    assert members == [(0,), (1,), (2, 3), (4, 5, 6)]
    last = kernels(s.graph())[-1]
    assert last.traffic_bytes == 3 * BYTES + 4 * 144  # two inputs, one output, the weights


@pytest.mark.parametrize("kind", ["Relu", "Reshape"])
def test_without_a_producer(kind):
    s = Sketch("g")
    s.add(kind, [s.source("x", SHAPE)], SHAPE)
    (kernel,) = kernels(s.graph())
    assert kernel.launches == (kind == "Relu")
    assert kernel.traffic_bytes == (2 * BYTES if kind == "Relu" else 0)
