"""Theory against simulation as rows, figure and documentation."""

from dataclasses import replace
from pathlib import Path

import pytest

from nona.cost.validation import validation_markdown, validation_report
from nona.report.figures import BAD
from nona.report.studies.figures import theory_figure
from nona.report.studies.validation import comparison_rows, theory_markdown, theory_rows, theory_summary
from nona.report.studies.validation_page import EFFORT, main, validation_page
from nona.simulation.agreement import Agreement, Comparison, Effort, Expected
from nona.simulation.intervals import Interval
from nona.simulation.known_systems import KNOWN, LOADS, known_result

DOCS = Path(__file__).parents[2] / "docs" / "validation.md"
REMEDY = "run: python -m nona.report.studies.validation_page docs/validation.md"
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


def test_rows_say_error_interval_and_verdict():
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


def test_the_summary_counts_and_measures():
    summary = theory_summary(comparison_rows(made_up(GOOD, WRONG, BETWEEN)))
    assert (summary.rows, summary.agree) == (3, 2)
    assert summary.mean_error == pytest.approx(0.08)
    assert summary.largest_error == pytest.approx(0.2)
    assert summary.worst == pytest.approx(0.2 / (1 / 12))
    assert summary.half_width == pytest.approx(0.0666667, rel=1e-5)
    assert theory_summary([]).rows == 0


def test_theory_alone_has_the_same_columns():
    known = KNOWN["M/G/1 with priorities"](0.6)
    alone, both = theory_rows(known), comparison_rows(known_result(known.name, 0.6, QUICK))
    assert [r.jobs for r in alone] == ["urgent", "usual", "late"]
    for short, long in zip(alone, both, strict=True):
        assert dict(short).items() <= dict(long).items()


def test_the_figure_shows_every_row_where_it_belongs():
    comparisons = [made_up(GOOD, WRONG, load=0.3), made_up(GOOD, BETWEEN, load=0.6)]
    rows = [r for c in comparisons for r in comparison_rows(c)]
    made = theory_figure(rows)
    assert [t.name for t in made.data] == ["load 30%", "load 60%"]
    assert list(made.data[0].x) == pytest.approx([4.0, 20.0])
    assert list(made.data[0].error_x.array) == pytest.approx([4.80769, 8.33333], rel=1e-5)
    assert made.data[0].marker.color[1] == BAD != made.data[0].marker.color[0]
    labels = list(made.layout.yaxis.ticktext)
    assert labels == ["M/M/1", "M/M/1: some", "M/M/1: others"]
    for trace in made.data:  # near the line of its label, never on another's
        shown = [labels[round(y)] for y in trace.y]
        assert shown == [h.split(",")[0] for h in trace.text]
    assert "10 to 20 ms" in made.data[1].text[1]


def test_the_markdown_has_a_line_for_every_row():
    effort = Effort(7, level=0.99)
    text = theory_markdown([made_up(GOOD, WRONG), made_up(BETWEEN, load=0.9)], effort)
    lines = [line for line in text.splitlines() if line.startswith("| M/M/1")]
    assert lines == [
        "| M/M/1 | all | 50% | 10 | 10.4 ± 0.5 | +4.0% | agrees | far |",
        "| M/M/1 | some | 50% | 10 | 12 ± 1 | +20.0% | differs | – |",
        "| M/M/1 | others | 90% | 10–20 | 15 ± 1 | +0.0% | agrees | – |",
    ]
    assert "2 of 3 means agree" in text
    assert "7 independent runs" in text
    assert "99.0%" in text


def test_the_page_is_both_validations(monkeypatch):
    monkeypatch.setattr("nona.report.studies.validation_page.KNOWN", {"M/D/1": KNOWN["M/D/1"]})
    text = validation_page(QUICK)
    times = validation_markdown(validation_report())
    comparisons = [known_result("M/D/1", load, QUICK) for load in LOADS]
    assert text == times + "\n" + theory_markdown(comparisons, QUICK)


def test_the_documentation_has_the_modelled_times_as_they_are_computed():
    assert DOCS.read_text("utf-8").startswith(validation_markdown(validation_report())), REMEDY


def test_the_documentation_has_the_means_that_either_engine_finds():
    """One system here, on SimPy; all of them below, on the compiled engine."""
    effort = replace(EFFORT, engine="simpy")
    text = theory_markdown([known_result("M/D/1", 0.3, effort)], effort)
    (line,) = (line for line in text.splitlines() if line.startswith("| M/D/1"))
    assert line in DOCS.read_text("utf-8"), REMEDY


@pytest.mark.verify
def test_the_documentation_is_what_the_command_writes():
    assert DOCS.read_text("utf-8") == validation_page(), REMEDY


def test_the_page_is_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nona.report.studies.validation_page.validation_page", lambda: "text\n")
    main([str(tmp_path / "page.md")])
    main([])
    assert (tmp_path / "page.md").read_text("utf-8") == capsys.readouterr().out == "text\n"
