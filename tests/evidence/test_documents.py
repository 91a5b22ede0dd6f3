"""What documents say of the shipped studies is what these hold."""

import re
from pathlib import Path

import pytest

from evidence.architecture import picture
from evidence.reports import (
    decisions,
    elastic,
    paper,
    serverless,
    training,
)
from evidence.reports.prediction import surely_outside, within
from nona.cli.commands.studies import STUDIES
from nona.core.registry import load
from nona.queries.schedulers.registry import scheduler_names
from nona.queries.study import shipped
from nona.queries.study.tested_range import error
from nona.queries.study_results import PredictionMap

DOCS = Path(__file__).resolve().parents[2] / "docs"
GAMMA = dict.fromkeys(("ensemble_bursty", "gamma gaps, cv 2", "gamma gaps, cv 3"), "gamma gaps, cv 2 and 3")
OTHER = GAMMA | {"slides_example": "evenly spaced", "trace": "trace", "bursts (MMPP)": "MMPP"}


def good(name, chosen):
    points = [p for p in shipped.stored_result(PredictionMap).points if chosen(p) and error(p) is not None]
    row = [len(points), *(within(points, bound)[0] for bound in (0.05, 0.1, 0.2))]
    sure = sum(surely_outside(p, 0.1) for p in points)
    return f"| {name} | {' | '.join(map(str, [*row, sure]))} |"


def one_by_one(point):
    return point.scenario not in OTHER


ROWS = [
    good("Poisson, queries stay whole", lambda p: one_by_one(p) and not p.split),
    good("Poisson, split", lambda p: one_by_one(p) and p.split),
    *(good(kind, lambda p, kind=kind: OTHER.get(p.scenario) == kind) for kind in OTHER.values()),
]


def test_the_formula_is_as_good_as_documents_state():
    stated = {
        "../README.md": [f"under {len(scheduler_names())} schedulers"],
        "placement.md": ROWS,
    }
    for name, texts in stated.items():
        flat = " ".join((DOCS / name).read_text(encoding="utf-8").split())
        assert [text for text in texts if text not in flat] == []


def short(report):
    return lambda data: [report.title(data), *report.findings(data)]


def full(presented):
    return lambda data: presented(data).text()


SECTIONS = [  # document, its part, the lines in it that count, study, report
    ("benchmarks", r"\| placements simu.*?\| ESG's", "^.*", "decisions", short(decisions)),
    ("benchmarks", "ESG slides\n.*", "^.*", "serverless", full(serverless.presented)),
    ("paper-evaluation", "means here\n.*?\n## ", "^.*", "paper", short(paper)),
    ("training", "## The study.*", r"^\| .*", "training", full(training.presented)),
    ("training-elastic", "\n## The study.*", r"^\| .*", "elastic", full(elastic.presented)),
]


KINDS = {shipped.FILES[kind.__name__]: kind for kind in (load(one.result) for one in STUDIES)}


@pytest.mark.parametrize(("name", "part", "lines", "study", "report"), SECTIONS)
def test_every_number_of_a_section_is_in_the_report_of_its_study(name, part, lines, study, report):
    section = re.search(part, (DOCS / f"{name}.md").read_text("utf-8"), re.DOTALL).group()
    found = (*re.findall(lines, section, re.MULTILINE),), report(shipped.stored_result(KINDS[study]))
    stated, told = (set(re.findall(r"\d(?:[\d.,]*\d)?", str(text))) for text in found)
    assert stated - told == set()
    assert len(stated) > 3


def test_the_picture_of_the_rooms_is_that_of_the_imports():
    assert picture() in (DOCS / "architecture.md").read_text("utf-8")
