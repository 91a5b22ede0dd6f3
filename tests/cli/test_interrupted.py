"""Who interrupts a search for the servers sees what is known by then, and a script sees it is not all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nona.cli.main import main
from nona.results.planning import ServerCount
from nona.study import capacity as search

SCENARIO = """
version: 1
cluster: {servers: [{count: 2, gpu: l4}]}
workload: [{model: one, rate: 300, slo: 40 ms, service_scv: 1}]
models:
  one: {directed: true, nodes: [{id: a, compute_ms: {l4: 10.0}}], edges: []}
simulation: {jobs: 200}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = tmp_path / "s.yaml"
    made.write_text(SCENARIO)
    return str(made)


def interrupt_after(counts: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Interrupt the search when it asks for one count more; the list gets those that were simulated."""
    looked: list[int] = []
    usual = search.simulated_count

    def simulated(study: Any, *rest: Any) -> ServerCount:
        if len(looked) == counts:
            raise KeyboardInterrupt
        looked.append(study.system.servers)
        return usual(study, *rest)

    monkeypatch.setattr(search, "simulated_count", simulated)
    return looked


def test_capacity_prints_the_counts_that_were_tried(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked = interrupt_after(2, monkeypatch)
    asked = ["capacity", path, "--scheduler", "opportunistic", "--scheduler", "jsq-d"]
    assert main([*asked, "--json"]) == 130
    told = capsys.readouterr()
    assert told.err.strip().splitlines() == ["warning: interrupted; what follows is what was known by then"]
    report = json.loads(told.out)
    first, second = report["devices"]
    assert [t["servers"] for t in first["tried"]] == sorted(looked)
    assert (first["scheduler"], first["finished"], first["servers"]) == ("opportunistic", False, None)
    assert (second["scheduler"], second["finished"], second["tried"]) == ("jsq-d", False, [])
    assert report["best"] is None
    looked.clear()
    assert main(asked) == 130
    out = capsys.readouterr().out
    assert "opportunistic with l4 is not finished" in out
    assert "jsq-d with l4 is not begun" in out


def test_an_answer_that_was_found_before_is_printed(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(0, monkeypatch)
    assert (
        main(["capacity", path, "--scheduler", "local", "--scheduler", "jsq-d", "--hit", "80%", "--json"])
        == 130
    )
    report = json.loads(capsys.readouterr().out)
    assert report["best_scheduler"] == "local"
    assert [d["finished"] for d in report["devices"]] == [True, False]


def test_without_anything_known_nothing_is_printed(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(0, monkeypatch)
    assert main(["capacity", path, "--scheduler", "jsq-d"]) == 130
    assert capsys.readouterr() == ("", "nona: interrupted\n")
