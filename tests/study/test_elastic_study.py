"""The shipped study of elastic jobs: cheap points recomputed; text and charts say what is in it."""

from __future__ import annotations

import pytest

from nona.report.studies.elastic import elastic_study_text, mean_of, over_load, published_of, study_title
from nona.report.studies.policy_figures import elastic_load_figure as load_figure
from nona.report.studies.policy_figures import interference_figure
from nona.study.shipped import shipped_elastic
from nona.study.training.elastic import ElasticRequest, simulate_elastic_jobs
from nona.study.training.elastic_study import ElasticStudySettings, places_of


@pytest.mark.parametrize(("policy", "load", "interference"), [("tiresias", 1.0, 0.0), ("sjf", 1.0, 0.5)])
def test_recomputing_a_point_gives_the_stored_value(policy: str, load: float, interference: float) -> None:
    stored = shipped_elastic()
    point = next(
        p for p in stored.points if (p.policy, p.load, p.interference) == (policy, load, interference)
    )
    request = ElasticRequest("3", policies=(policy,), load=load, interference=interference, seed=stored.seed)
    found = simulate_elastic_jobs(request).report.policies[policy]
    assert found.jct_s.mean == pytest.approx(point.jcts_s[stored.workloads.index(3)][0], rel=1e-9)


def test_the_stored_study_is_whole_and_agrees_with_the_authors() -> None:
    stored = shipped_elastic()
    policies = tuple(dict.fromkeys(p.policy for p in stored.points))
    places = places_of(ElasticStudySettings(policies=policies))
    assert {(p.policy, p.load, p.interference, p.avoid) for p in stored.points} == set(places)
    assert stored.failed_checks == ()
    for point in stored.points:
        if point.policy in ("tiresias", "optimus") and (known := published_of(point)) is not None:
            assert mean_of(point).mean == pytest.approx(known, rel=1e-9)


def test_text_and_charts_show_every_policy() -> None:
    stored = shipped_elastic()
    text, names = elastic_study_text(stored), {p.policy for p in stored.points}
    assert study_title(stored).startswith("At load 0.5 ")
    for made in (load_figure(stored), interference_figure(stored)):
        assert names <= {trace.name for trace in made.data}
    assert all(name in text for name in names)
    best = min((p for p in over_load(stored) if p.load == 0.5), key=lambda p: mean_of(p).mean)
    assert f"At load 0.5 {best.policy} " in study_title(stored)
