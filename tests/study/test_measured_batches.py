"""A GPU that batches, measured, beside its simulation."""

from __future__ import annotations

import pytest

from nona.report.studies.measured_batches import finding, runs_figure, runs_table
from nona.study.measured_batches import beside_h100


@pytest.fixture(scope="module")
def runs():
    return beside_h100()


def test_an_h100_that_batches_takes_what_is_simulated(runs):
    """24 runs; the first ran before the GPU was at full speed: its steps took 4 % longer than timed."""
    assert len(runs) == 24
    for run in runs[1:]:
        errors = {time.statistic: abs(time.error) for time in run.times}
        most = (0.025, 0.05) if run.max_batch > 1 else (0.05, 0.07)
        assert errors["mean"] < most[0], (run.models, run.max_batch, run.load)
        assert max(errors.values()) < most[1], (run.models, run.max_batch, run.load)
        assert run.simulated_batch == pytest.approx(run.measured_batch, rel=0.02)
    assert abs(runs[0].times[0].error) < 0.09


def test_the_finding_covers_every_run_and_the_chart_has_them_all(runs):
    several = [run for run in runs if run.max_batch > 1]
    assert f"within {100 * max(abs(r.times[0].error) for r in several):.1f} %" in finding(runs)
    assert len(runs_table(runs)) == len(runs_figure(runs).data[1].x) == 24
