"""Results of serverless runs: written and read, exported, and over loads."""

import json
from contextlib import suppress
from functools import cache
from itertools import pairwise, product
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from sizes import examples

from evidence.policy_results import ServerlessStudy
from evidence.serverless import StudySettings, serverless_study
from nona.app.jobs.kinds import KINDS
from nona.app.tasks.context import JobContext
from nona.app.tasks.serverless import compare_ways, find_nodes, run_over, run_serverless
from nona.core.errors import ScenarioError
from nona.queries.sweeps.numbers import LOAD, number_named, numbers_of
from nona.queries.sweeps.report import parse_values
from nona.queries.workflows.exports import TRACE
from nona.queries.workflows.shipped import shipped_file
from nona.scenario.file import load_scenario, scenario_to_mapping
from nona.scenario.sample_files import scenario_path
from nona.serverless.chart_data import ServerlessOutcome
from nona.serverless.metrics import CallMeasures, RunMeasures
from nona.serverless.report.exports import call_table, serverless_trace
from nona.serverless.report.figures import GOODPUT, over_figure
from nona.serverless.report.html import serverless_html
from nona.serverless.report.over import knee_text, knees, over_finding, over_points
from nona.serverless.results import (
    NodesReport,
    NodesRequest,
    OverReport,
    OverRequest,
    PolicyOver,
    ServerlessReport,
    WaysReport,
)
from nona.serverless.workflows.knees import (
    LEAST_LOAD,
    MOST_LOAD,
    SWEPT,
    PolicySearch,
    knees_of,
    over_number,
    policies_over,
)
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.run import (
    CALLS_CSV,
    CALLS_PARQUET,
    calls_per_s,
    serverless_outcome,
    simulate_serverless_scenario,
    write_serverless,
)
from tests.cli.calling import refusal, text

STRICT = load_scenario(scenario_path("strict_light"))
SMALL = {"jobs": 40, "replications": 2}
NODES = NodesRequest(target=0.5, policies=("fixed",), calls=20, most=2).to_json()
OVER = {"number": "load", "values": [1.0, 8.0], "schedulers": ["fixed"], "target": 0.5, "jobs": 20}
TASKS = {
    "serverless": (run_serverless, ServerlessOutcome, {}),
    "serverless-sharing": (compare_ways, WaysReport, {"policy": "esg", "calls": 20, "replications": 1}),
    "serverless-nodes": (find_nodes, NodesReport, NODES),
    "serverless-over": (run_over, OverReport, OverRequest.from_json(OVER).to_json()),
}


@cache
def sent(kind):
    return result_and_lines(kind)[0]


def result_and_lines(kind, **changes):
    """The result of a job, and the lines before it."""
    data, lines = scenario_to_mapping(STRICT), []
    data["serverless"]["policies"] = ["esg", "orion"]
    data["schedulers"] = ["local"]
    run, _, options = TASKS[kind]
    desk = JobContext(emit=lambda line: lines.append(json.dumps(line, allow_nan=False)))
    spec = {"scenario": data | {"simulation": SMALL}, **options, **changes}
    with TemporaryDirectory() as folder:
        outcome = run({**spec, "folder": folder}, desk)
    return json.loads(json.dumps(outcome.to_json(), allow_nan=False)), [json.loads(line) for line in lines]


@pytest.mark.parametrize("kind", TASKS)
def test_a_job_s_result_is_read_as_its_type_and_written_as_it_came(kind):
    made = KINDS.find(kind).read(sent(kind))
    assert type(made) is TASKS[kind][1]
    assert made.to_json() == sent(kind)
    assert type(made).from_json(made.to_json()) == made
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        type(made).from_json({**sent(kind), "unheard_of": 1})


def test_a_search_for_nodes_that_is_cancelled_leaves_the_policies_that_it_answered():
    result, lines = result_and_lines("serverless-nodes", policies=["fixed", "infless"])
    *_, line = [line for line in lines if line.get("keeps")]
    known = KINDS.find("serverless-nodes").read({**line["live"], "ended_early_s": 2.0})
    assert known.policies == {"fixed": KINDS.find("serverless-nodes").read(result).policies["fixed"]}
    assert known.ended_early_s == 2.0
    shares = [line["fraction"] for line in lines]
    assert shares == sorted(shares)


def test_without_an_oracle_the_report_says_so_in_json():
    report = next(iter(KINDS.find("serverless-sharing").read(sent("serverless-sharing")).reports.values()))
    assert report.oracle is None
    assert report.to_json()["oracle"] == {"cost_per_call_usd": None, "how": "not computed"}
    assert ServerlessReport.from_json(report.to_json()) == report


