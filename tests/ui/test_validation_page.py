"""The Validation page shows what the cost model's validation computes."""

from __future__ import annotations

import json

import pytest
from app_driver import Open, finish, metrics, tab

from nona.cost.validation import WEAK_POINTS, validation_report
from nona.report.studies.paper import findings
from nona.report.text import share_text
from nona.results.program import SelfCheck, SelfCheckResult
from nona.study.self_checks import SELF_CHECKS
from nona.study.shipped import shipped_paper
from nona.ui.session.state import Result
from nona.ui.widgets.fields import plain


def test_tiles_tables_and_figure_are_those_of_the_report(open_page: Open) -> None:
    at = open_page("12_validation")
    report = validation_report()
    assert at.title[0].value == "Validation"
    tiles = metrics(at)
    assert tiles["Published latencies"] == str(report.overall.rows)
    assert tiles["MAPE"] == share_text(report.overall.mape, 1)
    assert tiles["Bias"] == f"{report.overall.bias:.2f}"
    assert tiles["Spearman"] == f"{report.overall.spearman:.3f}"
    assert tiles["log σ"] == f"{report.overall.log_sigma:.2f}"
    latencies, groups, slices = (frame.value for frame in at.dataframe)
    assert list(latencies["published ms"]) == [r.measured_s * 1e3 for r in report.rows]
    assert list(latencies["predicted ms"]) == [r.predicted_s * 1e3 for r in report.rows]
    assert list(latencies["source"]) == [r.source for r in report.rows]
    assert all(latencies["source"])
    counted = latencies[latencies["use"] == "counted"]
    assert abs(counted["predicted / published"] - 1).mean() == pytest.approx(report.overall.mape)
    assert list(groups["group"]) == [
        *(g.group for g in report.groups),
        "TensorRT engines, batch 1",
        "all counted",
    ]
    assert groups["MAPE %"].iloc[-1] == pytest.approx(100 * report.overall.mape)
    assert list(slices["predicted ×"]) == [s.predicted for s in report.slices]
    keys = {b.key for b in at.get("download_button")}
    assert keys >= {
        f"{kind}-{name}" for kind in ("csv", "parquet") for name in ("latencies", "groups", "slices")
    }


def test_the_figure_has_every_latency_and_the_diagonal(open_page: Open) -> None:
    at = open_page("12_validation")
    spec = json.loads(at.get("plotly_chart")[0].proto.spec)
    diagonal, *groups = spec["data"]
    assert diagonal["x"] == diagonal["y"]
    assert spec["layout"]["xaxis"]["type"] == spec["layout"]["yaxis"]["type"] == "log"
    report = validation_report()
    wanted = sorted((round(1e3 * r.measured_s, 9), round(1e3 * r.predicted_s, 9)) for r in report.rows)
    drawn = sorted((round(x, 9), round(y, 9)) for g in groups for x, y in zip(g["x"], g["y"], strict=True))
    assert drawn == wanted
    low, high = diagonal["x"]
    assert all(low < v < high for point in wanted for v in point)


def test_weak_rows_are_named_and_simulation_is_pointed_to(open_page: Open) -> None:
    at = open_page("12_validation")
    shown = "\n".join(m.value for m in at.markdown)
    assert WEAK_POINTS.strip() in shown
    assert "L40S" in shown
    tab(at, "validation-tabs", "Prediction")
    assert any("column *predicted*" in m.value for m in at.markdown)
    assert "simulation" in [link.proto.page for link in at.get("page_link")]


def test_self_checks_run_at_a_click_and_hold(open_page: Open) -> None:
    at = tab(open_page("12_validation"), "validation-tabs", "Self-checks")
    assert any("Not run yet" in c.value for c in at.caption)
    at.button(key="run-check").click().run()
    finish(at, "check")
    table = next(d.value for d in at.dataframe if "verdict" in d.value and "check" in d.value)
    assert len(table) == SELF_CHECKS
    assert not (table["verdict"] == "FAILS").any()
    assert (table["verdict"] == "holds").sum() >= SELF_CHECKS - 1  # the compiled engine may not be ready
    assert any("checks hold" in s.value for s in at.success)


def test_a_check_that_fails_is_shown_as_such(open_page: Open) -> None:
    at = tab(open_page("12_validation"), "validation-tabs", "Self-checks")
    rows = (
        SelfCheck(name="Water is dry", ok=False, found="it is wet"),
        SelfCheck(name="x", ok=None, found=""),
    )
    state = at.session_state["nona_state"]
    state.results["check"] = Result(
        "self-checks", SelfCheckResult(rows=rows, seconds=1.0, version="0"), "job"
    )
    at.run()
    assert "1 of 2 checks fail" in at.error[0].value
    assert "Water is dry" in at.error[0].value
    table = next(d.value for d in at.dataframe if "verdict" in d.value and "check" in d.value)
    assert list(table["verdict"]) == ["FAILS", "not tried"]


def test_the_papers_evaluation_is_there_with_its_charts(open_page: Open) -> None:
    at = tab(open_page("12_validation"), "validation-tabs", "The paper")
    data = shipped_paper()
    shown = "\n".join(m.value for m in at.markdown)
    assert all(plain(line) in shown for line in findings(data))
    frame = next(d.value for d in at.dataframe if "traffic: edge" in d.value)
    assert list(frame["scheduler"]) == list(data.sweeps["traffic"].schedulers)
    specs = [json.loads(c.proto.spec) for c in at.get("plotly_chart")]
    growth = next(s for s in specs if s["layout"]["xaxis"]["title"]["text"] == "jobs in the run (log)")
    row = next(r for r in data.overload.schedulers if r.scheduler == "spread")
    drawn = next(c for c in growth["data"] if c["name"] == "spread")
    assert list(drawn["y"]) == [r.ratio for r in row.runs]
