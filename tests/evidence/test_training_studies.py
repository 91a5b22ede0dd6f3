"""The studies of training: equal jobs for all, claims, points computed again, text and charts."""

import pytest

from evidence import elastic as elastic_study
from evidence import training as published
from evidence.policy_results import ElasticStudy, StudyPoint, TrainingStudy
from evidence.reports import elastic, training
from evidence.reports.elastic import elastic_load_figure, interference_figure
from evidence.reports.training import training_load_figure
from nona.queries.workflows.shipped import stored_result
from nona.training.workflows.elastic import measured_scenario, simulate_elastic_jobs
from tests.core.filled import filled

SMALL = published.StudySettings(
    jobs=6, at_once=4, gpus=4, replications=2, loads=(6.0,), policies=("gandiva", "fifo")
)


def _point(variant, *jcts_h, mode=training.SINGLE, per_hour=4.0):
    times = tuple(3600 * j for j in jcts_h)
    of = {"mode": mode, "variant": variant, "per_hour": per_hour}
    return filled(StudyPoint, **of, jcts_s=times, makespans_s=times)


def _made(*points):
    return filled(TrainingStudy, study="training", loads=points, replications=3)


def test_all_variants_get_the_same_jobs_and_replications_others():
    pieces = [published.Piece(v, training.SINGLE, 4.0, 10, (0, 9), 6, 3) for v in published.OVER_LOAD]
    assert len({published.system_of(p, 0).jobs for p in pieces}) == 1
    assert published.system_of(pieces[0], 0).jobs != published.system_of(pieces[0], 1).jobs
    assert dict(published.system_of(pieces[0], 0).cluster.gpus) == {"k80": 6, "p100": 6, "v100": 6}


def test_the_study_is_what_its_pieces_are():
    data = published.training_study(SMALL)
    assert [p.variant for p in data.loads] == ["gandiva, packed"] * 2
    assert [p.variant for p in data.makespans] == ["fifo", "gandiva, packed"] * 2
    piece = published.Piece(published.Variant("fifo"), training.SINGLE, 0.0, 4, (0, 3), 4, 0)
    again, fifo = published.run_piece(piece, 1), data.makespans[0]
    assert (fifo.makespans_s[1], fifo.jcts_s[1]) == pytest.approx(
        (again.makespan_s, again.jct_s.mean), rel=1e-5
    )
    assert all(j and j > 0 for point in data.loads for j in point.jcts_s)
    for point in data.makespans:
        assert all(j and m and 0 < j <= m for j, m in zip(point.jcts_s, point.makespans_s, strict=True))
    assert "--policy gandiva" in data.command
    assert "--load 6" in data.command
    shown = training.presented(data)
    assert "not run" in shown.text()
    (makespans,) = (table.rows for table in shown.tables if table.key == "training-makespan-single-GPU")
    assert len(makespans.values) == 2


def test_a_claim_takes_the_load_with_the_largest_ratio():
    agnostic, aware = training.CLAIMS[0].worse, training.CLAIMS[0].better
    data = _made(
        _point(agnostic, 10, 11, 12, per_hour=2),
        _point(agnostic, 70, 72, 71, per_hour=6),
        _point(aware, 10, 11, 12, per_hour=2),
        _point(aware, 20, 21, 20, per_hour=6),
    )
    first = training.judged(data)[0]
    assert (first.per_hour, first.order, first.size) == (6, "agrees", "agrees")
    assert first.ratio.value == pytest.approx(213 / 61)
    assert [j.order for j in training.judged(data)[1:]] == ["not run"] * (len(training.CLAIMS) - 1)
    assert training.loads(data, training.SINGLE).texts()[1]["6 jobs/h"].startswith("20.33 ± ")
    failed = training.judged(_made(_point(agnostic, 10, 11, 12), _point(aware, 20, 21, 20)))[0]
    assert (failed.order, failed.size) == ("does not agree", "smaller")


def test_the_chart_shows_each_mean_with_its_interval():
    data = _made(_point("max-min-fairness", 20, 22, 24), _point("max-min-fairness, packed", 18, 18, 18))
    plain, packed = training_load_figure(data, training.SINGLE).data
    assert plain.y == pytest.approx([22.0])
    assert plain.error_y.array == pytest.approx([4.303 * 2 / 3**0.5], rel=1e-3)  # t(2, 0.975) = 4.303
    assert packed.error_y.array == pytest.approx([0.0])
    assert packed.marker.symbol == f"{plain.marker.symbol}-open"


@pytest.mark.verify
def test_a_stored_run_is_found_again():
    """One replication at the lowest load gives the stored bytes' value."""
    stored = stored_result(TrainingStudy)
    point = next(p for p in stored.loads if p.variant == "max-min-fairness")
    of = (point.mode, point.per_hour, stored.jobs, stored.measured, stored.gpus, stored.seed)
    piece = published.Piece(published.Variant("max-min-fairness"), *of)
    assert published.run_piece(piece, 0).jct_s.mean == pytest.approx(point.jcts_s[0], rel=1e-5)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("policy", "interference"),
    [("tiresias", 0.0), ("sjf", 0.5)],
)
def test_a_point_of_elastic_jobs_computed_again_is_the_stored_one(policy, interference):
    stored, wanted = stored_result(ElasticStudy), (policy, 1.0, interference)
    point = next(p for p in stored.points if (p.policy, p.load, p.interference) == wanted)
    scenario = measured_scenario(workload=3, policies=[policy], interference=interference)
    seeded = scenario.model_copy(update={"seed": stored.seed})
    found = simulate_elastic_jobs(seeded).report.policies[point.policy]
    assert found.jct_s.mean == pytest.approx(point.jcts_s[stored.workloads.index(3)][0], rel=1e-9)


def test_the_stored_study_of_elastic_jobs_is_whole_agrees_with_the_authors_and_is_shown_whole():
    stored = stored_result(ElasticStudy)
    policies = tuple(dict.fromkeys(p.policy for p in stored.points))
    places = elastic_study.places_of(elastic_study.ElasticStudySettings(policies=policies))
    assert {(p.policy, p.load, p.interference, p.avoid) for p in stored.points} == set(places)
    assert stored.failed_checks == ()
    for point in stored.points:
        if point.policy in ("tiresias", "optimus") and (known := elastic.published_of(point)) is not None:
            assert elastic.mean_of(point).mean == pytest.approx(known, rel=1e-9)
    text, names = elastic.presented(stored).text(), {p.policy for p in stored.points}
    assert elastic.title(stored).startswith("At load 0.5 ")
    for made in (elastic_load_figure(stored), interference_figure(stored)):
        assert names <= {trace.name for trace in made.data}
    assert all(name in text for name in names)
    best = min((p for p in elastic.over_load(stored) if p.load == 0.5), key=lambda p: elastic.mean_of(p).mean)
    assert f"At load 0.5 {best.policy} " in elastic.title(stored)
