"""Typed results survive JSON and files; the guide and the documentation are true; times that are off."""

import csv
import doctest
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from sizes import examples

from evidence.agreement import Agreement, Comparison, Effort, Expected, compare
from evidence.known_systems import KNOWN, known_result
from evidence.pages import validation_page
from evidence.published_latencies import validation_report
from evidence.reports.theory import (
    comparison_rows,
    theory_rows,
    theory_sentence,
    theory_summary,
)
from evidence.reports.validation import theory_markdown, validation_markdown
from evidence.results import TheoryResult
from nona import __version__
from nona.app.guide import matching, section_titles, sections
from nona.cluster.hardware.device import devices
from nona.cluster.hardware.executor import executor_class
from nona.core.document import ErrorRange, Estimate, ModelFacts
from nona.core.statistics import Interval
from nona.core.tables import csv_bytes, parquet_bytes
from nona.models.prepared import prepare_model
from nona.models.report import contraction, inspection
from nona.models.results import ConfigurationCounts
from nona.planning.results import CapacityReport, DeviceCapacity, ServerCount
from nona.queries.placement.enumeration import configuration_counts
from nona.queries.report.clusters import device_row
from nona.queries.report.times_off import MeanParts, TimesError, mean_if_off, off_text, times_error
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.queries.sweeps.results import SweepOutcome, SweepRequest
from nona.queries.sweeps.run import sweep as study_sweep
from nona.queries.workflows.facts import provenance_of
from nona.queries.workflows.preparation import prepare
from nona.scenario.file import load_scenario
from nona.scenario.sample_files import load_sample, scenario_path
from tests.core.filled import filled


def sweep():
    """Two schedulers at two values."""
    scenario = load_scenario(scenario_path("slides_example"))
    values, schedulers = (1.0, 9.0), ("local", "spread")
    request = SweepRequest(
        number="load", values=values, schedulers=schedulers, jobs=30, replications=2, edges=False
    )
    swept = study_sweep(scenario, request, engine="simpy")
    return SweepOutcome.from_fields(swept, settings=request, about=provenance_of(prepare(scenario), ""))


def capacity():
    kept = Estimate(mean=0.99, ci95=(0.98, 1.0))
    of = {"reason": "", "error": 1e-3, "worst": ""}
    enough = ServerCount(servers=2, verdict="keeps", miss=0.01, simulated_hit_rate=kept, **of)
    fewer = ServerCount(servers=1, verdict="misses", miss=float("inf"), simulated_hit_rate=None, **of)
    assert fewer.miss is None
    device = DeviceCapacity(
        gpu="t4",
        scheduler="nona",
        method="simulation",
        servers=2,
        predicted=enough,
        one_fewer=fewer,
        cost=None,
        tried=(fewer, enough),
        if_times_off=None,
        finished=True,
    )
    of = {"target_hit_rate": 0.98, "group": 0, "most": 4096, "best": "t4", "best_scheduler": "nona"}
    return CapacityReport(devices=(device,), **of)


def models():
    made = prepare_model(load_sample("slides_example"), (executor_class("a100-40gb"),))
    counts = configuration_counts(made.tasks, made.decomposition)
    report = contraction(made.contracted, made.costed[0], made.decomposition, counts)
    return inspection(made.costed[0]), report, ConfigurationCounts(configurations=tuple(counts))


def checks():
    rows = comparison_rows(compare(KNOWN["M/D/1"](0.3), Effort(replications=3, scale=0.05, engine="simpy")))
    of = {"effort": "short", "engine": "simpy", "level": 0.999, "replications": 3, "seconds": 1.0}
    return (TheoryResult(rows=tuple(rows), **of),)


@pytest.fixture(scope="module")
def results():
    return [sweep(), capacity(), *models(), *checks(), device_row(devices()["t4"])]


def test_what_is_written_is_read_back_equal_and_an_unknown_key_is_refused(results):
    for result in results:
        sent = json.loads(json.dumps(result.to_json(), allow_nan=False))
        assert type(result).from_json(sent) == result
        with pytest.raises(ValidationError):
            type(result).from_json({**sent, "more": 1})


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=12)


@given(st.lists(st.tuples(CELLS, st.floats(allow_nan=False)), min_size=1, max_size=6))
@examples(60)
def test_csv_keeps_every_cell_and_runs_none(rows):
    frame = pd.DataFrame(rows, columns=["=name", "value"])
    read = list(csv.reader(io.StringIO(csv_bytes(frame).decode())))
    assert read[0] == ["'=name", "value"]
    for (name, value), (cell, number) in zip(rows, read[1:], strict=True):
        assert not cell.startswith(("=", "+", "-", "@", "\t"))
        assert cell.removeprefix("'") == name.removeprefix("'")
        assert float(number) == value


