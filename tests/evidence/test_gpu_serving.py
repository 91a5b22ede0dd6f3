"""The serving loop of the benchmark on a GPU, with a clock and networks of its own."""

import importlib
import sys
from itertools import pairwise
from types import ModuleType, SimpleNamespace

import pytest


class Clock:
    """Every look takes a microsecond."""

    now_s = 0.0

    def perf_counter(self):
        self.now_s += 1e-6
        return self.now_s


class Network:
    def __init__(self, name, step_s, clock):
        self.name, self.step_s, self.clock = name, step_s, clock

    def run(self, size):
        self.clock.now_s += self.step_s[size - 1]


@pytest.fixture
def gpu_serving(monkeypatch):
    for name in ("torch", "torchvision", "torchvision.models", "transformers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["torchvision"].models = sys.modules["torchvision.models"]
    sys.modules["transformers"].BertConfig = sys.modules["transformers"].BertModel = object
    monkeypatch.delitem(sys.modules, "benchmarks.gpu_serving", raising=False)
    yield importlib.import_module("benchmarks.gpu_serving")
    sys.modules.pop("benchmarks.gpu_serving", None)


def test_every_step_is_recorded_with_its_batch_and_duration(gpu_serving, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(gpu_serving, "time", SimpleNamespace(perf_counter=clock.perf_counter))
    networks = [Network("quick", [0.010, 0.012, 0.013], clock), Network("slow", [0.020, 0.022, 0.023], clock)]
    served, steps = gpu_serving.serve([(n, 40.0) for n in networks], 3, 0.004, 3.0, seed=1)
    assert {size for _, size, *_ in steps} == {1, 2, 3}
    step_s = {n.name: n.step_s for n in networks}
    for name, size, begin, end in steps:
        assert end - begin == pytest.approx(step_s[name][size - 1], abs=2e-6)
    assert all(end <= begin for (*_, end), (_, _, begin, _) in pairwise(steps))
    of_queries = [(name, end, size) for name, _, end, size in served]
    assert of_queries == [(name, end, size) for name, size, _, end in steps for _ in range(size)]
    assert len(served) == 240
