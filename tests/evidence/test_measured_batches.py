"""GPUs that batch, measured, beside their simulation."""

from __future__ import annotations

import pytest

from evidence.measured_batches import MEASURED, beside_measured, measured_figure, measured_finding


@pytest.fixture(scope="module")
def runs():
    return beside_measured()


def test_gpus_that_batch_take_what_is_simulated(runs):
    """24 runs each; steps that took longer than those timed before weigh 1 / (1 − load) in a mean."""
    assert [run.gpu for run in runs] == ["H100"] * 24 + ["H200"] * 24
    for run in runs:
        errors = {time.statistic: abs(time.error) for time in run.times}
        case = (run.gpu, run.models, run.max_batch, run.load)
        if run.max_batch > 1:
            assert errors["mean"] < 0.04, case
            assert max(errors.values()) < 0.06, case
            assert run.simulated_batch == pytest.approx(run.measured_batch, rel=0.045)
        else:
            drift = 0.04 if run.step_drift is None else abs(run.step_drift)
            assert errors["mean"] < 0.05 + 1.2 * drift / (1 - run.load), case


def test_the_finding_covers_every_run_and_the_chart_has_them_all(runs):
    several = [run for run in runs if run.max_batch > 1]
    assert f"within {100 * max(abs(r.times[0].error) for r in several):.1f} %" in measured_finding(runs)
    assert len(MEASURED.fill(runs)) == len(measured_figure(runs).data[1].x) == 48