def test_parquet_keeps_types_also_of_columns_without_a_value_and_writes_mixed_columns_as_text():
    frame = pd.DataFrame({"n": [1, 2], "s": ["=a", None], "x": [0.5, float("nan")], "m": [1, "two"]})
    back = pd.read_parquet(io.BytesIO(parquet_bytes(frame)))
    assert list(back["n"]) == [1, 2]
    assert back["n"].dtype == "int64"
    assert back["s"][0] == "=a"
    assert back["s"].isna()[1]
    assert list(back["m"]) == ["1", "two"]
    empty, full = (pd.DataFrame({"kWh": [value, None]}) for value in (None, 0.5))
    for frame in (empty, full):
        assert pd.read_parquet(io.BytesIO(parquet_bytes(frame)))["kWh"].dtype == "float64"


@pytest.mark.parametrize("name", section_titles())
def test_examples_in_the_text_are_true_and_nothing_is_left_blank(name):
    section = next(s for s in sections() if s.name == name)
    assert section.text
    assert "{{" not in section.text.replace("{{Nona Planner contributors}}", "")
    test = doctest.DocTestParser().get_doctest(
        section.text.replace("```", ""), {}, section.name, section.name, 0
    )
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    if section.name in ("placement", "statistics", "mig"):
        assert test.examples


def test_every_scheduler_is_there_with_what_it_does_and_titles_are_unique():
    text = next(s.text for s in sections() if s.name == "schedulers")
    for name in scheduler_names():
        found = get_scheduler(name)
        for part in (f"**{name}**", found.network_view.name, found.summary):
            assert part in text
    assert __version__ in next(s.text for s in sections() if s.name == "cite")
    titles = section_titles()
    assert len(set(titles.values())) == len(titles) == len(sections()) >= 15


def test_the_filter_finds_what_holds_all_words_and_nothing_else():
    for query in ("MIG slice", "pollaczek", "warm-up replications", "delete"):
        found = matching(query)
        assert found
        words = query.casefold().split()
        for section in sections():
            holds = all(w in (section.title + "\n" + section.text).casefold() for w in words)
            assert (section in found) == holds
    assert matching("") == sections()
    assert matching("no such word as xyzzy") == ()
    assert matching("limits")[0].name == "limits"


def facts(total_s, **shares):
    sigma = {"given": 0.0, "measured": 0.05, "calibrated": 0.12, "modelled": 0.35}
    shown = {"provenance": shares, "sigma": {p: sigma[p] for p in shares}}
    return filled(ModelFacts, total_compute_s=total_s, critical_path_s=total_s, **shown)


def test_given_times_have_no_range_and_models_count_by_their_time():
    assert times_error([facts(1.0, given=1.0), facts(2.0, measured=0.5, given=0.5)]) is None
    assert times_error([]) is None
    assert mean_if_off(MeanParts(mean_s=1.0, compute_s=1.0), None) is None
    error = times_error([facts(3.0, given=1.0), facts(1.0, modelled=1.0)])
    factors = [math.exp(sign * 1.6448536 * 0.35) for sign in (-1, 1)]  # three quarters of the work are given
    assert (error.low, error.high) == pytest.approx(tuple(0.75 + 0.25 * f for f in factors))


@pytest.mark.parametrize("load", [0.1, 0.3, 0.55])
def test_one_queue_is_exact(load):
    """M/M/1: T = S / (1 − ρ), with S and ρ both scaled by the factor."""
    service_s = 2.0
    parts = MeanParts(service_s / (1 - load), service_s, service_s * load / (1 - load), load)
    found = mean_if_off(parts, TimesError(0.56, 1.7))
    for factor, told in ((0.56, found.low_s), (1.7, found.high_s)):
        assert told == pytest.approx(factor * service_s / (1 - factor * load))


def test_background_stays_waits_within_a_job_scale_and_overload_has_no_upper_end():
    parts = MeanParts(mean_s=10.0, compute_s=4.0, server_wait_s=1.0, load=0.5, background=0.5)
    found = mean_if_off(parts, TimesError(0.5, 2.0))  # all load is background: waits scale with times alone
    assert (found.low_s, found.high_s) == (7.5, 15.0)
    # On an idle cluster nobody else is waited for: what waits are there are for tasks of the same job.
    parts = MeanParts(mean_s=3.5, compute_s=2.5, server_wait_s=1.0, load=1e-6)
    found = mean_if_off(parts, TimesError(0.5, 2))
    assert (found.low_s, found.high_s) == (pytest.approx(1.75, rel=1e-4), pytest.approx(7.0, rel=1e-4))
    parts = MeanParts(mean_s=3.0, compute_s=1.0, server_wait_s=2.0, load=0.8)
    found = mean_if_off(parts, TimesError(0.5, 1.5))
    assert found.high_s is None
    assert "to no steady state" in off_text(found)


