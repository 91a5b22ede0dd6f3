"""Routers whose lead over one another is not clear: no winner is named among them."""

from __future__ import annotations

import pytest

from nona.language.report.tables import language_finding
from nona.language.results import LanguageReport
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.simulation import simulate_language
from nona.scenario.file import scenario_from_mapping


def report(engines: int, replications: int) -> LanguageReport:
    scenario = {
        "cluster": {"servers": [{"count": engines, "gpu": "h100", "engine": {}}]},
        "workload": [
            {
                "rate": f"{24 * engines}/s",
                "slo": {"ttft": "100 ms"},
                "llm": {"model": "llama-3.1-8b", "tokens": {"input": {"mean": 900, "cv": 1.5}, "output": 90}},
            }
        ],
        "simulation": {"jobs": 2500, "replications": replications},
        "schedulers": ["round-robin", "least-requests"],
    }
    return simulate_language(prepare_language(scenario_from_mapping(scenario))).report


@pytest.mark.verify
def test_a_single_engine_has_no_best_router_several_have_and_one_run_cannot_tell() -> None:
    alike = report(1, 3)
    assert alike.level == ("least-requests",)
    assert language_finding(alike).lead.startswith(
        "round-robin, without a clear difference from least-requests: "
    )
    best = report(6, 6)
    assert best.level == ()
    assert language_finding(best).lead.startswith("round-robin: ")
    assert report(1, 1).level == ("least-requests",)  # one run cannot tell
