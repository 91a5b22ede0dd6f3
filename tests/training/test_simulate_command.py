"""Training by command and in a scenario: reports, refusals, files and bundles, the study of elastic jobs."""

import statistics
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.elastic import ElasticStudySettings, elastic_study
from evidence.reports.elastic import mean_of, published_of
from nona.cluster.hardware.cluster import Network
from nona.core.errors import NonaError, ScenarioError
from nona.queries.simulation.run import Cancelled
from nona.scenario.file import dump_scenario, parse_scenario, scenario_hash
from nona.scenario.lookup import Sources, file_names, with_files_renamed
from nona.scenario.opening import open_scenario, pack_bundle
from nona.scenario.training import ElasticSpec
from nona.training.elastic.results import ElasticReport
from nona.training.elastic.system import CoreLink
from nona.training.elastic.workload import at_load
from nona.training.report.figures import jct_figure, rho_figure
from nona.training.report.findings import hours_text, jct_text
from nona.training.report.text import setting_text
from nona.training.results import TrainingOutcome, TrainingReport
from nona.training.workflows.elastic import elastic_system, measured_scenario, simulate_elastic_jobs
from nona.training.workflows.preparation import prepare_training
from nona.training.workflows.run import outcome_of, simulate_training_scenario
from tests.cli.calling import answer, refusal, text
from tests.training.training_sample import ABOUT

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


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(TEXT)
    return path


def test_the_report_is_the_same_in_one_process_and_two(plan, capsys):
    first, second = (
        TrainingReport.from_json(
            answer(capsys, "training", "simulate", plan, "--replications", 2, "--workers", n)
        )
        for n in (1, 2)
    )
    assert list(first.policies) == ["max-min-fairness", "fifo"]
    assert all(first.checks.values())
    for name, found in first.policies.items():
        other = second.policies[name]
        assert (found.jobs, found.jct_s, found.cost_usd) == (other.jobs, other.jct_s, other.cost_usd)
        assert found.jct_s.ci95[0] < found.jct_s.mean < found.jct_s.ci95[1]
        assert [job.name for job in found.jobs] == [str(i) for i in range(8)]


def test_policies_and_seeds_are_chosen(plan, capsys):
    chosen = ("simulate", plan, "--policy", "isolated", "--replications", 1, "--no-ideal")
    first = answer(capsys, "training", *chosen)["policies"]
    assert list(first) == ["isolated"]
    assert first != answer(capsys, "training", *chosen, "--seed", 7)["policies"]
    assert "training: is missing" in refusal(capsys, "training", "simulate", "slides_example")


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
    records = result.runs["fifo"][0].records
    stays = sum((s.end_s - s.start_s) * len(s.gpus) for s in trace.stays)
    assert stays == pytest.approx(records.booked_s.sum())
    assert {r.job for r in trace.received} == set(range(8))


def test_figures_are_of_the_measured_jobs_as_the_table_is():
    text = TEXT.replace("slos: true", "measured: [2, 5]")
    result = simulate_training_scenario(parse_scenario(text), replications=1)
    policies = outcome_of(result, ABOUT).report.policies
    jct, rho = jct_figure(policies), rho_figure(policies)
    for number, (name, found) in enumerate(policies.items()):
        assert [job.name for job in found.measured] == ["2", "3", "4", "5"]
        assert max(rho.data[number].x) == pytest.approx(found.rho.worst), name
        jcts = sorted(job.jct_s for job in found.measured)
        shown = dict(zip(jct.data[number].y, jct.data[number].x, strict=True))
        assert (3600 * shown[0], 3600 * shown[100]) == pytest.approx((jcts[0], jcts[-1])), name
        assert 3600 * shown[95] == pytest.approx(found.jct_s.p95), name


def test_the_html_report_says_what_the_run_says(plan, tmp_path, capsys):
    file = tmp_path / "report.html"
    asked = ("simulate", plan, "--policy", "fifo", "--replications", 1, "--html", file)
    report = TrainingReport.from_json(answer(capsys, "training", *asked))
    page = file.read_text()
    assert hours_text(report.policies["fifo"].jct_s.mean) in page
    assert "slos: true" in page
    assert "Options of the command came before" in page  # fifo alone
    assert "nona training simulate scenario.yaml --html report.html" in page


def test_a_report_on_elastic_jobs_needs_a_scenario(tmp_path, capsys):
    file, path = tmp_path / "report.html", tmp_path / "elastic.yaml"
    assert "name one" in refusal(capsys, "training", "elastic", "--workload", 1, "--html", file)
    path.write_text(ELASTIC)
    report = _report(capsys, path, "--html", file)
    page = file.read_text()
    assert jct_text(report.policies["fifo"].jct_s) in page
    assert setting_text(report.setting) in page
    assert "Options of the command" not in page
    _report(capsys, path, "--background", 0, "--html", file, "--force")
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
    return ElasticReport.from_json(answer(capsys, "training", "elastic", *arguments))


