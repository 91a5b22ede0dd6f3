"""What the command line answers for language scenarios, and what a plan says is fewest."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import pairwise

import pandas as pd
import pytest
from sizes import sized

from nona.cli.main import main
from nona.core.errors import ScenarioError
from nona.language.draws import draw_requests
from nona.language.records import MeasuredWindow
from nona.language.report.tables import language_plan_finding
from nona.language.routers import NUMBERS, ROUTERS
from nona.language.run import simulate_once
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.plan import opened_option, plan_language
from nona.language.workflows.simulation import simulate_language
from nona.scenario.file import dump_scenario, parse_scenario
from nona.scenario.lookup import Sources

SCENARIO = """
version: 1
cluster: {servers: [{count: 1, gpu: h100, engine: {blocks: 900, budget: 1024, sequences: 64, watermark: 0.02,
  steps: {a: 6.678 ms, b: 19.5 us, g: 44 ns, c: 33.3 us, q: 1.31 ns}}}]}
workload: [{name: chat, llm: {model: llama-3.1-8b, trace: requests.csv}, slo: {ttft: 2 s, tpot: 60 ms}}]
schedulers: [round-robin]
"""
TIMES = ("ttft_s", "tpot_s", "itl_s", "e2e_s")


@pytest.fixture
def folder(tmp_path):
    rows = ["arrival_s,input_tokens,output_tokens"]
    rows += [f"{0.1 * k:.3f},{100 + 37 * k % 900},{1 + 13 * k % 200}" for k in range(1, 121)]
    (tmp_path / "requests.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def test_a_trace_is_answered_request_by_request(folder, capsys) -> None:
    assert main(["simulate", str(folder / "s.yaml"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    chat = answer["schedulers"]["round-robin"]["models"]["chat"]
    assert chat["jobs"] == {"arrived": 120, "completed": 120, "in_flight": 0}
    assert all(set(chat[t]) >= {"mean", "ci95", "p50", "p95", "p99"} for t in TIMES)
    assert {"goodput", "slo_hit_rate", "preemptions", "tokens_per_s", "kv_tokens"} <= set(chat)
    assert all(answer["checks"].values())
    study = prepare_language(parse_scenario(SCENARIO), Sources(folder))
    requests = draw_requests(study.system, 120, 0)
    run = simulate_once(study.system, requests, "round-robin", MeasuredWindow(120))
    ttft_s = run.times.first_s - run.times.arrival_s
    assert chat["ttft_s"]["mean"] == pytest.approx(ttft_s.mean(), abs=1e-12)
    assert chat["kv_tokens"]["most"] <= 900 * 16
    assert main(["simulate", str(folder / "s.yaml"), "--engine", "simpy"]) == 2
    assert "language models have one engine" in capsys.readouterr().err


def test_files_say_what_the_answer_says(folder, capsys) -> None:
    places = {name: folder / name for name in ("r.csv", "r.parquet", "t.json")}
    for records in ("r.csv", "r.parquet"):
        files = ["--records", str(places[records]), "--trace", str(places["t.json"]), "--force"]
        assert main(["simulate", str(folder / "s.yaml"), "--json", *files]) == 0
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    chat = answer["schedulers"]["round-robin"]["models"]["chat"]
    table = pd.read_csv(places["r.csv"])
    pd.testing.assert_frame_equal(table, pd.read_parquet(places["r.parquet"]), check_dtype=False)
    assert len(table) == chat["jobs"]["arrived"]
    for time in ("ttft_s", "tpot_s", "e2e_s"):
        assert table[time].mean() == pytest.approx(chat[time]["mean"], rel=1e-9)
    events = json.loads(places["t.json"].read_text("utf-8"))["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    kv = [e["args"]["KV tokens"] for e in events if e["ph"] == "C" and "KV tokens" in e["args"]]
    assert all(before["ts"] + before["dur"] <= after["ts"] + 1e-6 for before, after in pairwise(slices))
    assert 0 < max(kv) <= 900 * 16
    assert len(kv) == len(slices) > 10


def test_the_html_report_says_what_the_answer_says(folder, capsys) -> None:
    page = folder / "r.html"
    assert main(["simulate", str(folder / "s.yaml"), "--html", str(page)]) == 0
    answer = capsys.readouterr().out.partition("\n")[0]
    text = page.read_text("utf-8")
    assert answer in unescape(text)
    for part in ("round-robin", "Requests of chat", "h100 #1", "Little&#39;s law", "blocks: 900"):
        assert part in text


def test_a_plan_is_the_fewest_and_says_so() -> None:
    text = SCENARIO.replace("trace: requests.csv}", "tokens: {input: 500, output: 100}}, rate: 60/s")
    scenario = parse_scenario(
        text + "simulation: {jobs: 2000}\nplan: {offers: [h100=2, l40s=1], most: 30, replications: 16}\n"
    )
    plan = plan_language(scenario, Sources())
    best = plan.best
    assert best is not None
    assert best.servers is not None
    assert best.servers >= best.least
    assert best.price == min(o.price for o in plan.options if o.price is not None)
    assert best.without_one != "keeps"
    made = 60 * 100 * 3600 / 1e6
    assert best.per_million == pytest.approx(best.price / made)


@pytest.mark.parametrize("statistic", ["p95", "mean"])
@pytest.mark.parametrize(("time", "prefix"), [("ttft_s", "ttft_"), ("tpot_s", "tpot_"), ("e2e_s", "")])
def test_targets_are_kept_just_above_what_runs_have_and_missed_just_below(
    folder, time, prefix, statistic
) -> None:
    """The trace is replayed once, so that nothing but the statistic decides."""
    sources = Sources(in_memory={"requests.csv": (folder / "requests.csv").read_bytes()})
    study = prepare_language(parse_scenario(SCENARIO), sources)
    (row,) = simulate_language(study).report.schedulers["round-robin"].models.values()
    of = getattr(row, time)
    value = of.p95 if statistic == "p95" else of.mean
    verdicts = []
    for factor in (0.98, 1.02):
        asked = f"{{hit: not asked, {prefix}{statistic}: {factor * value:.9f}}}"
        text = f"{SCENARIO}plan: {{offers: [h100=2], most: 1, targets: {{chat: {asked}}}}}\n"
        plan = plan_language(parse_scenario(text), sources)
        (one,) = [o for o in plan.options if o.tp == 1]
        verdicts.append(one.verdict)
        begin = "95 %" if statistic == "p95" else "mean"
        assert [text.partition(":")[0] for text in plan.targets] == [f"{begin} of chat"]
    assert verdicts == ["misses", "keeps"]


MODELLED = """
version: 1
cluster: {servers: [{count: 2, gpu: l40s, engine: {}}]}
workload: [{name: chat, rate: RATE/s, slo: {ttft: 1 s, tpot: 80 ms}, llm: {model: llama-3.1-8b,
  tokens: {input: 500, output: 100}}}]
