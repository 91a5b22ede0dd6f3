"""The Validation page: studies, theory and self-checks as computed; the worker that compares with theory."""

import json

import pytest
from app_driver import job_of, metrics, put, said, state_of, table, until

from evidence import theory_job as theory_task
from evidence.agreement import Effort, compare
from evidence.known_systems import KNOWN, known_systems
from evidence.policy_results import ElasticStudy, ServerlessStudy, TrainingStudy
from evidence.published_latencies import WEAK_POINTS, validation_report
from evidence.reports import decisions, elastic, paper, prediction, serverless, training
from evidence.reports.theory import comparison_rows, theory_rows, theory_sentence, theory_summary
from evidence.results import DecisionStudy, PaperStudy, TheoryResult
from nona.app.session.state import Result
from nona.app.tasks.context import JobContext
from nona.app.tasks.worker_loop import run_task
from nona.core.errors import JobError
from nona.core.tables import share_text
from nona.queries.simulation.run import Cancelled
from nona.queries.study_results import PredictionMap
from nona.queries.workflows.shipped import stored_result

PAGE = "evidence"


def test_every_published_latency_is_in_the_table_and_the_figure(open_page):
    at = open_page(PAGE)
    report = validation_report()
    assert metrics(at)["MAPE"] == share_text(report.overall.mape, 1)
    rows = [len(frame.value) for frame in at.dataframe[:3]]
    assert rows == [len(report.rows), len(report.groups) + 2, len(report.slices)]
    spec = json.loads(at.get("plotly_chart")[0].proto.spec)
    diagonal, *groups = spec["data"]
    assert diagonal["x"] == diagonal["y"]
    assert spec["layout"]["xaxis"]["type"] == spec["layout"]["yaxis"]["type"] == "log"
    wanted = sorted((round(1e3 * r.measured_s, 9), round(1e3 * r.predicted_s, 9)) for r in report.rows)
    drawn = sorted((round(x, 9), round(y, 9)) for g in groups for x, y in zip(g["x"], g["y"], strict=True))
    assert drawn == wanted
    low, high = diagonal["x"]
    assert all(low < v < high for point in wanted for v in point)
    assert WEAK_POINTS.strip() in "\n".join(m.value for m in at.markdown)


@pytest.mark.parametrize(
    ("tab", "claims", "shown"),
    [
        ("Predictions", "", {prediction: PredictionMap, decisions: DecisionStudy}),
        ("Published claims", "the Nona paper", {paper: PaperStudy}),
        ("Published claims", "the slides on ESG", {serverless: ServerlessStudy}),
        ("Published claims", "Gavel, Pollux and others", {training: TrainingStudy, elastic: ElasticStudy}),
    ],
)
def test_a_study_is_shown_whole(open_page, tab, claims, shown):
    at = put(open_page(PAGE), "evidence-tabs", tab)
    if claims:
        put(at, "claims-of", claims)
    told, rows = said(at.markdown), [len(d.value) for d in at.dataframe]
    assert len(at.get("plotly_chart")) >= len(shown)
    for report, kind in shown.items():
        study = report.presented(stored_result(kind))
        assert all(line in told for line in (study.title, *study.findings))
        for one in study.tables:
            assert not one.rows or len(one.rows.values) in rows, one.heading


TINY = Effort(replications=3, scale=0.05)
FEW = [KNOWN["M/D/1"](0.3), KNOWN["M/G/1 with priorities"](0.6), KNOWN["fork-join of 4"](0.3)]


@pytest.fixture
def few_systems(monkeypatch):
    monkeypatch.setattr(theory_task, "known_systems", lambda: iter(FEW))
    monkeypatch.setattr(theory_task, "EFFORTS", {"tiny": TINY})
    monkeypatch.setattr(theory_task, "engine_named", lambda name: "simpy")
    monkeypatch.setattr(theory_task, "REPORT_EVERY_S", 0.0)


@pytest.mark.usefixtures("few_systems")
def test_the_worker_compares_every_system_tells_how_far_it_is_stops_when_asked_and_refuses_unknown_efforts():
    told = []
    result = run_task({"kind": "validate", "effort": "tiny"}, JobContext(told.append))
    found = TheoryResult.from_json(result)
    assert list(found.rows) == [r for k in FEW for r in comparison_rows(compare(k, TINY))]
    assert (found.engine, found.replications, found.effort) == ("simpy", 3, "tiny")
    fractions = [t["fraction"] for t in told]
    assert fractions == sorted(fractions)
    assert fractions[0] < 0.05
    assert fractions[-1] == pytest.approx(1.0)
    assert {t["text"].split(" at")[0] for t in told} == {k.name for k in FEW}
    counts = [len(t["live"]["rows"]) for t in told]
    assert sorted(set(counts)) == [0, 1, 4]
    json.dumps([told, result], allow_nan=False)

    def stop():
        raise Cancelled

    with pytest.raises(Cancelled):
        run_task({"kind": "validate", "effort": "tiny"}, JobContext(lambda message: None, stop))
    for effort, rule in (("huge", "must be one of tiny"), (None, "must be a valid EffortAsked")):
        with pytest.raises(JobError, match=rule):
            run_task({"kind": "validate", "effort": effort}, JobContext(lambda message: None))


def test_before_a_run_the_page_says_what_theory_says_and_after_it_shows_its_rows(open_page):
    at = put(open_page(PAGE), "evidence-tabs", "Simulator")
    rows = [r for k in known_systems() for r in theory_rows(k)]
    shown = table(at, "theory, ms")
    assert list(shown["system"]) == [r.system for r in rows]
    told = [float(t.split(" – ")[0]) for t in shown["theory, ms"]]
    assert told == pytest.approx([r.theory_ms for r in rows], abs=6e-4)
    assert [" – " in t for t in shown["theory, ms"]] == [r.to_ms is not None for r in rows]
    assert "verdict" not in shown
    rows = tuple(r for k in FEW for r in comparison_rows(compare(k, TINY)))
    data = TheoryResult(rows=rows, effort="short", engine="simpy", level=0.999, replications=3, seconds=1.0)
    state_of(at).results["validate"] = Result("x", data, "none")
    at.run()
    summary = theory_summary(rows)
    assert metrics(at)["Worst row"] == f"{summary.worst:.2f} half intervals"
    assert f"**{theory_sentence(rows)}**" in said(at.markdown)
    shown = table(at, "theory, ms")[["verdict", "simulated, ms"]].to_numpy().tolist()
    assert shown == [[r.verdict, f"{r.simulated_ms:.3f}"] for r in rows]
    spec = json.loads(at.get("plotly_chart")[0].proto.spec)
    assert sum(len(t["x"]) for t in spec["data"]) == 5


def test_a_run_starts_whatever_the_scenario_is_and_can_be_cancelled(open_page):
    at = put(open_page(PAGE), "evidence-tabs", "Simulator")
    state = state_of(at)
    state.edit(("workload", 0, "rate"), "nonsense")
    assert state.problem()
    put(at, "effort", "long")  # there must be time to cancel it
    at.button(key="run-validate").click().run()
    job = job_of(at, "validate")
    assert until(lambda: not (job.fraction == 0 and job.unfinished))
    assert job.unfinished, (job.status, job.error)
    at.run()
    at.button(key="cancel-validate").click().run()
    at.run()
    assert job.status == "cancelled"
    assert any("validation was cancelled" in i.value for i in at.info)
    assert "validate" not in state.results, "what came so far is no result"