@pytest.mark.verify
def test_reports_are_equal_in_one_process_and_two(workload, capsys):
    one, two = (_report(capsys, "--workload", workload, *SMALL, *QUICK, "--workers", n) for n in "12")
    assert one.policies == two.policies
    assert {name: p.replications for name, p in one.policies.items()} == {"pollux": 2, "fifo": 1}
    assert all(one.checks.values())
    assert one.failed_checks == ()
    jcts = [job.jct_s for job in one.policies["fifo"].jobs]
    assert one.policies["fifo"].jct_s.mean == pytest.approx(statistics.mean(jcts))
    assert one.policies["pollux"].published_s is None


def test_a_replay_stands_beside_the_authors_figure(capsys):
    chosen = ("--workload", "3", "--policy", "tiresias", "--policy", "sjf")
    shown = text(capsys, "training", "elastic", *chosen)
    assert "64.6 min           +0.0 %" in shown
    assert "5 of 5 self-checks held" in shown
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
    given = ("--profiles", tmp_path, "--policy", "fifo")
    shipped = _report(capsys, "--workload", own, *given)
    own.write_text(own.read_text().replace("mine", "bert"))
    same = _report(capsys, "--workload", own, "--policy", "fifo")
    assert shipped.policies["fifo"].jct_s == same.policies["fifo"].jct_s
    assert "your own profiles need a workload of your own" in refusal(capsys, "training", "elastic", *given)


OWN = ("--policy", "fifo", "--workload")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((*OWN, "jobs.csv", "--capacity", "1 Gbit/s"), "there is none; add --background 0.5"),
        ((*OWN, "jobs.csv", "--load", "2"), "load 2 needs a workload that ships"),
        ((*OWN, "late.csv"), "job 'a' arrives after 1e+09 s, but a run ends after 200000 ticks of 60 s"),
        ((*OWN, "wide.csv", "--gpus", "8"), "placement 6 were not measured, whose nodes gave 4 at most"),
        (("--workload", "9"), "Workload '9': No such file or directory; check the path, or choose from 1, 2"),
        (("--policy", "gavell"), "'gavell'"),
        (("--nodes", "2"), "asks for 12 GPUs of 8"),
        (("--interference", "1"), "must lie between 0 and 1"),
        (("--load", "0"), "training.elastic.load"),
        (("--restart", "100000"), "100,000 must be at most 3,600 s"),
        (("--background", "1"), "background.network.utilization"),
        (("--policy", "pollux", "--set", "pollux.avoid_interference=0.3"), "0.3 must be true or false"),
        (("--profiles", "nowhere"), "No such file or directory; check the path"),
    ],
)
def test_what_the_command_cannot_run_is_refused(arguments, reason, workload, capsys, monkeypatch):
    monkeypatch.chdir(workload.parent)
    head = JOBS.splitlines()[0]
    for name, row in (("late", "a,1e9,ncf,1,32768"), ("wide", "a,0,cifar10,6,2048")):
        (workload.parent / f"{name}.csv").write_text(f"{head}\n{row}\n")
    assert reason in refusal(capsys, "training", "elastic", *arguments)


def test_options_of_a_link_change_that_of_a_scenario(capsys):
    given = ("--policy", "fifo", "--capacity", "1 Gbit/s", "--background", 0.25, "who_sees_the_link")
    report = _report(capsys, *given)
    link = report.setting.link
    assert (link.capacity, link.background, link.latency_s, link.discipline) == (1.25e8, 0.25, 2e-5, "fifo")
    assert 0 < report.policies["fifo"].link_share < 1


def test_progress_names_every_run_and_may_stop_all():
    heard = set()

    def hear(progress):
        heard.add(id(progress))
        raise Cancelled

    with pytest.raises(Cancelled):
        simulate_elastic_jobs(measured_scenario(policies=["pollux"]), on_progress=hear)
    assert len(heard) == 1


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


TWO = "{count: 2, gpu: t4, gpus: 4}"


def scenario(elastic, servers=TWO):
    return parse_scenario(f"{{cluster: {{servers: [{servers}]}}, training: {{elastic: {{{elastic}}}}}}}")


