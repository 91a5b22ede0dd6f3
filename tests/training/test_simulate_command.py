"""Training by command and in a scenario: reports, refusals, files and bundles, the study of elastic jobs."""

import json
import statistics
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nona.cli.main import main
from nona.errors import NonaError, ScenarioError, SimulationError
from nona.hardware.cluster import Network
from nona.report.studies.elastic import elastic_study_text, mean_of, published_of
from nona.report.training.elastic import setting_text
from nona.report.training.figures import jct_cdf_figure, rho_figure
from nona.report.training.findings import hours_text, jct_text
from nona.results.elastic import ElasticReport
from nona.results.training import TrainingOutcome, TrainingReport
from nona.scenario.file import dump_scenario, parse_scenario, scenario_hash
from nona.scenario.training import ElasticSpec
from nona.simulation.run import Cancelled
from nona.sources.lookup import Sources, file_names, with_files_renamed
from nona.sources.opening import open_scenario, pack_bundle
from nona.study.training.elastic import ElasticRequest, elastic_request, simulate_elastic_jobs
from nona.study.training.elastic_study import ElasticStudySettings, elastic_study
from nona.study.training.preparation import prepare_training
from nona.study.training.run import outcome_of, simulate_training_scenario
from nona.training.elastic.system import Link
from tests.report.training_sample import ABOUT

TEXT = """
cluster:
  servers: [{count: 1, gpu: v100, gpus: 2}, {count: 1, gpu: k80, gpus: 2}]
training:
  generate: {jobs: 8, mean_gap: 600 s, slos: true}
  policies: [max-min-fairness, fifo]
"""
ELASTIC = """
name: Some elastic jobs
cluster:
  servers: [{count: 8, gpu: t4, gpus: 4}]
training:
  elastic: {workload: 1, load: 0.25, policies: [fifo, sjf]}
"""


