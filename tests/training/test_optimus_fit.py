"""Optimus with fitted step times and forecast epochs: theory by hand, and runs against the oracle."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import SimulationError
from nona.training.elastic.engine import simulate_elastic
from nona.training.elastic.optimus import Measuring, Shape, fit_curve, fit_step, remaining_epochs, step_s
from nona.training.elastic.records import elastic_checks
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.system import Cluster, ElasticSystem
from nona.training.elastic.workload import shipped_workload

SHAPES = [Shape(1, 1), Shape(1, 2), Shape(1, 4), Shape(2, 8), Shape(3, 9), Shape(4, 16)]


@examples(30)
@given(st.lists(st.floats(0, 10), min_size=5, max_size=5).filter(lambda v: sum(v) > 0.1))
def test_a_law_of_the_family_is_found_again(theta):
    truth = {at: step_s(np.array(theta), 64, at) for at in SHAPES}
    found = fit_step(64, truth)
    assert (found >= 0).all()
    for at in (*SHAPES, Shape(2, 6)):
        assert step_s(found, 64, at) == pytest.approx(step_s(np.array(theta), 64, at), rel=1e-6)


@examples(30)
@given(st.floats(0.05, 3), st.floats(0.1, 3), st.integers(4, 30), st.sampled_from([0.01, 0.001]))
def test_a_curve_ends_where_it_falls_by_less_than_the_threshold(beta0, beta1, done, threshold):
    """The forecast against a search epoch by epoch along the true curve."""
    errors = [1 / (beta0 * k + beta1) for k in range(1, done + 1)]
    curve = fit_curve(errors)
    assert curve.at(done) == pytest.approx(errors[-1], rel=1e-3)
    falls = (
        k
        for k in range(1, 10**5)
        if 1 / (beta0 * k + beta1) - 1 / (beta0 * (k + 1) + beta1) < threshold * errors[0]
    )
    left = max(next(falls) - done, 1)
    assert remaining_epochs(errors, 10**6, threshold) == pytest.approx(left, abs=1.01)


def test_without_a_falling_curve_users_are_believed():
    assert remaining_epochs([], 40, 0.01) == 40
    assert remaining_epochs([0.5, 0.6, 0.7], 40, 0.01) == 37
    assert remaining_epochs([0.5, 0.4, 0.3], 3, 0.01) >= 1


def test_a_fit_is_closer_to_the_measured_steps_than_any_single_time():
    """Within 40 % where it was not tried; what was tried is kept as it was first measured."""
    cluster = Cluster(16, 4)
    job = next(job for job in shipped_workload(1) if job.application.name == "cifar10")
    seen = Measuring(job, cluster)
    split = seen.split((4, 2))
    time = job.application.times.at((4, 2), split.local)
    seen.measured((4, 2), split, time, None)
    seen.measured((4, 2), split, time._replace(step_s=99.0), None)
    assert seen.measured_s[Shape(2, 6)] == pytest.approx(
        time.step_s + split.extra * (time.step_s - time.sync_s)
    )
    for gpus, counts in ((3, (3,)), (5, (4, 1)), (12, (4, 4, 4))):
        true, _ = job.application.step(counts, seen.split(counts))
        assert seen.step_s(gpus) == pytest.approx(true, rel=0.4)


def test_fitted_runs_keep_the_rules_and_wait_between_divisions():
    system = ElasticSystem(Cluster(4, 4), shipped_workload(3)[:20])
    options = {"fitted": True, "every_ticks": 10}
    records = simulate_elastic(system, ELASTIC["optimus"], options)
    assert [check for check in elastic_checks(system, records) if not check.ok] == []
    asked = sorted({change.time_s for change in records.changes if change.given})
    assert all(b - a >= 600 for a, b in pairwise(asked))
    often = simulate_elastic(system, ELASTIC["optimus"], {"fitted": True})
    assert sum(records.restarts) < sum(often.restarts)


def test_errors_by_epoch_are_needed():
    job = shipped_workload(3)[0]
    without = replace(job, application=replace(job.application, error=None))
    with pytest.raises(SimulationError, match=r"add the column error to epochs\.csv"):
        simulate_elastic(ElasticSystem(Cluster(), (without,)), ELASTIC["optimus"], {"fitted": True})
    with pytest.raises(SimulationError, match="fitted=1 must be true or false"):
        simulate_elastic(ElasticSystem(Cluster(), (job,)), ELASTIC["optimus"], {"fitted": 1})