@pytest.mark.parametrize("half", [0.01, 0.3, 0.9])
def test_the_range_if_times_are_off_holds_the_interval_of_the_mean(half):
    bare = MeanParts(mean_s=1.0, compute_s=0.8, server_wait_s=0.1, load=0.4)
    alone, error = mean_if_off(bare, TimesError(0.8, 1.25)), TimesError(0.8, 1.25)
    both = mean_if_off(replace(bare, ci95=(1 - half, 1 + half)), error)
    assert both.low_s == pytest.approx(1 - math.hypot(1 - alone.low_s, half))
    assert both.high_s == pytest.approx(1 + math.hypot(alone.high_s - 1, half))
    assert both.low_s <= min(1 - half, alone.low_s) < max(1 + half, alone.high_s) <= both.high_s


def test_both_ends_are_in_one_unit():
    for low_s, high_s, told in (
        (0.00098, 0.00142, "0.98 to 1.5 ms"),
        (0.12, 0.36, "120 to 360 ms"),
        (0.7, 2.3, "0.7 to 2.3 s"),
    ):
        assert off_text(ErrorRange(low_s=low_s, high_s=high_s)).startswith(f"{told} if")


DOCS = Path(__file__).parents[3] / "evidence" / "notebook" / "validation.md"
REMEDY = "run: python -m evidence.pages evidence/notebook/validation.md"
QUICK = Effort(replications=4, scale=0.1)
NOTHING = Interval(0.0, 0.0, 1)


def made_up(*agreements, load=0.5, trouble=()):
    known = replace(KNOWN["M/M/1"](load), expected=tuple(a.expected for a in agreements))
    return Comparison(known, agreements, NOTHING, NOTHING, trouble)


GOOD = Agreement(Expected(0.010, 0.010, rivals={"near": 0.0105, "far": 0.02}), Interval(0.0104, 0.0005, 10))
WRONG = Agreement(Expected(0.010, 0.010, "some"), Interval(0.012, 0.001, 10))
BETWEEN = Agreement(Expected(0.010, 0.020, "others"), Interval(0.015, 0.001, 10))
VAGUE = Agreement(Expected(0.010, 0.010), Interval(0.012, 0.004, 10))
ABOVE = Agreement(Expected(0.010, 0.020), Interval(0.022, 0.003, 10))


def test_rows_say_error_interval_and_verdict_and_the_summary_counts_them():
    rows = comparison_rows(made_up(GOOD, WRONG, BETWEEN, ABOVE))
    assert [r.verdict for r in rows] == ["agrees", "differs", "agrees", "agrees"]
    assert [r.error_percent for r in rows] == pytest.approx([4.0, 20.0, 0.0, 10.0])
    assert [r.half_width_percent for r in rows] == pytest.approx(
        [4.80769, 8.33333, 6.66667, 13.63636], rel=1e-5
    )
    assert [r.to_ms for r in rows] == [None, None, 20.0, 20.0]
    assert rows[0].told_apart_from == ("far",)
    assert comparison_rows(made_up(VAGUE))[0].verdict == "unclear"
    assert [r.jobs for r in rows] == ["", "some", "others", ""]
    assert {r.verdict for r in comparison_rows(made_up(GOOD, trouble=("why",)))} == {"no steady state"}
    summary = theory_summary(comparison_rows(made_up(GOOD, WRONG, BETWEEN)))
    assert (summary.rows, summary.agree) == (3, 2)
    assert (summary.mean_error, summary.largest_error) == pytest.approx((0.08, 0.2))
    assert (summary.worst, summary.half_width) == pytest.approx((0.2 / (1 / 12), 0.0666667), rel=1e-5)
    assert theory_summary([]).rows == 0
    assert theory_sentence(comparison_rows(made_up(GOOD, VAGUE))) == (
        "1 of 2 means agree with theory, 1 within intervals wider than ± 25 % (longer runs narrow them), "
        "none differs."
    )


def test_theory_alone_has_the_same_columns():
    known = KNOWN["M/G/1 with priorities"](0.6)
    alone, both = theory_rows(known), comparison_rows(known_result(known.name, 0.6, QUICK))
    assert [r.jobs for r in alone] == ["urgent", "usual", "late"]
    for short, long in zip(alone, both, strict=True):
        assert dict(short).items() <= dict(long).items()


def test_the_documentation_has_the_times_and_the_means_as_they_are_computed():
    """One system here, on SimPy; all of them below, on the compiled engine."""
    docs, effort = DOCS.read_text("utf-8"), Effort(engine="simpy")
    assert docs.startswith(validation_markdown(validation_report())), REMEDY
    text = theory_markdown([known_result("M/D/1", 0.3, effort)], effort)
    (line,) = (line for line in text.splitlines() if line.startswith("| M/D/1"))
    assert line in docs, REMEDY


@pytest.mark.verify
def test_the_documentation_is_what_the_command_writes():
    assert DOCS.read_text("utf-8") == validation_page(Effort(engine="compiled")), REMEDY
