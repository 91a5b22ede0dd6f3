"""Executor classes and memory in the browser: shares and replicas on Placement, what fits on Cluster."""

from __future__ import annotations

from typing import Any

import pytest
from app_driver import Open, finish, go, open_demo, tab


def frames(at: Any) -> list[Any]:
    return [d.value for d in at.dataframe]


def test_slices_of_three_kinds_show_load_shares_and_replicas(open_page: Open) -> None:
    at = open_demo(open_page, "mig_layouts")
    go(at, "4_cluster")
    memory = next(f for f in frames(at) if "weights of all that fit" in f)
    assert memory["executors"].tolist() == [8, 4, 14]
    go(at, "6_placement")
    at.button(key="run-place").click().run()
    finish(at, "place")
    tab(at, "placement-tabs", "Servers and links")
    classes = next(f for f in frames(at) if "wait of a visit" in f and "executor class" in f)
    report = at.session_state["nona_state"].results["place"].data.nona
    assert classes["executors"].tolist() == [8, 4, 14]
    shares = next(f for f in frames(at) if set(classes["executor class"]) <= set(f.columns))
    assert shares["model"].tolist() == list(report.class_shares)
    replicas = next(f for f in frames(at) if "replicas in all" in f)
    total = sum(m.replicas_bytes for m in report.memory.models.values())
    assert total == pytest.approx(report.memory.replicas_bytes)
    assert replicas["replicas"].tolist() == [m.replicas for m in report.memory.models.values()]


def test_a_model_that_fits_nowhere_stops_the_placement_in_one_line(open_page: Open) -> None:
    at = open_page("4_cluster")
    state = at.session_state["nona_state"]
    assert state.edit(("cluster", "devices"), {"tiny": {"base": "t4", "memory": "10 MB"}})
    for number in range(len(state.scenario.cluster.servers)):
        assert state.edit(("cluster", "servers", number, "gpu"), "tiny")
    at.run()
    assert any("do not fit an executor of tiny" in w.value for w in at.warning)
    go(at, "6_placement")
    at.button(key="run-place").click().run()
    finish(at, "place")
    (error,) = [e.value for e in at.error if "weights" in e.value]
    assert "tiny" in error
    assert "larger GPU" in error
