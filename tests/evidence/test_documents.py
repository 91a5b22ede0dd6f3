"""What documents say of the shipped studies is what these hold."""

import re
from pathlib import Path

import pytest

from evidence.pages import MADE, remade
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
from nona.queries.study_results import PredictionMap
from nona.queries.workflows import shipped
from nona.queries.workflows.tested_range import error

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "evidence" / "notebook"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *NOTEBOOK.glob("*.md")])
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
        "README.md": [f"under {len(scheduler_names())} schedulers"],
        "evidence/notebook/placement.md": ROWS,
    }
    for name, texts in stated.items():
        flat = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert [text for text in texts if text not in flat] == []


def short(report):
    return lambda data: [report.title(data), *report.findings(data)]


def full(presented):
    return lambda data: presented(data).text()


SECTIONS = [  # page of the notebook, its part, the lines in it that count, study, report
    ("benchmarks", r"\| placements simu.*?\| ESG's", "^.*", "decisions", short(decisions)),
    ("benchmarks", "ESG slides\n.*", "^.*", "serverless", full(serverless.presented)),
    ("paper-evaluation", "means here\n.*?\n## ", "^.*", "paper", short(paper)),
    ("training", "## The study.*", r"^\| .*", "training", full(training.presented)),
    ("training-elastic", "\n## The study.*", r"^\| .*", "elastic", full(elastic.presented)),
]


KINDS = {shipped.FILES[kind.__name__]: kind for kind in (load(one.result) for one in STUDIES)}


@pytest.mark.parametrize(("name", "part", "lines", "study", "report"), SECTIONS)
def test_every_number_of_a_section_is_in_the_report_of_its_study(name, part, lines, study, report):
    section = re.search(part, (NOTEBOOK / f"{name}.md").read_text("utf-8"), re.DOTALL).group()
    found = (*re.findall(lines, section, re.MULTILINE),), report(shipped.stored_result(KINDS[study]))
    stated, told = (set(re.findall(r"\d(?:[\d.,]*\d)?", str(text))) for text in found)
    assert stated - told == set()
    assert len(stated) > 3


def id_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if p.stem != "validation"], ids=id_of)
def test_what_is_computed_in_a_page_is_as_it_is_computed(page):
    """The page on validation, which takes longer, has tests of its own."""
    assert remade(page) == page.read_text("utf-8"), f"run: python -m evidence.pages {id_of(page)}"


def test_every_page_that_is_computed_is_there():
    assert {f"{p.parent.name}/{p.stem}" for p in PAGES} >= set(MADE)


def anchors(page):
    """What a link may name in a page: headings as GitHub names them, and anchors of its own."""
    text = page.read_text("utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    named = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return named | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text("utf-8"))
    for path, anchor in links:
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"
