"""Two models on two GPUs: the cut, the arrangements at one query at a time, and what is said of them."""

import numpy as np
import pytest

from nona.report.arrangements import row_finding, row_note
from nona.results.document import UNKNOWN
from nona.scenario.file import scenario_from_mapping
from nona.sources.lookup import Sources
from nona.study.arrangements import LOADS, RunSize, arrange_row, nearest_half
from nona.study.preparation import prepare

NODES = [{"id": name, "compute_ms": ms} for name, ms in (("a", 3), ("b", 1), ("c", 2), ("d", 4))]
EDGES = [
    {"source": s, "target": t, "bytes": size} for s, t, size in (("a", "b", 9), ("b", "c", 5), ("c", "d", 7))
]
SCENARIO = scenario_from_mapping(
    {
        "cluster": {
            "servers": [{"count": 2, "gpu": "l4"}],
            "network": {"capacity": "1 Tbit/s", "latency": 0},
        },
        "workload": [{"model": "chain", "rate": 1}],
        "models": {"chain": {"directed": True, "nodes": NODES, "edges": EDGES}},
    }
)


def test_the_cut_nearest_to_half_is_found_with_its_bytes():
    """Before the cuts lie 3, 4 and 6 of 10 ms; of two that are as near the one with fewer bytes is taken."""
    (model,) = prepare(SCENARIO).models
    assert nearest_half(model, 0) == (pytest.approx(0.4), 5.0)


def test_one_query_at_a_time_takes_what_theory_says():
    """Dedicated: M/D/1, W/D = 1 + r/2(1 - r). In halves 1 + ρ/2(1 - ρ) at each stage of the longer half."""
    *_, data = arrange_row(SCENARIO, Sources(), None, 0, "l4", 1, 1.0, RunSize(10_000, 4))
    assert [p.rates[0] for p in data.points] == pytest.approx([load / 0.010 for load in LOADS])
    for point, load in list(zip(data.points, LOADS, strict=True))[:6]:
        assert point.dedicated.mean == pytest.approx(0.010 * (1 + load / (2 * (1 - load))), rel=0.05)
        longest = 2 * load * 0.6  # both models cross the stage with 6 ms
        if longest >= 1:
            assert point.pipeline == UNKNOWN or point.pipeline.mean > point.dedicated.mean
        assert point.replicated.mean < point.dedicated.mean


def test_bursts_and_batches_of_one_row():
    runs = [
        list(arrange_row(SCENARIO, Sources(), None, 0, "l4", batch, cv, RunSize(1000, 2)))[-1]
        for batch, cv in ((1, 1.0), (8, 1.0), (8, 3.0))
    ]
    assert [(r.batch, r.cv, len(r.points)) for r in runs] == [(1, 1.0, 8), (8, 1.0, 8), (8, 3.0, 8)]
    assert np.all(np.diff([p.rates[0] for p in runs[1].points]) > 0)
    assert "cards and racks are left out" in row_note(runs[0])


def test_only_what_the_same_runs_separate_is_called_quicker():
    """At 90 % of capacity bursts make means that differ between runs more than between arrangements."""
    *_, data = arrange_row(SCENARIO, Sources(), None, 0, "l4", 8, 3.0, RunSize(2000, 8))
    busy = data.points[6]
    assert ("replicated", "dedicated") in busy.quicker
    assert busy.replicated.ci95[1] > busy.dedicated.ci95[0]
    for quicker, said in (((), "no rate tried"), ((("pipeline", "dedicated"),), "every rate tried")):
        points = tuple(p.model_copy(update={"quicker": quicker}) for p in data.points)
        finding = row_finding(data.model_copy(update={"points": points}))
        assert f"splitting is clearly quicker than dedicated GPUs at {said}" in finding
    assert "replicas are clearly quicker than both at" in row_finding(data)
