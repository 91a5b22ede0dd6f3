"""SLO hits over time: windows of the first run whose jobs and hits add up to the whole."""

from __future__ import annotations

from itertools import pairwise

from nona import study
from nona.report.simulations.figures import hits_over_time_figure, hits_over_time_title
from nona.report.simulations.series import hits_over_time, worst_window
from nona.scenario.file import scenario_from_mapping
from nona.study.outcome import simulation_outcome


def test_windows_add_up_and_stand_in_the_report() -> None:
    data = {
        "version": 1,
        "cluster": {"servers": [{}]},
        "workload": [
            {"model": "slides_example", "rate": "20/s", "slo": "40 ms"},
            {"model": "slides_example", "rate": "5/s"},
        ],
        "simulation": {"jobs": 900, "replications": 2, "warmup": 50},
        "schedulers": ["local"],
    }
    prepared = study.prepare(scenario_from_mapping(data))
    result = study.simulate(prepared, engine="simpy")
    report = simulation_outcome(prepared, result, "now").report
    (windows,) = report.slo_over_time.values()
    record = result.records["local"][0]
    taken = record.completion_time_s[record.query == 0]
    assert sum(w.jobs for w in windows) == len(taken)
    assert sum(w.hits for w in windows) == int((taken <= 0.04).sum())
    assert len(windows) == min(24, len(taken) // 30)
    assert all(a.end_s == b.start_s for a, b in pairwise(windows))
    worst = worst_window(report.slo_over_time)
    assert worst is not None
    assert worst[1].hit_rate == min(w.hit_rate for w in windows if w.hit_rate is not None)
    assert "local" in hits_over_time_title(report.slo_over_time)
    assert len(hits_over_time_figure(report.slo_over_time).data) == 1
    assert type(report).from_json(report.to_json()) == report


def test_without_an_slo_there_is_nothing_to_keep() -> None:
    assert hits_over_time({}, [None]) == {}
    assert worst_window({}) is None
    assert hits_over_time_title({}) == "No job has an SLO"
