"""The study of the throughput estimator."""

from nona.report.studies.training import converged, estimator_text
from nona.study.shipped import shipped_estimator
from nona.study.training.published import EstimatorSettings, estimator_study


def test_a_point_computed_again_lies_in_the_stored_interval() -> None:
    stop = min(p.stop for p in shipped_estimator().points)
    settings = EstimatorSettings(shares=(0.5,), stops=(stop,), replications=2, seed=0)
    for again in estimator_study(settings).points:
        stored = next(p for p in converged(shipped_estimator(), again.reference) if p.profiled == 0.5)
        for way, error in again.errors.items():
            low, high = stored.errors[way].ci95 or (0.0, 0.0)
            assert low - 1e-3 <= (error.mean or 0.0) <= high + 1e-3, way


def test_the_stored_errors_are_in_the_order_that_theory_gives() -> None:
    for p in shipped_estimator().points:
        means = {way: e.mean or 0.0 for way, e in p.errors.items()}
        assert means["nearest"] <= means["match"]
        assert means["nearest"] <= means["random-reference"]
    known = [p.errors["match"].mean or 0.0 for p in converged(shipped_estimator(), "known")]
    assert known == sorted(known, reverse=True)


def test_the_text_gives_the_finding_and_the_table() -> None:
    text = estimator_text(shipped_estimator())
    assert text.startswith("For a new model")
    assert "mean of the table" in text
    assert shipped_estimator().about.command in text