schedulers: [least-requests]
simulation: {jobs: 2000, replications: 3}
"""


def test_part_of_a_nights_requests_is_backlogged_where_as_many_all_the_time_are_an_overload() -> None:
    """A request every 14 ms, more than two engines can serve, until the trace ends: then none for a day."""
    rows = "".join(f"{0.014 * n:.3f},500,100\n" for n in range(20_000))
    sources = Sources(in_memory={"night.csv": f"arrived_s,input,output\n{rows}".encode()})
    replayed = "arrivals: {process: trace, trace: night.csv, scale_to_rate: false, length: 86400 s}, slo:"
    night = MODELLED.replace("slo:", replayed)
    states = []
    for text in (night, MODELLED):
        study = prepare_language(parse_scenario(text.replace("RATE", "72")), sources)
        router = simulate_language(study).report.schedulers["least-requests"]
        states.append((router.state, "% of the cycle of 86,400 s was run" in router.state_reason))
    assert states == [("backlogged", True), ("overloaded", False)]


def test_an_idle_engine_has_one_user_and_several_servers_keep_what_one_with_all_users_misses() -> None:
    text = MODELLED.replace("rate: RATE/s", "concurrency: 64").replace(
        "{ttft: 1 s, tpot: 80 ms}", "{ttft: 150 ms}"
    )
    asked = "plan: {offers: [{gpu: l40s, price: 1, gpus: 1}], most: 4, replications: 8, hit: 0.9}\n"
    plan = plan_language(parse_scenario(text.replace("jobs: 2000", "jobs: 400") + asked), Sources())
    option = next(o for o in plan.options if o.tp == 1)
    assert (option.verdict, option.note) == ("keeps", "")
    assert option.servers is not None
    assert option.servers > 1


def test_preemptions_are_of_a_run_and_a_trace_of_two_requests_has_no_formula(folder) -> None:
    few = SCENARIO.replace("requests.csv", "two.csv")
    sources = Sources(in_memory={"two.csv": b"arrived_s,input_tokens,output_tokens\n0,500,10\n1,500,10\n"})
    report = simulate_language(prepare_language(parse_scenario(few), sources)).report
    assert not report.schedulers["round-robin"].predicted
    tight = prepare_language(
        parse_scenario(
            MODELLED.replace("RATE", "40").replace("engine: {}", "engine: {blocks: 100, watermark: 0}")
        )
    )
    result = simulate_language(tight)
    (router,) = result.report.schedulers.values()
    runs = result.runs["least-requests"]
    counted = [int(r.times.preemptions[r.measured].sum()) for r in runs]
    assert sum(counted) > 0
    assert router.preemptions == pytest.approx(sum(counted) / len(runs))


def test_answers_carry_the_error_of_step_times() -> None:
    study = prepare_language(parse_scenario(MODELLED.replace("RATE", "8")))
    report = simulate_language(study).report
    (row,) = report.schedulers["least-requests"].models.values()
    assert row.off is not None
    assert row.off.error == study.facts[0].steps.error > 0.05
    for time in ("ttft_s", "tpot_s", "e2e_s"):
        faster, slower = getattr(row.off, time)
        # by the error at least, as others wait less, or more, too
        assert faster <= getattr(row, time).mean * (1 - 0.95 * row.off.error)
        assert slower >= getattr(row, time).mean * (1 + 0.95 * row.off.error)
    assert row.off.goodput[0] >= row.goodput >= row.off.goodput[1]
    over = simulate_language(prepare_language(parse_scenario(MODELLED.replace("RATE", "200")))).report
    (row,) = over.schedulers["least-requests"].models.values()
    assert row.off is not None
    assert row.off.ttft_s == (None, None)  # no steady state either way


def test_step_times_that_are_given_have_no_range(folder) -> None:
    study = prepare_language(parse_scenario(SCENARIO), Sources(folder))
    assert simulate_language(study).report.schedulers["round-robin"].models["chat"].off is None


@pytest.mark.verify
@pytest.mark.sized
def test_a_plan_chooses_among_settings_of_engines_and_says_what_steps_that_are_off_would_change() -> None:
    few = "plan: {replications: 16, offers: [l40s], most: 40"
    offers = few + ", engines: [{}, {scheduler: static}, {scheduler: static}]}"
    text = MODELLED.replace("RATE", sized("15", "40")).replace("jobs: 2000", f"jobs: {sized(1000, 2000)}")
    plan = plan_language(parse_scenario(text + offers), Sources())
    of = {o.settings: o for o in plan.options if o.tp == 1}
    assert list(of) == ["defaults", "scheduler static"] or list(of) == ["scheduler static", "defaults"]
    best = plan.best
    assert best is not None
    assert best.settings == "defaults"  # nobody joins a static batch before all have ended
    assert best.servers is not None
    assert best.servers_off is not None
    fewer, more = best.servers_off
    assert fewer is not None
    assert more is not None
    assert fewer <= best.servers <= more
    alone = plan_language(parse_scenario(text + few + "}"), Sources())
    assert alone.best is not None
    assert (alone.best.servers, alone.best.settings) == (best.servers, "")


APART = """
version: 1
cluster: {servers: [{gpu: h100, engine: {}}], network: {capacity: 100 Gbit/s}}
workload: [{name: chat, rate: 40/s, slo: {ttft: 500 ms, tpot: 12 ms}, llm: {model: llama-3.1-8b,
  tokens: {input: {mean: 1155, cv: 1}, output: {mean: 211, cv: 0.8}}}}]
