"""Results as typed objects: what a small run gives survives JSON, and an unknown key is refused."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from nona.hardware.device import devices
from nona.hardware.executor import executor_class
from nona.report.capacity import capacity_report
from nona.report.clusters import device_row
from nona.report.models import contraction, inspection
from nona.report.studies.validation import comparison_rows
from nona.report.sweeps import sweep_report
from nona.results.document import Document, Estimate
from nona.results.models import ConfigurationCounts
from nona.results.planning import DeviceCapacity, ServerCount
from nona.results.program import SelfCheck, SelfCheckResult, TheoryResult
from nona.results.sweeps import SweepOutcome
from nona.scenario.file import load_scenario
from nona.simulation.agreement import Effort, compare
from nona.simulation.known_systems import KNOWN
from nona.sources.samples import load_sample, scenario_path
from nona.study.models import configuration_counts, prepare_model
from nona.study.sweep_bench import SweepSettings
from nona.study.sweep_numbers import number_named
from nona.study.sweeps import curves
from nona.ui.tasks.sweeps import request_of, settings_from


def sweep() -> SweepOutcome:
    """Two schedulers at two values."""
    scenario = load_scenario(scenario_path("slides_example"))
    settings = SweepSettings(number_named(scenario, "load"), (1.0, 9.0), ("local", "spread"), 30, 2, False)
    *_, last = curves(scenario, settings, engine="simpy")
    request = request_of(settings)
    assert settings_from(scenario, request) == settings
    return SweepOutcome(**dict(sweep_report(last)), settings=request)


def capacity() -> Document:
    kept = Estimate(mean=0.99, ci95=(0.98, 1.0))
    found = ServerCount(servers=2, miss=0.01, error=1e-3, simulated_hit_rate=kept)
    fewer = ServerCount(servers=1, miss=float("inf"), error=0.0)
    device = DeviceCapacity(
        gpu="t4",
        scheduler="nona",
        method="prediction",
        servers=2,
        predicted=found,
        one_fewer=fewer,
        cost=None,
        tried=(fewer, found),
    )
    assert fewer.miss is None
    return capacity_report([device], device, 0.98, 0, 4096)


def models() -> tuple[Document, ...]:
    made = prepare_model(load_sample("slides_example"), (executor_class("a100-40gb"),))
    counts = configuration_counts(made)
    report = contraction(made.contracted, made.costed[0], made.decomposition, counts)
    return inspection(made.costed[0]), report, ConfigurationCounts(configurations=tuple(counts))


def checks() -> tuple[Document, ...]:
    rows = comparison_rows(compare(KNOWN["M/D/1"](0.3), Effort(replications=3, scale=0.05, engine="simpy")))
    check = SelfCheck(name="Water is wet", ok=None, found="")
    return (
        TheoryResult(
            rows=tuple(rows), effort="short", engine="simpy", level=0.999, replications=3, seconds=1.0
        ),
        SelfCheckResult(rows=(check,), seconds=1.0, version="0"),
    )


@pytest.fixture(scope="module")
def results() -> list[Document]:
    return [sweep(), capacity(), *models(), *checks(), device_row(devices()["t4"])]


def test_what_is_written_is_read_back_equal(results: list[Document]) -> None:
    for result in results:
        sent = json.loads(json.dumps(result.to_json(), allow_nan=False))
        assert type(result).from_json(sent) == result


def test_an_unknown_key_is_refused(results: list[Document]) -> None:
    for result in results:
        with pytest.raises(ValidationError):
            type(result).from_json({**result.to_json(), "more": 1})
