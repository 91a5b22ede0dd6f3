"""``nona training elastic`` and ``nona study elastic``: reports, processes, refusals, the shipped study."""

from __future__ import annotations

import json
import statistics
from importlib.resources import files
from pathlib import Path

import pytest

from nona.cli.main import main
from nona.errors import SimulationError
from nona.report.studies.elastic import elastic_study_text, mean_of, published_of
from nona.results.elastic import ElasticReport
from nona.simulation.run import Cancelled
from nona.study.training.elastic import ElasticRequest, simulate_elastic_jobs
from nona.study.training.elastic_study import ElasticStudySettings, elastic_study, places_of

JOBS = "name,arrival_s,application,gpus,batch_size\na,0,ncf,1,32768\nb,30,cifar10,4,1024\nc,61,ncf,1,32768\n"
SMALL = ("--nodes", "2", "--policy", "pollux", "--policy", "fifo", "--replications", "2")


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(JOBS)
    return path


def _report(capsys: pytest.CaptureFixture[str], *arguments: str) -> ElasticReport:
    assert main(["training", "elastic", "--json", *arguments]) == 0
    return ElasticReport.from_json(json.loads(capsys.readouterr().out))


def test_reports_are_equal_in_one_process_and_two(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (
        _report(capsys, "--workload", str(workload), *SMALL, "--workers", count) for count in ("1", "2")
    )
    assert one.policies == two.policies
    assert {name: p.replications for name, p in one.policies.items()} == {"pollux": 2, "fifo": 1}
    assert all(one.checks.values())
    assert one.failed_checks == ()
    jcts = [job.jct_s for job in one.policies["fifo"].jobs]
    assert one.policies["fifo"].jct_s.mean == pytest.approx(statistics.mean(jcts))
    assert one.policies["pollux"].published_s is None


def test_a_replay_stands_beside_the_authors_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["training", "elastic", "--workload", "3", "--policy", "tiresias", "--policy", "sjf"]) == 0
    text = capsys.readouterr().out
    assert "3,876.26 s  3,876.26 s     +0.0 %" in text
    assert "5 of 5 self-checks held" in text
    slowed = _report(capsys, "--workload", "3", "--policy", "tiresias", "--interference", "0.5")
    assert slowed.policies["tiresias"].published_s is None
    assert (slowed.policies["tiresias"].jct_s.mean or 0) > 3876.26


def test_own_profiles_need_an_own_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = files("nona.training.elastic").joinpath("data")
    for name in ("applications", "placements", "scalability", "epochs"):
        data = folder.joinpath(f"{name}.csv").read_bytes().replace(b"\nbert,", b"\nmine,")
        (tmp_path / f"{name}.csv").write_bytes(data)
    own = tmp_path / "jobs.csv"
    own.write_text("name,arrival_s,application,gpus,batch_size\na,0,mine,2,24\n")
    given = ("--profiles", str(tmp_path), "--policy", "fifo")
    shipped = _report(capsys, "--workload", str(own), *given)
    own.write_text("name,arrival_s,application,gpus,batch_size\na,0,bert,2,24\n")
    same = _report(capsys, "--workload", str(own), "--policy", "fifo")
    assert shipped.policies["fifo"].jct_s == same.policies["fifo"].jct_s
    assert main(["training", "elastic", *given]) == 2
    assert "your own profiles need a workload of your own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--workload", "9"), "Workload '9': No such file or directory; check the path, or choose from 1, 2"),
        (("--policy", "gavell"), "'gavell'"),
        (("--nodes", "2"), "asks for 12 GPUs of 8"),
        (("--interference", "1"), "must lie between 0 and 1"),
        (("--load", "0"), "Load 0 must be above 0"),
        (("--profiles", "nowhere"), "No such file or directory; check the path"),
    ],
)
def test_what_cannot_be_run_is_refused(
    arguments: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["training", "elastic", *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_options_of_a_link_need_one_and_change_that_of_a_scenario(
    workload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ("training", "elastic", "--json", "--policy", "fifo")
    assert main([*own, "--workload", str(workload), "--capacity", "1 Gbit/s"]) == 2
    assert "there is none; add --background 0.5" in capsys.readouterr().err
    assert main([*own, "--capacity", "1 Gbit/s", "--background", "0.25", "who_sees_the_link"]) == 0
    link = ElasticReport.from_json(json.loads(capsys.readouterr().out)).setting.link
    assert link is not None
    assert (link.capacity, link.background, link.latency_s, link.discipline) == (1.25e8, 0.25, 2e-5, "fifo")


@pytest.mark.parametrize(
    ("row", "more", "said"),
    [
        ("a,1e9,ncf,1,32768", (), "job 'a' comes after 1e+09 s, but a run has 200000 ticks of 60 s at most"),
        ("a,0,cifar10,6,2048", ("--gpus", "8"), "placement 6 were not measured, whose nodes gave 4 at most"),
    ],
)
def test_what_was_not_measured_or_comes_too_late_is_said(
    row: str, more: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.csv"
    file.write_text(f"name,arrival_s,application,gpus,batch_size\n{row}\n")
    assert main(["training", "elastic", "--workload", str(file), "--policy", "fifo", *more]) == 2
    assert said in (found := capsys.readouterr().err)
    assert found.count("\n") == 1


def test_a_switch_of_pollux_is_true_or_false(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["training", "elastic", "--workload", str(workload), "--policy", "pollux"]
    assert main([*words, "--set", "pollux.avoid_interference=0.3"]) == 2
    assert "avoid_interference=0.3 must be true or false" in capsys.readouterr().err


def test_a_file_has_no_other_load(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["training", "elastic", "--workload", str(workload), "--load", "2"]) == 2
    assert "Load 2 needs a shipped workload" in capsys.readouterr().err


def test_progress_names_every_run_and_may_stop_all() -> None:
    heard = set()

    def hear(progress: object) -> None:
        heard.add(id(progress))
        raise Cancelled

    request = ElasticRequest(policies=("pollux",))
    with pytest.raises(Cancelled):
        simulate_elastic_jobs(request, on_progress=hear)
    assert len(heard) == 1


def test_the_study_has_every_point_once() -> None:
    settings = ElasticStudySettings(policies=("pollux", "optimus"))
    places = places_of(settings)
    assert len(places) == len(set(places)) == 2 * 4 + 3 + 2
    assert sum(not place.avoid for place in places) == 3
    with pytest.raises(SimulationError, match=r"workloads=\[7\] must be among 1, 2, 3, 4"):
        ElasticStudySettings(workloads=(7,))


def test_a_study_of_one_policy_is_made_of_its_replays() -> None:
    settings = ElasticStudySettings(workloads=(3,), loads=(1.0,), interference=(0.5,), policies=("tiresias",))
    data = elastic_study(settings)
    calm, slowed = data.points
    assert calm.jcts_s == ((3876.25625,),)
    assert published_of(calm) == 3876.25625
    assert mean_of(slowed).mean > mean_of(calm).mean
    assert data.command == (
        "nona study elastic --json --workload 3 --load 1 --interference 0.5 --policy tiresias"
    )
    assert "Replay, tiresias, by workload, against the authors' figure: 3: 3,876.26 s (+0.00 %)." in (
        elastic_study_text(data)
    )
