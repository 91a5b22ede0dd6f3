"""Split or batch: AlpaServe's formulas, and the shipped cases against theory and published figures."""

import pytest

from nona.study.shipped import stored_result
from studies.bulk_queue import bulk_queue
from studies.reports import split_or_batch
from studies.results import SplitStudy
from studies.split_or_batch import CASES, EACH_S, FIXED_S, SplitSettings, break_even, split_study
from studies.theory import md1_jct_s
from tests.report.filled import but

MS = 1e-3


@pytest.mark.parametrize(
    ("load", "gain", "overhead", "uneven"),
    [
        (0.2, 1.027, 1.0262, 1.3837),
        (0.5, 1.077, 1.0692, 1.3333),
        (0.8, 1.143, 1.1111, 1.2770),
        (1.0, 1.200, 1.1315, 1.2361),
        (1.2, 1.273, 1.1379, 1.1926),
        (1.5, 1.429, 1.1111, 1.1231),
        (1.8, 1.692, 1.0493, 1.0499),
    ],
)
def test_what_splitting_gains_without_batches(load, gain, overhead, uneven):
    """The published code's figures; and at the break-even both queues are equally quick (M/D/1)."""
    even = break_even(load)
    assert (even.gain, even.overhead, even.uneven) == pytest.approx((gain, overhead, uneven), abs=6e-4)
    dedicated = md1_jct_s(load / 2, 1.0)
    for stage, whole in ((even.overhead / 2, even.overhead), (even.uneven / 2, 1.0)):
        assert whole + md1_jct_s(load, stage) - stage == pytest.approx(dedicated)


def test_dedicated_gpus_take_as_long_as_theory_says():
    for case in stored_result(SplitStudy).cases:
        if case.cv > 1 or case.dedicated.mean is None:
            continue
        steps = tuple(FIXED_S + EACH_S * b for b in range(1, case.batch + 1))
        jobs = sum(rate * bulk_queue(rate, steps).time_s for rate in case.rates)  # in the system: Little
        assert case.dedicated.mean == pytest.approx(jobs / sum(case.rates), rel=0.005)


# Mean latency in ms, from independent programs: dedicated, pipeline, pipeline +10 %, replicated. With gaps of
# coefficient of variation 3 from 10 runs of 2 million queries, without the replicated ones.
INDEPENDENT = (
    (2.72, 2.38, 2.68, 2.29),
    (3.54, 2.37, 2.68, 2.28),
    (3.32, 3.33, 3.78, 4.32),
    (4.28, 4.34, 5.07, 5.74),
    (None, 4.50, 5.50, 5.87),
    (4.14, 4.67, 5.32, 5.64),
    (9.57, 6.72, 9.35, None),
    (5.505, 5.178, 6.00, None),
)


def test_the_shipped_cases_are_those_of_an_independent_program():
    cases = stored_result(SplitStudy).cases
    assert [(c.batch, c.cv, c.rates) for c in cases] == list(CASES)
    for case, expected in zip(cases, INDEPENDENT, strict=True):
        found = (case.dedicated, case.pipeline, case.slower, case.replicated)
        for estimate, mean_ms in zip(found, expected, strict=True):
            if mean_ms is not None:
                assert estimate.mean == pytest.approx(mean_ms * MS, rel=0.035)
    assert cases[4].dedicated.mean is None  # 3200/s on a GPU that carries 2634/s


@pytest.mark.verify
def test_a_small_run_says_the_same_and_either_engine_repeats_it(monkeypatch):
    monkeypatch.setattr("studies.split_or_batch.CASES", CASES[:1] + CASES[3:4])
    settings = SplitSettings(jobs=4000, replications=2)
    small = split_study(settings, engine="simpy")
    again = split_study(settings, engine="compiled")
    assert small.cases == again.cases
    for case, stored in zip(small.cases, (stored_result(SplitStudy).cases[i] for i in (0, 3)), strict=True):
        assert case.pipeline.mean == pytest.approx(stored.pipeline.mean, rel=0.08)
        assert case.dedicated.mean == pytest.approx(stored.dedicated.mean, rel=0.12)


def test_the_words_follow_the_numbers():
    data = stored_result(SplitStudy)
    assert "no quicker in batches" in split_or_batch.title(data)
    said = " ".join(split_or_batch.findings(data))
    assert "13.8 %" in said
    assert "Bursts" in said
    assert "skew" in said
    calm = but(data, cases=tuple(c for c in data.cases if c.cv == 1 and c.rates[0] == c.rates[1]))
    assert not any(word in " ".join(split_or_batch.findings(calm)) for word in ("Bursts", "skew"))
    assert len(split_or_batch.split_figure(data).data) == 4