@pytest.mark.verify
def test_a_small_study_is_read_back_equal():
    runs = {"calls": 30, "replications": 2, "small": 30, "few": 1, "loads": (1.0,)}
    made = serverless_study(StudySettings(**runs, settings=("strict_light",), cutoffs_s=(0.01, 0.1)))
    assert ServerlessStudy.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False))) == made
    assert set(made.to_json()) == set(shipped_file("serverless"))
    assert [p.cutoff_s for p in made.cutoff.points] == [0.01, 0.1]
    assert list(made.settings) == ["strict_light"]


@pytest.fixture(scope="module")
def result():
    return simulate_serverless_scenario(STRICT, policies=("fixed", "fast-gshare"), calls=80, replications=2)


def test_the_table_of_calls_adds_up_to_the_report(result, tmp_path):
    table = call_table(result.records, result.system)
    for name, summary in result.summaries.items():
        own = table[table["policy"] == name]
        assert len(own) == summary.calls.arrived == 160
        assert own["slo_kept"].mean() == pytest.approx(summary.slo_hit_rate.mean)
        assert own["cost_usd"].mean() == pytest.approx(summary.cost_per_call_usd.mean)
        assert ((own["latency_s"] <= own["slo_s"]) == own["slo_kept"]).all()
    write_serverless(tmp_path, result)
    assert pd.read_parquet(tmp_path / CALLS_PARQUET).equals(table)
    assert len(pd.read_csv(tmp_path / CALLS_CSV)) == len(table)
    assert json.loads((tmp_path / TRACE).read_text())["traceEvents"]


def test_batches_on_one_thread_follow_one_another_and_arrows_go_forwards(result):
    trace = serverless_trace(result.records, result.system)
    lanes = {}
    for e in trace.events:
        if e.ph == "X" and e.cat == "batch":
            lanes.setdefault((e.pid, e.tid), []).append((e.ts, e.ts + e.dur))
    assert lanes
    for spans in lanes.values():
        spans.sort()
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(spans))
    starts = {e.id: e.ts for e in trace.events if e.ph == "s"}
    ends = {e.id: e.ts for e in trace.events if e.ph == "f"}
    assert starts.keys() == ends.keys()
    assert starts
    assert all(starts[k] <= ends[k] for k in starts)
    few = serverless_trace(result.records, result.system, most=200)
    assert len(few.events) <= 200
    assert few.about.jobs["fixed"].shown < trace.about.jobs["fixed"].shown


def test_the_html_report_says_what_the_run_says(result):
    outcome = serverless_outcome(STRICT, result, "2026-01-01")
    page = serverless_html(outcome)
    assert page == serverless_html(outcome)
    for name in result.summaries:
        assert name in page
    assert outcome.about.hash in page
    assert "recollected" in page  # where the defaults come from


def test_files_are_written_by_the_command(tmp_path, capsys):
    ends = {"--html": "html", "--trace": "json", "--records": "parquet"}
    files = {option: tmp_path / f"run.{end}" for option, end in ends.items()}
    asked = ["serverless", "strict_light", "--policy", "fixed", "--calls", "40", "--replications", "1"]
    text(capsys, *asked, *(word for both in files.items() for word in both))
    assert all(path.stat().st_size for path in files.values())
    assert len(pd.read_parquet(files["--records"])) == 40
    assert "add --over load" in refusal(capsys, *asked, "--values", "1,2")


CALLS = 2000


def seen(ratio, replications, state="stable"):
    """Runs in which every call takes ``ratio`` of its SLO."""
    known = {"calls": CALLS, "completed": CALLS, "hits": CALLS if ratio <= 1 else 0, "cost": 1.0}
    none = dict.fromkeys(CallMeasures.__dataclass_fields__, 0)
    calls = CallMeasures(**{**none, **known, "latency_s": (ratio,) * 7})
    rest = dict.fromkeys(RunMeasures.__dataclass_fields__, 0.0)
    rest |= {"all": calls, "applications": (calls,), "search_s": (0.0,) * 7, "state": state}
    run = RunMeasures(**{**rest, "ratios": np.full(CALLS, ratio), "window_s": 10.0, "warmup": 100})
    return (run,) * replications


def searched(asked, keeps):
    """Drive one policy's searches with runs that keep the target exactly where ``keeps`` says."""
    of, looked = PolicySearch(asked, over_number(STRICT, asked.number), "fixed"), []
    for search in (*map(of.point, asked.values), of.knees()):
        with suppress(StopIteration):
            look = next(search)
            while True:
                looked.append(look.value)
                look = search.send(seen(0.5 if keeps(look.value) else 2.0, look.replications))
    return of.points, looked


@given(st.floats(LEAST_LOAD, MOST_LOAD - 1e-6))
@examples(60)
def test_the_knee_of_load_is_bracketed_wherever_it_is(edge):
    asked = OverRequest(number=LOAD, values=(0.5, 1.0, 4.0), schedulers=("fixed",), extend=True)
    found, looked = searched(asked, lambda load: load <= edge)
    (knee,) = knees_of(found)
    assert knee.kept <= edge < knee.missed
    near = max(asked.close * knee.missed, 0.002 * (asked.values[-1] - asked.values[0]))
    assert knee.missed - knee.kept <= near * (1 + 1e-9)
    assert len(looked) == len(set(looked)) <= 20