def _json(capsys, path, *arguments):
    assert main(["training", "simulate", str(path), "--json", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(TEXT)
    return path


def test_the_report_is_the_same_in_one_process_and_two(plan, capsys):
    first = TrainingReport.from_json(_json(capsys, plan, "--replications", "2"))
    second = TrainingReport.from_json(_json(capsys, plan, "--replications", "2", "--workers", "2"))
    assert list(first.policies) == ["max-min-fairness", "fifo"]
    assert all(first.checks.values())
    for name, found in first.policies.items():
        other = second.policies[name]
        assert (found.jobs, found.jct_s, found.cost_usd) == (other.jobs, other.jct_s, other.cost_usd)
        assert found.jct_s.ci95[0] < found.jct_s.mean < found.jct_s.ci95[1]
        assert [job.name for job in found.jobs] == [str(i) for i in range(8)]


def test_policies_and_seeds_are_chosen(plan, capsys):
    chosen = ("--policy", "isolated", "--replications", "1", "--no-ideal")
    first = _json(capsys, plan, *chosen)
    assert list(first["policies"]) == ["isolated"]
    assert first["policies"] != _json(capsys, plan, *chosen, "--seed", "7")["policies"]


def test_a_scenario_without_training_is_refused(tmp_path, capsys):
    assert main(["training", "simulate", "slides_example"]) == 2
    assert "training: is missing" in capsys.readouterr().err


def test_the_outcome_tells_rounds_and_what_was_received():
    result = simulate_training_scenario(
        parse_scenario(TEXT), policies=("fifo",), replications=1, trace_rounds=5
    )
    outcome = outcome_of(result, ABOUT)
    assert TrainingOutcome.from_json(outcome.to_json()) == outcome
    trace = outcome.traces["fifo"]
    assert [r.number for r in trace.rounds if r.priorities] == [0, 1, 2, 3, 4]
    row = trace.rounds[0].priorities[0]
    assert row.ran
    assert row.priority == pytest.approx(row.share * row.type_s / row.received_s)
    (records,) = result.records.values()
    stays = sum((s.end_s - s.start_s) * len(s.gpus) for s in trace.stays)
    assert stays == pytest.approx(records.booked_s.sum())
    assert {r.job for r in trace.received} == set(range(8))


def test_figures_are_of_the_measured_jobs_as_the_table_is():
    text = TEXT.replace("slos: true", "measured: [2, 5]")
    result = simulate_training_scenario(parse_scenario(text), replications=1)
    policies = outcome_of(result, ABOUT).report.policies
    jct, rho = jct_cdf_figure(policies), rho_figure(policies)
    for number, (name, found) in enumerate(policies.items()):
        assert [job.name for job in found.measured] == ["2", "3", "4", "5"]
        assert max(rho.data[number].x) == pytest.approx(found.rho.worst), name
        steps = sorted(set(jct.data[number].x))
        assert 3600 * sum(steps) / len(steps) == pytest.approx(found.jct_s.mean)


def test_the_html_report_says_what_the_run_says(plan, tmp_path, capsys):
    file = tmp_path / "report.html"
    asked = ("--policy", "fifo", "--replications", "1", "--html", str(file))
    report = TrainingReport.from_json(_json(capsys, plan, *asked))
    page = file.read_text()
    mean = report.policies["fifo"].jct_s.mean
    assert mean is not None
    assert hours_text(mean) in page
    assert "slos: true" in page
    assert "Options of the command came before" in page  # fifo alone
    assert "nona training simulate scenario.yaml --html report.html" in page
    assert main(["training", "simulate", str(plan), "--html", str(file)]) == 2
    assert "add --force" in capsys.readouterr().err


def test_a_report_on_elastic_jobs_needs_a_scenario(tmp_path, capsys):
    file = tmp_path / "report.html"
    assert main(["training", "elastic", "--workload", "1", "--html", str(file)]) == 2
    assert "name one" in capsys.readouterr().err
    path = tmp_path / "elastic.yaml"
    path.write_text(ELASTIC)
    assert main(["training", "elastic", str(path), "--json", "--html", str(file)]) == 0
    report = ElasticReport.from_json(json.loads(capsys.readouterr().out))
    page = file.read_text()
    assert jct_text(report.policies["fifo"].jct_s) in page
    assert setting_text(report.setting) in page
    assert "Options of the command" not in page
    assert main(["training", "elastic", str(path), "--background", "0", "--html", str(file), "--force"]) == 0
    assert "Options of the command" in file.read_text()


JOBS = "name,arrival_s,application,gpus,batch_size\na,0,ncf,1,32768\nb,30,cifar10,4,1024\nc,61,ncf,1,32768\n"
SMALL = ("--nodes", "2", "--policy", "pollux", "--policy", "fifo", "--replications", "2")
QUICK = ("--set", "pollux.population=20", "--set", "pollux.generations=10")


@pytest.fixture
def workload(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(JOBS)
    return path


def _report(capsys, *arguments):
    assert main(["training", "elastic", "--json", *arguments]) == 0
    return ElasticReport.from_json(json.loads(capsys.readouterr().out))


@pytest.mark.verify
def test_reports_are_equal_in_one_process_and_two(workload, capsys):
    one, two = (_report(capsys, "--workload", str(workload), *SMALL, *QUICK, "--workers", n) for n in "12")
    assert one.policies == two.policies
    assert {name: p.replications for name, p in one.policies.items()} == {"pollux": 2, "fifo": 1}
    assert all(one.checks.values())
    assert one.failed_checks == ()
    jcts = [job.jct_s for job in one.policies["fifo"].jobs]
    assert one.policies["fifo"].jct_s.mean == pytest.approx(statistics.mean(jcts))
    assert one.policies["pollux"].published_s is None


def test_a_replay_stands_beside_the_authors_figure(capsys):
    assert main(["training", "elastic", "--workload", "3", "--policy", "tiresias", "--policy", "sjf"]) == 0
    text = capsys.readouterr().out
    assert "3,876.26 s  3,876.26 s     +0.0 %" in text
    assert "5 of 5 self-checks held" in text
    slowed = _report(capsys, "--workload", "3", "--policy", "tiresias", "--interference", "0.5")
    assert slowed.policies["tiresias"].published_s is None
    assert (slowed.policies["tiresias"].jct_s.mean or 0) > 3876.26


def test_own_profiles_need_an_own_workload(tmp_path, capsys):
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
        (("--restart", "100000"), "100000"),
        (("--background", "1"), "background 1"),
        (("--policy", "pollux", "--set", "pollux.avoid_interference=0.3"), "0.3 must be true or false"),
        (("--profiles", "nowhere"), "No such file or directory; check the path"),
    ],
)
def test_what_the_command_cannot_run_is_refused(arguments, reason, capsys):
    assert main(["training", "elastic", *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_options_of_a_link_need_one_and_change_that_of_a_scenario(workload, tmp_path, capsys):
    own = ("training", "elastic", "--json", "--policy", "fifo")
    assert main([*own, "--workload", str(workload), "--capacity", "1 Gbit/s"]) == 2
    assert "there is none; add --background 0.5" in capsys.readouterr().err
    assert main([*own, "--workload", str(workload), "--load", "2"]) == 2
    assert "Load 2 needs a shipped workload" in capsys.readouterr().err
    assert main([*own, "--capacity", "1 Gbit/s", "--background", "0.25", "who_sees_the_link"]) == 0
    report = ElasticReport.from_json(json.loads(capsys.readouterr().out))
    link = report.setting.link
    assert (link.capacity, link.background, link.latency_s, link.discipline) == (1.25e8, 0.25, 2e-5, "fifo")
    assert 0 < report.policies["fifo"].link_share < 1


@pytest.mark.parametrize(
    ("row", "more", "said"),
    [
        ("a,1e9,ncf,1,32768", (), "job 'a' comes after 1e+09 s, but a run has 200000 ticks of 60 s at most"),
        ("a,0,cifar10,6,2048", ("--gpus", "8"), "placement 6 were not measured, whose nodes gave 4 at most"),
    ],
)
def test_what_was_not_measured_or_comes_too_late_is_said(row, more, said, tmp_path, capsys):
    file = tmp_path / "own.csv"
    file.write_text(f"name,arrival_s,application,gpus,batch_size\n{row}\n")
    assert main(["training", "elastic", "--workload", str(file), "--policy", "fifo", *more]) == 2
    assert said in (found := capsys.readouterr().err)
    assert found.count("\n") == 1


def test_progress_names_every_run_and_may_stop_all():
    heard = set()

    def hear(progress):
        heard.add(id(progress))
        raise Cancelled

    request = ElasticRequest(policies=("pollux",))
    with pytest.raises(Cancelled):
        simulate_elastic_jobs(request, on_progress=hear)
    assert len(heard) == 1


def test_a_study_of_unknown_workloads_is_refused():
    with pytest.raises(SimulationError, match=r"workloads=\[7\] must be among 1, 2, 3, 4"):
        ElasticStudySettings(workloads=(7,))


def test_a_study_of_one_policy_is_made_of_its_replays():
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


def scenario(elastic, servers="{count: 2, gpu: t4, gpus: 4}"):
    return parse_scenario(f"{{cluster: {{servers: [{servers}]}}, training: {{elastic: {{{elastic}}}}}}}")


def test_the_link_is_the_clusters_with_its_background():
    network = (
        "cluster: {servers: [{count: 4, gpu: t4, gpus: 4}], network: {capacity: 5 Gbit/s, latency: 30 us}}"
    )
    others = "background: {network: {utilization: 0.25, mean_size: 2 MB, scv: 3}}"
    for link in (True, False):
        part = f"training: {{elastic: {{workload: 1, link: {str(link).lower()}}}}}"
        made = elastic_request(parse_scenario(f"{{{network}, {others}, {part}}}")).link
        assert made == (Link(Network(5e9 / 8, 30e-6, "fifo"), 0.25, 2e6, 3.0) if link else None)


@given(
    workload=st.integers(1, 4),
    load=st.floats(0.1, 4),
    tick=st.integers(1, 600),
    restart=st.integers(0, 300),
    interference=st.floats(0, 0.99),
)
def test_what_is_written_is_read_back(workload, load, tick, restart, interference):
    text = f"workload: {workload}, load: {load!r}, tick: {tick}, restart: {restart} s, "
    made = scenario(
        f"{text} interference: {interference!r}, policies: [fifo, {{tiresias: {{starvation: 9}}}}]"
    )
    again = parse_scenario(dump_scenario(made))
    assert again == made
    assert scenario_hash(again) == scenario_hash(made)
    request = elastic_request(made)
    assert (request.workload, request.load, request.tick_s) == (str(workload), load, tick)
    assert (request.restart_s, request.interference) == (restart, interference)
    assert (request.policies, request.options) == (("fifo", "tiresias"), {"tiresias": {"starvation": 9}})


def test_fingerprints_follow_what_counts_and_old_files_keep_theirs():
    made = scenario("workload: 2")
    assert scenario_hash(made) == scenario_hash(scenario("workload: '2', load: 1.0, tick: 1 min"))
    assert scenario_hash(made) != scenario_hash(scenario("workload: 2, load: 0.5"))
    old = parse_scenario("{cluster: {servers: [{}]}, training: {generate: {jobs: 9}}}")
    assert "elastic" not in dump_scenario(old)


@pytest.mark.parametrize(
    ("elastic", "reason"),
    [
        ("workload: 7", "workload 7 does not ship; choose from 1, 2, 3, 4"),
        ("tick: 1.5 s", "tick 1.5 s must be a whole number of seconds; round it"),
        ("workload: a.csv, load: 2", "load 2 needs a workload that ships"),
        ("profiles: {}", "your own profiles need a workload of your own"),
        ("policies: [fifo, fifo]", "policy 'fifo' is there twice; remove one"),
        ("interference: 1", "interference"),
        ("restart: 2 h", "training.elastic.restart"),
        ("policies: []", "must have at least 1 entry"),
        ("speed: 3", "training.elastic.speed"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(elastic, reason):
    with pytest.raises(ScenarioError) as caught:
        scenario(elastic)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("elastic", "servers", "reason"),
    [
        ("", "{count: 2}, {count: 3}", "there are 2 groups"),
        ("", "{gpu: a100-40gb, mig: '3g.20gb, 3g.20gb'}", "divides a GPU"),
        ("", "{gpus: 16}", "gpus: 16 is more than the 9"),
        ("policies: [nobody]", "{count: 16, gpus: 4}", "'nobody'"),
        ("workload: nowhere.csv", "{count: 2}", "nowhere.csv"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(elastic, servers, reason):
    with pytest.raises(NonaError) as caught:
        elastic_request(scenario(elastic, servers))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_source_of_jobs_and_the_right_command():
    with pytest.raises(ScenarioError, match="exactly one of the four"):
        parse_scenario("{cluster: {servers: [{}]}, training: {elastic: {}, generate: {}}}")
    with pytest.raises(ScenarioError, match="nona training elastic"):
        prepare_training(scenario("workload: 1"))
    with pytest.raises(ScenarioError, match=r"training\.elastic: is missing"):
        elastic_request(parse_scenario("{cluster: {servers: [{}]}, training: {generate: {}}}"))
    assert ElasticSpec().policies[0].name == "pollux"


def test_files_travel_in_a_bundle_and_the_command_runs_it(tmp_path, capsys):
    (tmp_path / "mine.csv").write_text(JOBS)
    text = dump_scenario(scenario("workload: mine.csv, policies: [fifo]"))
    (tmp_path / "plan.yaml").write_text(text)
    found, sources = open_scenario(tmp_path / "plan.yaml")
    assert file_names(found) == ["mine.csv"]
    assert file_names(with_files_renamed(found, lambda name: f"x-{name}")) == ["x-mine.csv"]
    packed = tmp_path / "plan.nona.zip"
    packed.write_bytes(pack_bundle(found, sources))
    reports = []
    for arguments in ([str(packed)], ["--workload", str(tmp_path / "mine.csv"), "--nodes", "2"]):
        assert main(["training", "elastic", "--json", *arguments, "--policy", "fifo"]) == 0
        reports.append(ElasticReport.from_json(json.loads(capsys.readouterr().out)))
    assert reports[0].policies == reports[1].policies
    assert main(["training", "elastic", str(packed), "--restart", "99", "--seed", "4", "--json"]) == 0
    setting = ElasticReport.from_json(json.loads(capsys.readouterr().out)).setting
    assert (setting.restart_s, setting.seed, setting.nodes, setting.workload) == (99, 4, 2, "mine.csv")


def test_own_profiles_are_four_files(tmp_path):
    made = scenario("workload: mine.csv, profiles: {epochs: e.csv}")
    assert file_names(made) == ["mine.csv", "applications.csv", "placements.csv", "scalability.csv", "e.csv"]
    with pytest.raises(ScenarioError, match=r"training\.elastic\.profiles\.epochs: 'e\.csv' is not a file"):
        elastic_request(made, Sources(tmp_path))
