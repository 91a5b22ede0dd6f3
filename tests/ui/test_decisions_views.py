"""The tab Decisions on the Validation page shows what the stored study says."""

from __future__ import annotations

import json

from app_driver import Open, tab

from nona.report.studies.decisions import compared
from nona.report.studies.decisions_text import findings, heat_title, title
from nona.study.shipped import shipped_decisions


def test_the_study_is_on_the_validation_page_with_charts_findings_and_tables(open_page: Open) -> None:
    at = tab(open_page("12_validation"), "validation-tabs", "Decisions")
    assert not at.exception
    data = shipped_decisions()
    shown = "\n".join(m.value.replace("\\", "") for m in at.markdown)
    assert title(data) in shown
    assert heat_title(data) in shown
    assert all(line in shown for line in findings(data))
    frames = [d.value for d in at.dataframe]
    cells = next(f for f in frames if "nona / best" in f)
    assert len(cells) == len(data.cells)
    networks = next(f for f in frames if "largest gap" in f)
    assert list(networks["network"]) == list(data.networks)
    ratios, _ = (json.loads(c.proto.spec) for c in at.get("plotly_chart"))
    drawn = sorted(round(y, 9) for trace in ratios["data"] for y in trace["y"])
    assert drawn == sorted(round(c.answer.ratio, 9) for c in compared(data, "blind"))