@given(st.integers(1, 32), st.booleans())
@examples(40)
def test_a_knee_of_a_whole_number_is_exact_in_either_direction(edge, more_helps):
    number = "cluster.servers[0].vcpus"
    asked = OverRequest(number=number, values=(1.0, 8.0, 33.0), schedulers=("fixed",), close=0.0)
    found, _ = searched(asked, lambda vcpus: (vcpus > edge) == more_helps)
    (knee,) = knees_of(found)
    wanted = (edge + 1, edge) if more_helps else (edge, edge + 1)
    assert (knee.kept, knee.missed) == wanted


def test_a_point_is_what_a_plain_run_measures_and_words_follow():
    number, names = number_named(STRICT, LOAD), ("fixed", "fast-gshare")
    few = {"jobs": 60, "replications": 2, "most": 2}
    asked = OverRequest(number=LOAD, values=(1.0, 40.0), schedulers=names, **few)
    heard = []
    report = policies_over(STRICT, asked, on_progress=lambda share, text, report: heard.append(share))
    assert heard == sorted(heard)
    assert heard[-1] < 1
    assert len(set(heard)) > 2 * sum(len(p.points) for p in report.policies.values())  # also within runs
    assert OverReport.from_json(report.to_json()) == report
    how = {"policies": ("fast-gshare",), "calls": 60, "replications": 2, "oracle": False}
    plain = simulate_serverless_scenario(number.with_value(STRICT, 40.0), **how)
    point = next(p for p in report.policies["fast-gshare"].points if p.value == 40.0)
    summary = plain.summaries["fast-gshare"]
    assert point.slo_hit_rate.mean == summary.slo_hit_rate.mean
    assert point.cost_per_call_usd.mean == summary.cost_per_call_usd.mean
    assert point.state == summary.state
    windows = [r.sums.end_s - r.sums.start_s for r in plain.records["fast-gshare"]]
    kept = np.mean([60 * summary.slo_hit_rate.mean / w for w in windows])
    assert point.goodput_per_s.mean == pytest.approx(kept, rel=0.02)
    for name, policy in report.policies.items():
        assert name in over_finding(report)
        assert len(policy.points) == len([r for r in over_points(report).texts() if r["policy"] == name])
    assert len(over_points(report)) == sum(len(p.points) for p in report.policies.values())
    assert [r["policy"] for r in knees(report).texts()] == list(report.policies)
    words = {v: said_of(report, v) for v in product(("keeps", "open", "misses"), repeat=2)}
    assert words["misses", "misses"] == "at no value from × 1 to × 40"
    assert words["open", "misses"] == "at no value from × 1 to × 40 (undecided at × 1)"
    assert words["open", "open"] == "undecided from × 1 to × 40"
    assert words["keeps", "misses"] == "up to × 1 (missed at × 40)"
    assert words["keeps", "open"] == "up to × 1 (undecided beyond)"
    assert len(set(words.values())) > 5
    assert [trace.name for trace in over_figure(report, GOODPUT).data] == list(report.policies)


def said_of(report, verdicts):
    """What is said of a policy whose points have these verdicts."""
    points = report.policies["fixed"].points[: len(verdicts)]
    judged = {p.value: p.model_copy(update={"verdict": v}) for p, v in zip(points, verdicts, strict=True)}
    policy = PolicyOver(points=tuple(judged.values()), knees=knees_of(judged))
    return knee_text(report, policy, policy.knees[0])


@given(st.floats(0.1, 50.0))
@examples(20)
def test_load_multiplies_the_calls_per_second(factor):
    loaded = number_named(STRICT, LOAD).with_value(STRICT, factor)
    before, after = (calls_per_s(prepare_serverless(s)) for s in (STRICT, loaded))
    assert after == pytest.approx(factor * before, rel=1e-9)


def test_numbers_without_effect_are_refused_and_all_others_can_be_set():
    scenario = STRICT
    keys = {n.key for n in numbers_of(scenario)}
    for key in ("background.compute.utilization", "cluster.network.capacity", "workload[0].slo"):
        with pytest.raises(ScenarioError, match=r"does not depend|slo_factor"):
            over_number(scenario, key)
    more = ("serverless.transfer.remote_bandwidth", "serverless.containers.warm", "serverless.interval.most")
    for key in (*more, *(s.key for s in SWEPT), *(k for k in keys if k.endswith("count"))):
        number = over_number(scenario, key)
        assert number.with_value(scenario, number.value_in(scenario)) == scenario, key
    for swept in SWEPT:
        number = over_number(scenario, swept.key)
        for value in parse_values(swept.usual, swept.unit):
            assert number.with_value(scenario, value) is not None
