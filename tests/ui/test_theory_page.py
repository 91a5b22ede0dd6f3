"""Theory against simulation in the app: the worker's task, the page before, while and after it runs."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from app_driver import Open, metrics, tab

from nona.errors import JobError
from nona.report.studies.validation import comparison_rows, theory_rows, theory_summary
from nona.results.program import TheoryResult
from nona.simulation.agreement import Effort, compare
from nona.simulation.known_systems import KNOWN, known_systems
from nona.simulation.run import Cancelled
from nona.ui.pages.validation import Length
from nona.ui.session.state import Result
from nona.ui.session.workspace import jobs
from nona.ui.tasks import checks as theory_task
from nona.ui.tasks.desk import Desk
from nona.ui.tasks.serving import run_task

TINY = Effort(replications=3, scale=0.05)
FEW = [KNOWN["M/D/1"](0.3), KNOWN["M/G/1 with priorities"](0.6), KNOWN["fork-join of 4"](0.3)]


@pytest.fixture
def few_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theory_task, "known_systems", lambda: iter(FEW))
    monkeypatch.setattr(theory_task, "EFFORTS", {"tiny": TINY})
    monkeypatch.setattr(theory_task, "engine_named", lambda name: "simpy")
    monkeypatch.setattr(theory_task, "REPORT_EVERY_S", 0.0)


@pytest.mark.usefixtures("few_systems")
def test_the_worker_compares_every_system_and_tells_how_far_it_is() -> None:
    told: list[dict[str, Any]] = []
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


@pytest.mark.usefixtures("few_systems")
def test_the_worker_stops_when_asked_and_refuses_unknown_efforts() -> None:
    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        run_task({"kind": "validate", "effort": "tiny"}, Desk(lambda message: None, stop))
    for effort in ("huge", None):
        with pytest.raises(JobError, match="must be one of tiny"):
            run_task({"kind": "validate", "effort": effort}, Desk(lambda message: None))


def table(at: Any) -> Any:
    return next(d.value for d in at.dataframe if "theory, ms" in d.value)


def test_before_a_run_the_page_says_what_theory_says(open_page: Open) -> None:
    at = tab(open_page("12_validation"), "validation-tabs", "Theory")
    rows = [r for k in known_systems() for r in theory_rows(k)]
    shown = table(at)
    assert list(shown["system"]) == [r.system for r in rows]
    assert [float(t.split(" – ")[0]) for t in shown["theory, ms"]] == pytest.approx(
        [r.theory_ms for r in rows], abs=6e-4
    )
    assert [" – " in t for t in shown["theory, ms"]] == [r.to_ms is not None for r in rows]
    assert "verdict" not in shown


def test_after_a_run_the_page_shows_its_rows(open_page: Open) -> None:
    at = tab(open_page("12_validation"), "validation-tabs", "Theory")
    rows = tuple(r for k in FEW for r in comparison_rows(compare(k, TINY)))
    data = TheoryResult(rows=rows, effort="short", engine="simpy", level=0.999, replications=3, seconds=1.0)
    at.session_state["nona_state"].results["validate"] = Result("x", data, "none")
    at.run()
    assert not at.exception
    summary = theory_summary(rows)
    assert metrics(at)["Means that agree"] == f"{summary.agree} of 5"
    assert metrics(at)["Worst row"] == f"{summary.worst:.2f} half intervals"
    assert list(table(at)["verdict"]) == [r.verdict for r in rows]
    assert list(table(at)["simulated, ms"]) == [r.simulated_ms for r in rows]
    spec = json.loads(at.get("plotly_chart")[0].proto.spec)
    assert sum(len(t["x"]) for t in spec["data"]) == 5


def test_a_run_starts_whatever_the_scenario_is_and_can_be_cancelled(open_page: Open) -> None:
    at = tab(open_page("12_validation"), "validation-tabs", "Theory")
    state = at.session_state["nona_state"]
    state.edit(("workload", 0, "rate"), "nonsense")
    assert state.problem()
    state.choices.keep(Length("long"))  # there must be time to cancel it
    at.run()
    at.button(key="run-validate").click().run()
    job = jobs().get(state.jobs["validate"])
    assert job is not None
    end = time.monotonic() + 300
    while job.fraction == 0 and job.unfinished and time.monotonic() < end:
        job.touch()
        time.sleep(0.05)
    assert job.unfinished, (job.status, job.error)
    at.run()
    at.button(key="cancel-validate").click().run()
    at.run()
    assert not at.exception
    assert job.status == "cancelled"
    assert any("validation was cancelled" in i.value for i in at.info)
    assert "verdict" not in table(at)
