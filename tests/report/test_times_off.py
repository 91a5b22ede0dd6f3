"""The range of a mean if modelled times are off: by hand, against M/M/1, and for times that are given."""

from __future__ import annotations

import math

import pytest

from nona.report.times import MeanParts, TimesError, mean_if_off, off_text, times_error
from nona.results.document import ModelFacts, OffRange


def facts(total_s: float, **shares: float) -> ModelFacts:
    sigma = {"given": 0.0, "measured": 0.05, "calibrated": 0.12, "modelled": 0.35}
    return ModelFacts(
        parallelism=1,
        total_compute_s=total_s,
        critical_path_s=total_s,
        device="a100-40gb",
        provenance=shares,
        sigma={p: sigma[p] for p in shares},
    )


def test_given_and_measured_times_have_no_range() -> None:
    assert times_error([facts(1.0, given=1.0), facts(2.0, measured=0.5, given=0.5)]) is None
    assert times_error([]) is None
    assert mean_if_off(MeanParts(mean_s=1.0, compute_s=1.0), None) is None


def test_models_count_by_their_time() -> None:
    """Three quarters of the work is given, so that only a quarter may be off."""
    error = times_error([facts(3.0, given=1.0), facts(1.0, modelled=1.0)])
    assert error is not None
    assert error.high == pytest.approx(0.75 + 0.25 * math.exp(1.6448536 * 0.35))
    assert error.low == pytest.approx(0.75 + 0.25 * math.exp(-1.6448536 * 0.35))


@pytest.mark.parametrize("load", [0.1, 0.3, 0.55])
def test_one_queue_is_exact(load: float) -> None:
    """M/M/1: T = S / (1 − ρ), with S and ρ both scaled by the factor."""
    service_s = 2.0
    parts = MeanParts(service_s / (1 - load), service_s, service_s * load / (1 - load), load)
    found = mean_if_off(parts, TimesError(0.56, 1.7))
    assert found is not None
    for factor, told in ((0.56, found.low_s), (1.7, found.high_s)):
        assert told == pytest.approx(factor * service_s / (1 - factor * load))


def test_background_and_transfers_stay_as_they_are() -> None:
    parts = MeanParts(mean_s=10.0, compute_s=4.0, server_wait_s=1.0, load=0.5, background=0.5)
    found = mean_if_off(parts, TimesError(0.5, 2.0))  # all load is background: waits scale with times alone
    assert found is not None
    assert (found.low_s, found.high_s) == (7.5, 15.0)


def test_where_longer_times_overload_there_is_no_upper_end() -> None:
    found = mean_if_off(
        MeanParts(mean_s=3.0, compute_s=1.0, server_wait_s=2.0, load=0.8), TimesError(0.5, 1.5)
    )
    assert found is not None
    assert found.high_s is None
    assert "overloaded" in off_text(found)


def test_both_ends_are_in_one_unit() -> None:
    assert off_text(OffRange(low_s=0.00098, high_s=0.00142)).startswith("0.98 to 1.4 ms if")
    assert off_text(OffRange(low_s=0.12, high_s=0.36)).startswith("120 to 360 ms if")
    assert off_text(OffRange(low_s=0.7, high_s=2.3)).startswith("0.7 to 2.3 s if")


def test_waits_within_a_job_scale_with_its_times() -> None:
    """On an idle cluster nobody else is waited for: what waits are there are for tasks of the same job."""
    found = mean_if_off(
        MeanParts(mean_s=3.5, compute_s=2.5, server_wait_s=1.0, load=1e-6), TimesError(0.5, 2)
    )
    assert found is not None
    assert (found.low_s, found.high_s) == (pytest.approx(1.75, rel=1e-4), pytest.approx(7.0, rel=1e-4))
