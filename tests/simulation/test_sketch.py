"""The quantile sketch keeps its stated error, merges exactly, and serves runs with thinned records."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation_cases import first_fit, make_system, query, task_graph, uniform
from sizes import examples

from nona.simulation.collected import PARTS, RELATIVE_ERROR, QuantileSketch
from nona.simulation.records import pieces
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.summary import summarize
from nona.system import Stream

VALUES = st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e9)), min_size=1, max_size=60)
ROUNDING = 1e-12


def assert_close(found: float, exact: float) -> None:
    assert abs(found - exact) <= RELATIVE_ERROR * exact * (1 + ROUNDING) + ROUNDING * exact


@given(VALUES, st.floats(0, 1))
@examples(200)
def test_quantiles_are_within_the_stated_error(values: list[float], p: float) -> None:
    sketch = QuantileSketch().added(values)
    assert sketch.count == len(values)
    assert_close(sketch.quantile(p), float(np.quantile(values, p)))


@given(VALUES, VALUES, VALUES)
@examples(60)
def test_merging_is_counting_together(a: list[float], b: list[float], c: list[float]) -> None:
    one, two, three = (QuantileSketch().added(v) for v in (a, b, c))
    together = list(pieces(QuantileSketch().added(a + b + c)))
    assert list(pieces(one.merged(two).merged(three))) == together
    assert list(pieces(three.merged(QuantileSketch()).merged(two.merged(one)))) == together


@pytest.mark.parametrize("draw", ["exponential", "lognormal", "pareto"])
def test_quantiles_of_many_values(draw: str) -> None:
    rng = np.random.default_rng(4)
    x = {"exponential": rng.exponential(1e-3, 50_000), "lognormal": rng.lognormal(0, 3, 50_000)}.get(draw)
    x = rng.pareto(1.1, 50_000) + 1e-3 if x is None else x
    sketch = QuantileSketch()
    for part in np.array_split(x, 13):
        sketch = sketch.added(part)
    for p in (0.0, 0.001, 0.5, 0.95, 0.99, 0.9999, 1.0):
        assert_close(sketch.quantile(p), float(np.quantile(x, p)))
    assert len(sketch.counts) < math.log(x.max() / x.min()) / (2 * RELATIVE_ERROR) + 2


def test_no_values_have_no_quantile() -> None:
    assert math.isnan(QuantileSketch().quantile(0.5))
    assert math.isnan(QuantileSketch().added([]).quantile(0.5))


GRAPH = task_graph([2e-3, 5e-3, 4e-3, 2e-3], [(0, [1, 2], 2e5), (1, [3], 1e5), (2, [3], 1e5)])
SYSTEM = make_system(
    replace(query(GRAPH, 150.0, 0.5, name="a"), slo_s=0.03),
    query(task_graph([3e-3]), 150.0, 1.0, name="b"),
    servers=[0, 0, 1, 2, 2, 3],
    capacity=2e8,
    background_compute=Stream(20.0, 5e-3, 1.0),
)
FULL = RunOptions(jobs=6000, warmup=500, timeline_jobs=2)


@pytest.mark.parametrize("make", [lambda: uniform(4), first_fit], ids=["bind", "pick"])
def test_thinned_records_are_a_sample_of_the_same_run(make: object) -> None:
    full = simulate_run(SYSTEM, *make(), FULL)  # type: ignore[operator]
    thin = simulate_run(SYSTEM, *make(), replace(FULL, record_jobs=100))  # type: ignore[operator]
    assert (full.every, thin.every, thin.jobs, len(thin.query)) == (1, 60, 6000, 100)
    rows = {n: getattr(full, n)[::60] for n in ("query", "arrival_s", "completion_s", "parts_s")}
    assert replace(full, every=60, **rows).digest() == thin.digest()
    assert list(pieces(full.tally)) == list(pieces(thin.tally))
    a, b = (summarize([r], [0.03, None], ["a", "b"]) for r in (full, thin))
    for x, y in [(a.jct, b.jct), *((m.jct, n.jct) for m, n in zip(a.models, b.models, strict=True))]:
        assert y.mean.mean == pytest.approx(x.mean.mean, rel=1e-12)
        assert y.parts_s == x.parts_s
        assert sum(y.parts_s) == pytest.approx(y.mean.mean, rel=1e-9)
        for p, q in zip(x.percentiles, y.percentiles, strict=True):
            assert_close(q.interval.mean, p.interval.mean)
    assert b.models[0].hit_rate.mean == pytest.approx(a.models[0].hit_rate.mean, rel=1e-12)
    assert len(b.jct.parts_s) == len(PARTS)
