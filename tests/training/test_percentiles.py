"""Percentiles of JCT: one definition for the table, the title and the chart, over all replications."""

import numpy as np
import pytest

from nona.training.metrics import jct_of, pooled
from nona.training.report.figures import jct_figure
from nona.training.results import TrainingPolicyResult
from tests.core.filled import filled


def test_the_chart_reads_the_percentiles_of_the_table_over_several_runs():
    random = np.random.default_rng(1)
    runs = [random.exponential(3600.0 * (run + 1), 60) for run in range(3)]
    runs[1][7] = np.nan  # a job that was not complete
    outcomes = [filled(TrainingPolicyResult, jct_s=jct_of(run)) for run in runs]
    of = pooled(outcomes, [o.jct_s for o in outcomes], ())
    by_run = [np.nanpercentile(run, 95) for run in runs]
    assert of.jct_s.p95 == pytest.approx(np.mean(by_run))
    (line,) = jct_figure({"fifo": of}).data
    assert 3600 * line.x[list(line.y).index(95)] == pytest.approx(of.jct_s.p95)
    assert line.y[-1] == 100
