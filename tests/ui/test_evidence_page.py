"""The Validation page: studies, theory and self-checks as computed; the worker that compares with theory."""

import json

import pytest
from app_driver import job_of, metrics, put, said, state_of, table, until

from nona.errors import JobError
from nona.results.studies import PredictionMap
from nona.simulation.run import Cancelled
from nona.study.shipped import stored_result
from nona.tables import share_text
from nona.ui.session.state import Result
from nona.ui.tasks.desk import Desk
from nona.ui.tasks.serving import run_task
from nona.ui.widgets.fields import plain
from studies import theory_job as theory_task
from studies.agreement import Effort, compare
from studies.known_systems import KNOWN, known_systems
from studies.published_latencies import WEAK_POINTS, validation_report
from studies.reports.decisions import compared, heat_title
from studies.reports.decisions import findings as decision_findings
from studies.reports.decisions import title as decision_title
from studies.reports.paper import findings
from studies.reports.prediction import findings as map_findings
from studies.reports.prediction import title as map_title
from studies.reports.theory import comparison_rows, theory_rows, theory_sentence, theory_summary
from studies.results import DecisionStudy, PaperStudy, TheoryResult

PAGE = "evidence"


def test_tiles_tables_and_figure_are_those_of_the_report(open_page):
    at = open_page(PAGE)
    report = validation_report()
    wanted = {
        "Published latencies": str(report.overall.rows),
        "MAPE": share_text(report.overall.mape, 1),
        "Bias": f"{report.overall.bias:.2f}",
        "Spearman": f"{report.overall.spearman:.3f}",
        "log σ": f"{report.overall.log_sigma:.2f}",
    }
    assert wanted.items() <= metrics(at).items()
    latencies, groups, slices = (frame.value for frame in at.dataframe[:3])
    assert list(latencies["published"]) == [r.measured_s for r in report.rows]
    assert list(latencies["predicted"]) == [r.predicted_s for r in report.rows]
    assert list(latencies["source"]) == [r.source for r in report.rows]
    assert all(latencies["source"])
    counted = latencies[latencies["use"] == "counted"]
    assert abs(counted["predicted / published"] - 1).mean() == pytest.approx(report.overall.mape)
    names = [g.group for g in report.groups]
    assert list(groups["group"]) == [*names, "TensorRT engines, batch 1", "all counted"]
    assert groups["MAPE"].iloc[-1] == pytest.approx(report.overall.mape)
    assert list(slices["predicted"]) == [s.predicted for s in report.slices]
    files = {f"{kind}-{name}" for kind in ("csv", "parquet") for name in ("latencies", "groups", "slices")}
    assert files <= {b.key for b in at.get("download_button")}
    spec = json.loads(at.get("plotly_chart")[0].proto.spec)
    diagonal, *groups = spec["data"]
    assert diagonal["x"] == diagonal["y"]
    assert spec["layout"]["xaxis"]["type"] == spec["layout"]["yaxis"]["type"] == "log"
    wanted = sorted((round(1e3 * r.measured_s, 9), round(1e3 * r.predicted_s, 9)) for r in report.rows)
    drawn = sorted((round(x, 9), round(y, 9)) for g in groups for x, y in zip(g["x"], g["y"], strict=True))
    assert drawn == wanted
    low, high = diagonal["x"]
    assert all(low < v < high for point in wanted for v in point)
    shown = "\n".join(m.value for m in at.markdown)
    assert WEAK_POINTS.strip() in shown
    assert "L40S" in shown
    put(at, "evidence-tabs", "Predictions")
    assert any("column *predicted*" in m.value for m in at.markdown)
    assert "simulation" in [link.proto.page for link in at.get("page_link")]


def test_studies_are_there_with_titles_findings_charts_and_tables(open_page):
    at = put(open_page(PAGE), "evidence-tabs", "Predictions")
    data = stored_result(DecisionStudy)
    shown = said(at.markdown)
    assert decision_title(data) in shown
    assert heat_title(data) in shown
    assert all(line in shown for line in decision_findings(data))
    assert len(table(at, "nona / best")) == len(data.cells)
    assert list(table(at, "nona, worst")["network"]) == list(data.networks)
    specs = [json.loads(c.proto.spec) for c in at.get("plotly_chart")]
    ratios = specs[1]  # behind the map of predictions
    drawn = sorted(round(y, 9) for trace in ratios["data"] for y in trace["y"])
    assert drawn == sorted(round(c.answer.ratio, 9) for c in compared(data, "blind"))
    data = stored_result(PredictionMap)
    assert map_title(data) in said(at.markdown)
    assert map_findings(data)[0] in said(at.markdown)
    frames = [d.value for d in at.dataframe]
    assert any("within 10 %" in f for f in frames)
    points = next(f for f in frames if "by formula" in f)
    assert len(points) == len(data.points)
    put(at, "evidence-tabs", "Published claims")
    data = stored_result(PaperStudy)
    shown = "\n".join(m.value for m in at.markdown)
    assert all(plain(line) in shown for line in findings(data))
    frame = table(at, "traffic: edge")
    assert list(frame["scheduler"]) == list(data.sweeps["traffic"].schedulers)
    specs = [json.loads(c.proto.spec) for c in at.get("plotly_chart")]
    growth = next(s for s in specs if s["layout"]["xaxis"]["title"]["text"] == "jobs in the run (log)")
    row = next(r for r in data.overload.schedulers if r.scheduler == "spread")
    drawn = next(c for c in growth["data"] if c["name"] == "spread")
    assert list(drawn["y"]) == [r.ratio for r in row.runs]


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
    result = run_task({"kind": "validate", "effort": "tiny"}, Desk(told.append))
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
        run_task({"kind": "validate", "effort": "tiny"}, Desk(lambda message: None, stop))
    for effort, rule in (("huge", "must be one of tiny"), (None, "must be a valid EffortAsked")):
        with pytest.raises(JobError, match=rule):
            run_task({"kind": "validate", "effort": effort}, Desk(lambda message: None))


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
