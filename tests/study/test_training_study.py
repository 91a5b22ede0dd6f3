"""The study of training policies: equal jobs for all, its claims, its text."""

import pytest

from nona.errors import SimulationError
from nona.report.studies.policy_figures import training_load_figure as load_figure
from nona.report.studies.training import CLAIMS, SINGLE, judged, load_rows, makespan_rows, study_text
from nona.results.studies import StudyPoint, TrainingStudy
from nona.study.shipped import shipped_training
from nona.study.training.published import (
    AT_ONCE,
    MODES,
    OVER_LOAD,
    Piece,
    StudySettings,
    Variant,
    run_piece,
    system_of,
    training_study,
)

SMALL = StudySettings(jobs=6, at_once=4, gpus=4, replications=2, loads=(6.0,), policies=("gandiva", "fifo"))


def _point(variant: str, *jcts_h: float, mode: str = SINGLE, per_hour: float = 4.0) -> StudyPoint:
    return StudyPoint(
        mode=mode,
        variant=variant,
        per_hour=per_hour,
        jcts_s=tuple(3600 * j for j in jcts_h),
        makespans_s=tuple(3600 * j for j in jcts_h),
        utilization=0.5,
        decision_s=0.01,
    )


def _made(*points: StudyPoint) -> TrainingStudy:
    return TrainingStudy(
        study="training",
        command="nona study training",
        version="0",
        date="",
        seed=0,
        gpus=36,
        jobs=100,
        measured=(30, 69),
        at_once=10,
        replications=3,
        loads=points,
        makespans=(),
        seconds=1.0,
    )


def test_all_variants_get_the_same_jobs_and_replications_others() -> None:
    pieces = [Piece(v, SINGLE, 4.0, 10, (0, 9), 6, 3) for v in OVER_LOAD]
    assert len({system_of(p, 0).jobs for p in pieces}) == 1
    assert system_of(pieces[0], 0).jobs != system_of(pieces[0], 1).jobs
    assert dict(system_of(pieces[0], 0).cluster.gpus) == {"k80": 6, "p100": 6, "v100": 6}


def test_the_study_is_what_its_pieces_are() -> None:
    data = training_study(SMALL)
    assert [p.variant for p in data.loads] == ["gandiva, packed"] * 2
    assert [p.variant for p in data.makespans] == ["fifo", "gandiva, packed"] * 2
    again = run_piece(Piece(Variant("fifo"), SINGLE, 0.0, 4, (0, 3), 4, 0), 1)
    assert data.makespans[0].makespans_s[1] == pytest.approx(again.makespan_s, rel=1e-5)
    assert data.makespans[0].jcts_s[1] == pytest.approx(again.jct_s, rel=1e-5)
    assert all(j and j > 0 for point in data.loads for j in point.jcts_s)
    for point in data.makespans:
        assert all(j and m and 0 < j <= m for j, m in zip(point.jcts_s, point.makespans_s, strict=True))
    assert TrainingStudy.from_json(data.to_json()) == data
    assert "--policy gandiva" in data.command
    assert "--load 6" in data.command
    assert "not run" in study_text(data)
    assert len(makespan_rows(data, SINGLE)) == 2


def test_a_claim_takes_the_load_with_the_largest_ratio() -> None:
    agnostic, aware = CLAIMS[0].worse, CLAIMS[0].better
    data = _made(
        _point(agnostic, 10, 11, 12, per_hour=2),
        _point(agnostic, 70, 72, 71, per_hour=6),
        _point(aware, 10, 11, 12, per_hour=2),
        _point(aware, 20, 21, 20, per_hour=6),
    )
    first = judged(data)[0]
    assert (first.per_hour, first.order, first.size) == (6, "agrees", "agrees")
    assert first.ratio.value == pytest.approx(213 / 61)
    assert [j.order for j in judged(data)[1:]] == ["not run"] * (len(CLAIMS) - 1)
    assert load_rows(data, SINGLE)[1]["6 jobs/h"].startswith("20.33 ± ")


def test_a_claim_can_fail() -> None:
    data = _made(_point(CLAIMS[0].worse, 10, 11, 12), _point(CLAIMS[0].better, 20, 21, 20))
    assert (judged(data)[0].order, judged(data)[0].size) == ("does not agree", "smaller")


def test_claims_name_variants_that_are_run() -> None:
    over, once = ({v.name for v in variants} for variants in (OVER_LOAD, AT_ONCE))
    for claim in CLAIMS:
        assert {claim.worse, claim.better} <= (over if claim.value == "jcts_s" else once)


@pytest.mark.parametrize("wrong", [{"jobs": 0}, {"loads": ()}, {"loads": (-1.0,)}])
def test_wrong_sizes_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SimulationError, match="Study: "):
        StudySettings(**wrong)  # type: ignore[arg-type]


def test_the_chart_shows_each_mean_with_its_interval() -> None:
    data = _made(_point("max-min-fairness", 20, 22, 24), _point("max-min-fairness, packed", 18, 18, 18))
    plain, packed = load_figure(data, SINGLE).data
    assert plain.y == pytest.approx([22.0])
    assert plain.error_y.array == pytest.approx([4.303 * 2 / 3**0.5], rel=1e-3)  # t(2, 0.975) = 4.303
    assert packed.error_y.array == pytest.approx([0.0])
    assert packed.marker.symbol == f"{plain.marker.symbol}-open"


def test_a_stored_run_is_found_again() -> None:
    """One replication at the lowest load gives the stored bytes' value."""
    stored = shipped_training()
    point = next(p for p in stored.loads if p.variant == "max-min-fairness")
    piece = Piece(
        Variant("max-min-fairness"),
        point.mode,
        point.per_hour,
        stored.jobs,
        stored.measured,
        stored.gpus,
        stored.seed,
    )
    assert run_piece(piece, 0).jct_s == pytest.approx(point.jcts_s[0], rel=1e-5)


def test_the_stored_study_covers_every_variant() -> None:
    stored = shipped_training()
    for mode in MODES:
        names = {p.variant for p in stored.loads if p.mode == mode}
        assert names == {v.name for v in OVER_LOAD if v.takes(mode)}
    assert {p.variant for p in stored.makespans} == {v.name for v in AT_ONCE}
    assert all(j.ratio.n == stored.replications for j in judged(stored))
