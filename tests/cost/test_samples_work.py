"""Work of the shipped sample models against their manifest."""

import pytest

from nona.cost.costing import cost_graph
from nona.cost.operators import operator_work
from nona.graph.readers import read_model
from nona.hardware.executor import executor_class
from nona.sources.samples import manifest, sample_root


@pytest.mark.parametrize("name", sorted(manifest()))
def test_gmac_of_the_sample(name):
    entry = manifest()[name]
    path = sample_root() / entry["file"]
    graph = read_model(path.read_bytes(), path.name, guarded=False)
    works, warnings = operator_work(graph)
    assert warnings == ()
    assert sum(w.work.macs for w in works) / 1e9 == pytest.approx(entry["gmac"], rel=1e-3)
    costed = cost_graph(graph, executor_class("a100-40gb"))
    assert costed.total_compute_s >= costed.critical_path_s > 0
    assert sum(c.weight_bytes for c in costed.costs) > 0
