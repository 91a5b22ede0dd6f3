"""Language models on the pages: rows and engines, files of requests, and no page breaks without queries."""

import pytest
from app_driver import edit, finish, go, metrics, named, open_demo, put, said, state_of

from evidence.measured_language import beside_formula, beside_vllm, measured_finding
from nona.app.layout.job_panel import start
from nona.app.pages.scenario.language import CLOSED, OPEN, prepared_language
from nona.core.tables import share_text
from nona.language.formula import predict
from nona.language.gpu import requests_that_fit, share_for
from nona.language.report.memory import shown_share
from nona.language.report.tables import pause_text
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.outcome import STEPS, TRACED, steps_shown
from nona.language.workflows.simulation import simulate_language
from nona.scenario.sample_files import shipped_scenario


@pytest.mark.verify
def test_no_page_breaks_where_all_rows_are_of_language_models(open_page):
    at = open_demo(open_page, "chat_routers")
    for page in ("scenario", "models", "placement", "simulation", "plan", "serverless", "training", "home"):
        go(at, page)
        assert not at.error, page
        if page == "placement":
            assert "graphs of tasks" in said(at.markdown)
    system = prepare_language(state_of(at).scenario).system
    loads = [predict(system, k).load for k in range(len(system.engines))]
    shown = metrics(go(at, "scenario"))
    assert shown["Engine load, split evenly"] == share_text(max(loads), 1)
    # what all take where each gets requests in proportion to its speed
    assert shown["Engine load, best routing"] == share_text(len(loads) / sum(1 / load for load in loads), 1)


def test_rows_of_requests_are_added_edited_duplicated_removed_and_brought_back(open_page):
    at = open_page("scenario")
    state = state_of(at)
    before = state.scenario
    at.button(key="add-language-row").click().run()
    assert [g.engine is not None for g in state.scenario.cluster.servers] == [False, True]
    assert len(prepared_language(state).system.engines) == 1
    named(at.text_input, "Time per output token").set_value("20 ms").run()
    named(at.text_input, "Output tokens").set_value("0").run()
    assert said(at.error).startswith("Output tokens: ")
    named(at.text_input, "Output tokens").set_value("300").run()
    row = state.scenario.language[0]
    assert (row.slo.tpot, row.llm.tokens.output.mean) == (0.02, 300)
    edit(at, ("language", 0, "rate"), "5/s")
    for way, arriving in {CLOSED: (None, 16), OPEN: (5, None), "after resnet18": (None, None)}.items():
        at.selectbox(key=f"arrivals-{state.revision}-0").set_value(way).run()
        assert (state.scenario.language[0].rate, state.scenario.language[0].concurrency) == arriving
    assert not at.error
    at.selectbox(key=f"arrivals-{state.revision}-0").set_value(CLOSED).run()
    assert metrics(at)["Load of the engines"] == "by simulation"
    at.button(key=f"duplicate-language-{state.revision}-0").click().run()
    assert state.scenario.language_labels == ("llama-3.1-8b", "llama-3.1-8b #2")
    for _ in range(2):
        at.button(key=f"remove-language-{state.revision}-0").click().run()
    assert not state.scenario.language
    while state.scenario.language != before.language or state.scenario != before:
        state.undo()
    assert state.scenario == before


def test_a_row_that_requests_follow_stays_and_one_of_the_same_name_takes_its_followers_along(open_page):
    at = open_page("scenario")
    state = state_of(at)
    assert state.edit(("workload",), [{"model": "resnet18", "rate": rate} for rate in (1, 2, 3)])
    at.run().button(key="add-language-row").click().run()
    at.selectbox(key=f"arrivals-{state.revision}-0").set_value("after resnet18 #3").run()
    at.button(key=f"remove-row-{state.revision}-1").click().run()
    assert (state.scenario.labels, state.scenario.language[0].after) == (
        ("resnet18", "resnet18 #2"),
        "resnet18 #2",
    )
    assert [row.rate for row in state.scenario.workload] == [1, 3]
    at.button(key=f"remove-row-{state.revision}-1").click().run()
    assert len(state.scenario.workload) == 2
    assert "Requests of llama-3.1-8b follow the queries of resnet18 #2" in said(at.warning).replace("\\", "")