schedulers: [least-kv]
simulation: {jobs: 3000, replications: 4}
plan: {offers: [{gpu: h100, most: 8}], engines: [{roles: apart}], replications: 16, SURVIVE}
"""


def _goodput(scenario) -> float:
    """Share of the requests in time, simulated as `nona simulate` does, with jobs of their own."""
    study = prepare_language(scenario.model_copy(update={"seed": 11}))
    goodput = simulate_language(study).report.schedulers["least-kv"].goodput.mean
    assert goodput is not None
    return goodput


def _with_counts(scenario, *counts):
    groups = zip(scenario.cluster.servers, counts, strict=True)
    servers = tuple(group.model_copy(update={"count": count}) for group, count in groups)
    return scenario.model_copy(update={"cluster": scenario.cluster.model_copy(update={"servers": servers})})


@pytest.mark.verify
@pytest.mark.parametrize("survive", ["survive: nothing", "survive: server"])
def test_a_plan_divides_servers_between_prompts_and_answers(survive) -> None:
    scenario = parse_scenario(APART.replace("SURVIVE", survive))
    plan = plan_language(scenario, Sources())
    best = next(o for o in plan.options if o.tp == 1)
    prompts, answers = best.by_role
    assert (best.settings, best.prefill, best.verdict) == ("roles apart", prompts, "keeps")
    assert best.servers == prompts + answers
    bought = opened_option(scenario, best)
    assert [group.engine.role for group in bought.cluster.servers if group.engine] == ["prefill", "decode"]
    assert [group.count for group in bought.cluster.servers] == [prompts, answers]
    assert parse_scenario(dump_scenario(bought)) == bought
    assert _goodput(bought) > 0.99
    if survive == "survive: server":
        less = [(prompts - 1, answers), (prompts, answers - 1)]
        assert min(_goodput(_with_counts(bought, *counts)) for counts in less) > 0.99
    else:  # one less is not told apart from the target, for bursts; a side of one misses it clearly
        assert max(_goodput(_with_counts(bought, *counts)) for counts in [(1, answers), (prompts, 1)]) < 0.9


@pytest.mark.verify
def test_engines_of_the_cluster_that_have_roles_are_planned_with_them() -> None:
    groups = "[{gpu: h100, engine: {role: decode, budget: 512}}, {gpu: h100, engine: {role: prefill}}]"
    text = APART.replace("[{gpu: h100, engine: {}}]", groups).replace(
        "engines: [{roles: apart}], replications: 16, SURVIVE", ""
    )
    scenario = parse_scenario(text.replace("rate: 40/s", "rate: 9/s").replace("3000", "600"))
    reports = []
    plan = plan_language(scenario, Sources(), lambda *report: reports.append(report))
    best = next(o for o in plan.options if o.tp == 1)
    shares = [share for _, _, share in reports]
    assert shares == sorted(shares)
    assert 0 < shares[1] < shares[-1] < 1  # it moves with every look
    assert reports[-1][0].best is not None
    assert best.prefill is not None
    engines = {
        g.engine.role: g.engine.budget for g in opened_option(scenario, best).cluster.servers if g.engine
    }
    assert engines == {"prefill": "auto", "decode": 512}


@pytest.mark.parametrize("roles", ["0", "-1", "{prefill: 1}", "prefill"])
def test_roles_that_are_not_known_are_named_with_those_that_are(roles) -> None:
    text = APART.replace("roles: apart", f"roles: {roles}").replace("SURVIVE", "")
    with pytest.raises(ScenarioError) as error:
        parse_scenario(text)
    (line,) = error.value.problems
    assert line.startswith("plan.engines[0].roles (Prefill and decode): ")
    assert "'together' or 'apart'" in line


def test_kv_of_roles_needs_a_link_that_serves_in_order() -> None:
    text = APART.replace("100 Gbit/s}", "100 Gbit/s, discipline: processor-sharing}").replace("SURVIVE", "")
    with pytest.raises(ScenarioError, match=r"cluster.network.discipline: .* set fifo"):
        plan_language(parse_scenario(text), Sources())


@pytest.mark.parametrize("key", ["tp: 2", "role: prefill", "blocks: 900", "model: gpt2"])
def test_a_plan_refuses_settings_that_it_chooses_itself(key) -> None:
    with pytest.raises(ScenarioError, match=rf"plan.engines\[0\]: {key.split(':')[0]} is not a setting"):
        parse_scenario(MODELLED.replace("RATE", "8") + f"plan: {{engines: [{{{key}}}]}}")


def test_every_router_is_declared_once() -> None:
    assert list(ROUTERS) == list(NUMBERS)
    assert all(r.summary and r.source and r.adaptation for r in ROUTERS.values())


def test_a_plan_without_a_verdict_says_that_options_are_undecided() -> None:
    few = APART.replace("16, SURVIVE", "4").replace("jobs: 3000", "jobs: 200").replace("40/s", "9/s")
    plan = plan_language(parse_scenario(few.replace("most: 8", "most: 2, gpus: 1")), Sources())
    (option,) = (o for o in plan.options if o.tp == 1)
    assert option.verdict == "open"
    assert re.fullmatch(
        r"undecided with 2: about [\d,]+ more requests, \d+ runs in all, would decide", option.note
    )
    assert "undecided: the results are too close" in language_plan_finding(plan).text
    missed = option.model_copy(update={"verdict": "misses"})
    none = language_plan_finding(plan.model_copy(update={"options": (missed,)}), 75.0)
    assert (none.bad, none.text) == (True, "Cancelled after 75 s. No option on offer keeps all targets.")
