"""``nona training simulate``: the JSON that programs read, processes, refusals."""

import json

import pytest

from nona.cli.main import main
from nona.report.training.elastic import setting_text
from nona.report.training.figures import jct_cdf_figure, rho_figure
from nona.report.training.findings import hours_text, jct_text
from nona.results.elastic import ElasticReport
from nona.results.training import TrainingOutcome, TrainingReport
from nona.scenario.file import parse_scenario
from nona.study.training.run import outcome_of, simulate_training_scenario
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
def scenario(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(TEXT)
    return path


def test_the_report_is_the_same_in_one_process_and_two(scenario, capsys):
    first = TrainingReport.from_json(_json(capsys, scenario, "--replications", "2"))
    second = TrainingReport.from_json(_json(capsys, scenario, "--replications", "2", "--workers", "2"))
    assert list(first.policies) == ["max-min-fairness", "fifo"]
    assert all(first.checks.values())
    for name, found in first.policies.items():
        other = second.policies[name]
        assert (found.jobs, found.jct_s, found.cost_usd) == (other.jobs, other.jct_s, other.cost_usd)
        assert found.jct_s.ci95[0] < found.jct_s.mean < found.jct_s.ci95[1]
        assert [job.name for job in found.jobs] == [str(i) for i in range(8)]


def test_policies_and_seeds_are_chosen(scenario, capsys):
    chosen = ("--policy", "isolated", "--replications", "1", "--no-ideal")
    first = _json(capsys, scenario, *chosen)
    assert list(first["policies"]) == ["isolated"]
    assert first["policies"] != _json(capsys, scenario, *chosen, "--seed", "7")["policies"]


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


def test_the_html_report_says_what_the_run_says(scenario, tmp_path, capsys):
    file = tmp_path / "report.html"
    asked = ("--policy", "fifo", "--replications", "1", "--html", str(file))
    report = TrainingReport.from_json(_json(capsys, scenario, *asked))
    page = file.read_text()
    mean = report.policies["fifo"].jct_s.mean
    assert mean is not None
    assert hours_text(mean) in page
    assert "slos: true" in page
    assert "Options of the command came before" in page  # fifo alone
    assert "nona training simulate scenario.yaml --html report.html" in page
    assert main(["training", "simulate", str(scenario), "--html", str(file)]) == 2
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