def test_queries_and_requests_are_on_the_pages_of_one_scenario(open_page):
    at = open_page("scenario")
    at.button(key="add-language-row").click().run()
    for page in ("simulation", "placement", "models", "plan", "scenario"):
        go(at, page)
        assert not at.error, page
        assert not at.exception, page
    assert {"Load, best placement", "Engine load, best routing"} <= set(metrics(at))


def test_a_new_scenario_for_a_language_model_has_its_engine_and_no_servers_that_nothing_uses(open_page):
    at = open_page("scenario")
    state = state_of(at)
    put(at, "file-menu", True).button(key="new-scenario").click().run()
    go(at, "scenario").button(key="add-language-row").click().run()
    assert [group.engine is not None for group in state.scenario.cluster.servers] == [True]
    state.undo()
    edit(at, ("cluster", "servers", 0, "count"), 3)  # now they are somebody's own
    at.button(key="add-language-row").click().run()
    assert [group.engine is not None for group in state.scenario.cluster.servers] == [False, True]


def test_a_second_model_gets_an_engine_of_its_own(open_page):
    at = open_page("scenario")
    state = state_of(at)
    at.button(key="add-language-row").click().run()
    named(at.selectbox, "Another language model").set_value("llama-3.2-1b").run()
    at.button(key="add-language-row").click().run()
    engines = [g.engine.model for g in state.scenario.cluster.servers if g.engine]
    assert engines == ["llama-3.1-8b", "llama-3.2-1b"]
    assert not at.error


def test_an_engine_says_what_fits_and_what_does_not(open_page):
    at = open_demo(open_page, "prefill_stalls_decode")
    go(at, "scenario")
    (engine,) = prepared_language(state_of(at)).system.engines
    tokens = 12_300
    assert f"{engine.blocks // -(-tokens // 16)} requests of documents (12,300 tokens" in said(at.markdown)
    assert "Step times calibrated" in said(at.caption)
    edit(at, ("cluster", "servers", 0, "gpu"), "t4")
    assert "leaves no memory for KV" in said(at.error)
    edit(at, ("cluster", "servers", 0), {"gpu": "l4", "engine": {"blocks": 500}})
    assert "modelled" in said(at.warning)
    assert "they are refused" in said(at.warning)


@pytest.mark.parametrize(
    ("name", "content", "kept"),
    [
        ("mine.csv", b"arrival_s,input_tokens,output_tokens\n0,100,9\n1,200,5\n", "mine.tokens.csv"),
        ("bad.csv", b"a,b\n1,2\n", ""),
    ],
)
def test_a_trace_of_requests_is_uploaded_and_replayed_or_refused(open_page, name, content, kept):
    at = open_demo(open_page, "prefill_stalls_decode")
    state = state_of(go(at, "scenario"))
    at.file_uploader(key="token-file").upload(name, content).run()
    assert state.uploads.names() == ((kept,) if kept else ())
    if not kept:
        assert "Trace 'bad.csv'" in said(at.error)
        return
    at.selectbox(key=f"lengths-{state.revision}-0").set_value(kept).run()
    assert not at.error
    assert prepared_language(state).system.rows[0].lengths.tokens.tolist() == [[100, 9], [200, 5]]
    at.selectbox(key=f"lengths-{state.revision}-0").set_value("drawn").run()
    assert state.scenario.language[0].llm.tokens is not None


