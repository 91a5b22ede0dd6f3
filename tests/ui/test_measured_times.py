"""A table of measured times is uploaded, used, said to be in use, and removed on the Models page."""

from __future__ import annotations

from typing import Any

import pytest
from app_driver import Open, go, metrics, tab

from nona.cost.measured import read_measured
from nona.hardware.executor import executor_class
from nona.scenario.file import parse_scenario
from nona.sources.samples import load_sample
from nona.study.models import prepare_model
from nona.study.preparation import prepare

WHOLE = b"model,operator,device,ms\nresnet18,*,a100-40gb,7.5\n"
PAGE = "2_models"


def state_of(at: Any) -> Any:
    return at.session_state["nona_state"]


def upload(at: Any, name: str, data: bytes) -> None:
    at.file_uploader(key="measured-file").upload(name, data).run()
    assert not at.exception


def operators(at: Any) -> Any:
    """The table of operators, on the tab that shows it."""
    at.session_state["model-tabs"] = "Operators"
    at.run()
    assert not at.exception
    return at.dataframe[0].value


def parallelism(at: Any) -> str:
    """The figure beside the graph."""
    return metrics(tab(at, "model-tabs", "Graph"))["Parallelism T₁/T∞"]


def test_measured_times_replace_modelled_ones_and_can_be_removed(open_page: Open) -> None:
    at = open_page(PAGE)
    upload(at, "times.csv", WHOLE)
    assert state_of(at).scenario.cost.measured == "times.measured.csv"
    assert "1 time on a100-40gb; 1 of them for resnet18" in at.success[0].value.replace("\\", "")
    assert "100 % calibrated" in "".join(c.value for c in at.caption).replace("\\", "")
    table = operators(at)
    assert table["time µs"].sum() == pytest.approx(7500.0)
    assert set(table["provenance"]) == {"calibrated"}  # the whole is measured, its shares are not
    assert parallelism(at) == _parallelism(WHOLE)
    go(at, "3_contraction")
    study = prepare(state_of(at).scenario, state_of(at).uploads.sources)
    assert study.models[0].costed[0].total_compute_s == pytest.approx(7.5e-3)
    go(at, PAGE)
    at.button(key="no-measured").click().run()
    assert state_of(at).scenario.cost.measured is None
    assert set(operators(at)["provenance"]) == {"modelled"}
    assert parallelism(at) == _parallelism(None)


def test_a_measured_operator_is_marked_as_such(open_page: Open) -> None:
    at = open_page(PAGE)
    model = load_sample("resnet18")
    rows = "".join(f"resnet18,{o.id},a100-40gb,{1 + i}\n" for i, o in enumerate(model.operators[:3]))
    upload(at, "times.csv", f"model,operator,device,ms\n{rows}".encode())
    table = operators(at)
    found = table[table["provenance"] == "measured"]
    assert dict(zip(found["operator"], found["time µs"], strict=True)) == pytest.approx(
        {o.id: 1000.0 * (1 + i) for i, o in enumerate(model.operators[:3])}
    )
    assert any("measured" in c.value and "modelled" in c.value for c in at.caption)
    state_of(at).model = "gpt2"
    at.run()
    assert "0 of them for gpt2" in at.success[0].value.replace("\\", "")


def _parallelism(data: bytes | None) -> str:
    measured = None if data is None else read_measured(data)
    model = prepare_model(load_sample("resnet18"), (executor_class("a100-40gb"),), measured=measured)
    return f"{model.costed[0].parallelism:.3f}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"model,operator,ms\nresnet18,*,7.5\n", "the column 'device' is missing"),
        (WHOLE.replace(b"7.5", b"fast"), "line 2: ms='fast'"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_bad_table_is_one_line_and_nothing_changes(open_page: Open, data: bytes, words: str) -> None:
    at = open_page(PAGE)
    upload(at, "good.csv", WHOLE)
    upload(at, "bad.csv", data)
    assert len(at.error) == 1
    assert words in at.error[0].value.replace("\\", "")
    assert state_of(at).scenario.cost.measured == "good.measured.csv"
    assert state_of(at).uploads.names() == ("good.measured.csv",)
    assert set(operators(at)["provenance"]) == {"calibrated"}  # the whole is measured, its shares are not
    upload(at, "bad.csv", WHOLE)
    assert not at.error


def test_another_table_under_the_same_name_counts(open_page: Open) -> None:
    at = open_page(PAGE)
    upload(at, "times.csv", WHOLE)
    upload(at, "times.csv", WHOLE.replace(b"7.5", b"2.5"))
    assert operators(at)["time µs"].sum() == pytest.approx(2500.0)


def test_the_table_travels_apart_and_the_app_says_so(open_page: Open) -> None:
    at = open_page(PAGE)
    assert not [c for c in at.sidebar.caption if "measured" in c.value]
    upload(at, "times.csv", WHOLE)
    said = [c.value.replace("\\", "") for c in at.sidebar.caption if "measured" in c.value]
    assert len(said) == 1
    assert "times.measured.csv" in said[0]
    text = state_of(at).dump()
    assert parse_scenario(text).cost.measured == "times.measured.csv"
    assert "Download the CSV" in {b.label for b in at.get("download_button")}
    other = open_page(PAGE)
    next(f for f in other.file_uploader if "Scenario" in f.label).upload("s.yaml", text.encode()).run()
    assert not other.exception
    assert all("times.measured.csv" in e.value.replace("\\", "") for e in other.error)
    assert other.error
    upload(other, "times.measured.csv", WHOLE)
    assert not other.error
    assert operators(other)["time µs"].sum() == pytest.approx(7500.0)


def test_a_table_is_no_trace(open_page: Open) -> None:
    at = open_page(PAGE)
    upload(at, "times.csv", WHOLE)
    go(at, "5_workload")
    arrivals = next(s for s in at.selectbox if s.label == "Arrivals")
    assert not [o for o in arrivals.options if "times" in o]
