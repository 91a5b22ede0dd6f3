"""Counting configurations: at once for usual models, by a worker on demand for large sub-graphs."""

from __future__ import annotations

import json
from typing import Any

from app_driver import Open, finish, upload_model

from nona.graph.readers import read_model
from nona.hardware.executor import executor_class
from nona.sources.samples import load_sample
from nona.study.models import configuration_counts, prepare_model
from nona.ui.tasks.checks import QUICK, is_quick

WIDE = 500
LEFT = "Left to distribute"
FAN = {
    "nodes": [{"id": f"t{i}", "compute_ms": 1 + i % 7} for i in range(WIDE + 2)],
    "edges": [
        e
        for i in range(1, WIDE + 1)
        for e in (
            {"source": "t0", "target": f"t{i}", "bytes": 1000},
            {"source": f"t{i}", "target": f"t{WIDE + 1}", "bytes": 1000},
        )
    ],
}


def subgraphs(at: Any) -> Any:
    return next(d.value for d in at.dataframe if "interior tasks" in d.value)


def labels(at: Any) -> set[str]:
    return {b.label for b in at.button}


def test_a_usual_model_is_counted_at_once(open_page: Open) -> None:
    at = open_page("3_contraction")
    at.session_state["nona_state"].model = "googlenet"
    at.session_state["contraction-tabs"] = LEFT
    at.run()
    prepared = prepare_model(load_sample("googlenet"), (executor_class("a100-40gb"),))
    interior = [len(s.interior) for s in prepared.decomposition.subgraphs]
    wanted = [c for c, m in zip(configuration_counts(prepared), interior, strict=True) if m]
    assert is_quick(prepared)
    assert list(subgraphs(at)["configurations"]) == wanted
    assert "Count the configurations" not in labels(at)


def test_a_large_sub_graph_is_counted_by_a_worker_on_demand(open_page: Open) -> None:
    at = open_page("2_models")
    data = json.dumps(FAN).encode()
    upload_model(at, "fan.json", data)
    at.switch_page("pages/3_contraction.py").run()
    at.session_state["contraction-tabs"] = LEFT
    at.run()
    assert not at.exception
    prepared = prepare_model(read_model(data, "fan.json"), (executor_class("a100-40gb"),))
    assert sum(len(s.interior) ** 2 for s in prepared.decomposition.subgraphs) > QUICK
    assert list(subgraphs(at)["interior tasks"]) == [WIDE]
    assert "configurations" not in subgraphs(at)
    at.button(key="run-count").click().run()
    finish(at, "count")
    wanted = [c for c in configuration_counts(prepared) if c > 1]
    assert list(subgraphs(at)["configurations"]) == wanted
    assert "Count the configurations" not in labels(at)
    # The count belongs to this device: on another one it is asked for again, not passed off.
    at.selectbox(key="device").select("t4").run()
    assert "configurations" not in subgraphs(at)
    assert "Count the configurations" in labels(at)
    at.selectbox(key="device").select("a100-40gb").run()
    assert list(subgraphs(at)["configurations"]) == wanted