@pytest.mark.verify
def test_the_measured_run_of_vllm_is_met_and_the_formula_does_not_ask_how_long_answers_are(open_page):
    run = beside_vllm()
    assert run.preemptions > 100
    assert max(abs(row.error) for row in run.rows if row.statistic == "mean") < 0.03
    assert max(abs(row.error) for row in run.rows) < 0.05
    for point in beside_formula((0.2, 0.5)):
        assert point.formula_s == pytest.approx(point.simulated_s.mean, rel=0.012)
    at = put(put(open_page("evidence"), "evidence-tabs", "Simulator"), "simulator-of", "language models")
    assert not at.error
    assert measured_finding(run) in said(at.markdown)
    assert "one workstation card" in said(at.info)


def test_the_share_that_some_requests_need_is_said_and_taken(open_page):
    at = open_demo(open_page, "prefill_stalls_decode")
    go(at, "scenario")
    state = state_of(at)
    named(at.number_input, "Requests at once").set_value(60).run()
    named(at.number_input, "Tokens of each").set_value(5000).run()
    memory = prepared_language(state).facts[0].memory
    share = shown_share(share_for(memory, 60, 5000))
    assert f"60 requests of 5,000 tokens at once need {share:g} of the memory" in said(at.caption)
    at.button(key=f"take-share-{state.revision}-0").click().run()
    assert state.scenario.cluster.servers[0].engine.utilization == share
    assert requests_that_fit(prepared_language(state).system.engines[0].blocks, 5000) == 60
    named(at.number_input, "Tokens of each").set_value(900_000).run()
    assert "more than there is" in said(at.caption)
    assert not [b for b in at.button if b.label.startswith("Use ")]


def test_the_steps_on_the_page_are_those_around_the_longest():
    study = prepare_language(shipped_scenario("prefill_stalls_decode"))
    (run, *_) = simulate_language(study, steps=TRACED).runs["round-robin"]
    (shown, pause), all_s = steps_shown(run), run.trace["end_s"] - run.trace["begin_s"]
    assert max(s.end_s - s.begin_s for s in shown) == pytest.approx(all_s.max())
    assert max(s.prefill for s in shown) >= 8000
    assert (shown[0].begin_s, len(shown)) == (0.0, STEPS)
    answered = [s for s in shown if s.decodes]  # each answer that runs gets a token at the end of each step
    longest = max(answered, key=lambda s: s.end_s - s.begin_s)
    assert (pause.begin_s, pause.end_s) == pytest.approx((longest.begin_s, longest.end_s))
    assert (pause.prefill, pause.steps) == (longest.prefill, 1)
    text = pause_text(pause, ("chat", "documents"))
    assert text.endswith(f"chat: {longest.prefill:,} tokens of prompts were computed in the same step.")


def test_the_slider_sets_the_token_budget_which_shortens_the_longest_gaps(open_page):
    at = open_demo(open_page, "prefill_stalls_decode")
    state = state_of(at)
    for path, value in {"jobs": 500, "replications": 2}.items():
        edit(at, ("simulation", path), value)
    start(state, "language")
    finish(at, "language")
    first = state.results["language"]
    pause = pause_text(first.data.pauses["round-robin"], first.data.rows)
    put(go(at, "simulation"), "language-tabs", "Engines")
    assert pause in said(at.markdown).replace("\\", "")
    go(at, "simulation").select_slider[0].set_value(1024).run()
    assert state.scenario.cluster.servers[0].engine.budget == 1024
    assert state.results["language"] is first
    at.button(key="run-language").click().run()
    finish(at, "language")
    second = state.results["language"]
    gaps = [of.data.report.schedulers["round-robin"].models["chat"].itl_s.p99 for of in (first, second)]
    assert gaps[1] < gaps[0]
    own = state.scenario.name
    names = [own, f"{own}: engine token budget 8192 → 1024"]
    assert [of.name for of in (first, second)] == names  # so that page Runs tells them apart
    at.sidebar.button(key="undo").click().run()
    assert [t.value.replace("\\", "") for t in at.toast] == ["Undone: engine token budget 1024 → 8192"]
    assert state.scenario.cluster.servers[0].engine.budget == 8192