@pytest.mark.parametrize(
    ("link", "expected"),
    [("true", CoreLink(Network(5e9 / 8, 30e-6, "fifo"), 0.25, 2e6, 3.0)), ("false", None)],
)
def test_the_link_is_the_clusters_with_its_background(link, expected):
    cluster = "{servers: [{count: 16, gpu: t4, gpus: 4}], network: {capacity: 5 Gbit/s, latency: 30 us}}"
    others = "{network: {utilization: 0.25, mean_size: 2 MB, scv: 3}}"
    part = f"{{elastic: {{workload: 1, link: {link}}}}}"
    text = f"{{cluster: {cluster}, background: {others}, training: {part}}}"
    assert elastic_system(parse_scenario(text)).link == expected


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
        f"{text} interference: {interference!r}, policies: [fifo, {{tiresias: {{starvation: 9}}}}]",
        "{count: 16, gpu: t4, gpus: 4}",
    )
    again = parse_scenario(dump_scenario(made))
    assert again == made
    assert scenario_hash(again) == scenario_hash(made)
    system = elastic_system(again)
    assert (len(system.jobs), system.tick_s) == (len(at_load(workload, load)), tick)
    assert (system.restart_s, system.interference) == (restart, interference)


def test_fingerprints_follow_what_counts_and_old_files_keep_theirs():
    made = scenario("workload: 2")
    assert scenario_hash(made) == scenario_hash(scenario("workload: '2', load: 1.0, tick: 1 min"))
    assert scenario_hash(made) != scenario_hash(scenario("workload: 2, load: 0.5"))
    old = parse_scenario("{cluster: {servers: [{}]}, training: {generate: {jobs: 9}}}")
    assert "elastic" not in dump_scenario(old)


@pytest.mark.parametrize(
    ("elastic", "servers", "reason"),
    [
        ("workload: 7", TWO, "workload 7 does not ship; choose from 1, 2, 3, 4"),
        ("tick: 1.5 s", TWO, "tick 1.5 s must be a whole number of seconds; round it"),
        ("workload: a.csv, load: 2", TWO, "load 2 needs a workload that ships"),
        ("profiles: {}", TWO, "your own profiles need a workload of your own"),
        ("policies: [fifo, fifo]", TWO, "policy 'fifo' is there twice; remove one"),
        ("interference: 1", TWO, "interference"),
        ("restart: 2 h", TWO, "training.elastic.restart"),
        ("policies: []", TWO, "must have at least 1 entry"),
        ("speed: 3", TWO, "training.elastic.speed"),
        ("", "{count: 2}, {count: 3}", "there are 2 groups"),
        ("", "{gpu: a100-40gb, mig: '3g.20gb, 3g.20gb'}", "divides a GPU"),
        ("", "{gpus: 16}", "gpus: 16 is more than the 9"),
        ("policies: [nobody]", "{count: 16, gpus: 4}", "'nobody'"),
        ("workload: nowhere.csv", "{count: 2}", "nowhere.csv"),
    ],
)
def test_what_cannot_be_meant_or_run_is_refused_in_one_line(elastic, servers, reason):
    with pytest.raises(NonaError) as caught:
        simulate_elastic_jobs(scenario(elastic, servers))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_source_of_jobs_and_the_right_command():
    with pytest.raises(ScenarioError, match="exactly one of the four"):
        parse_scenario("{cluster: {servers: [{}]}, training: {elastic: {}, generate: {}}}")
    with pytest.raises(ScenarioError, match="nona training elastic"):
        prepare_training(scenario("workload: 1"))
    with pytest.raises(ScenarioError, match=r"training\.elastic: is missing"):
        elastic_system(parse_scenario("{cluster: {servers: [{}]}, training: {generate: {}}}"))
    assert ElasticSpec().policies[0].name == "pollux"


def test_files_travel_in_a_bundle_and_the_command_runs_it(tmp_path, capsys):
    (tmp_path / "mine.csv").write_text(JOBS)
    (tmp_path / "plan.yaml").write_text(dump_scenario(scenario("workload: mine.csv, policies: [fifo]")))
    found, sources = open_scenario(tmp_path / "plan.yaml")
    assert file_names(found) == ["mine.csv"]
    assert file_names(with_files_renamed(found, lambda name: f"x-{name}")) == ["x-mine.csv"]
    packed = tmp_path / "plan.nona.zip"
    packed.write_bytes(pack_bundle(found, sources))
    own = ("--workload", tmp_path / "mine.csv", "--nodes", 2)
    one, other = (_report(capsys, *of, "--policy", "fifo").policies for of in ((packed,), own))
    assert one == other
    setting = _report(capsys, packed, "--restart", 99, "--seed", 4).setting
    assert (setting.restart_s, setting.seed, setting.nodes, setting.workload) == (99, 4, 2, "mine.csv")


def test_own_profiles_are_four_files(tmp_path):
    made = scenario("workload: mine.csv, profiles: {epochs: e.csv}")
    assert file_names(made) == ["mine.csv", "applications.csv", "placements.csv", "scalability.csv", "e.csv"]
    with pytest.raises(ScenarioError, match=r"training\.elastic\.profiles\.epochs: 'e\.csv' is not a file"):
        elastic_system(made, Sources(tmp_path))
