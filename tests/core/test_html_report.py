"""The HTML reports: well-formed, self-contained, inert against hostile names, equal to the JSON report."""

import base64
import hashlib
import itertools
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

import nona
from nona.core import figures as axes
from nona.core.html.pieces import chart, document
from nona.core.tables import SHARE, kept_text, mean_text, time_text
from nona.core.units import format_time
from nona.queries.chart_data import SimulationOutcome
from nona.queries.report.advice import scheduler_advice
from nona.queries.report.findings import headline
from nona.queries.report.html import placement_html, simulation_html
from nona.queries.report.placement.comparison import comparison_finding, formula_text, lead_text
from nona.queries.report.placement.tables import LINKS, times
from nona.queries.report.placement.text import early_text, link_finding, plain_notes, verdict
from nona.queries.report.tables import DIFFERENCES
from nona.queries.workflows.outcome import simulation_outcome
from nona.queries.workflows.placement_outcome import placement_outcome
from nona.scenario.file import parse_scenario
from nona.scenario.words import words
from nona.training.report.findings import dollars_text, jct_text, runs_sentence, training_finding
from nona.training.report.html import training_html
from tests.core.filled import but, changed
from tests.training.training_sample import ABOUT
from tests.training.training_sample import outcome as training_outcome

VOID = {"meta", "br", "link", "img"}
HOSTILE = "<img src=x onerror=alert(1)>\"'&</title><script>alert(2)</script>"
MADE = "2026-01-02 03:04 UTC"


class Page(HTMLParser):
    """Collects tags, attributes, text, tables, scripts; notes what is not balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.wrong, self.text, self.rows, self.scripts = [], [], [], [], [], []
        self.feed(text)
        self.close()
        self.wrong += self.open
        self.figures = [json.loads(text) for kind, text in self.scripts if kind == "application/json"]

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append((self.tags[-1][1].get("type"), data))
            return
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def data():
    row = {"model": "slides_example", "rate": "2/s", "slo": "40 ms", "name": HOSTILE}
    names = {"name": HOSTILE, "description": HOSTILE, "schedulers": ["nona", "local", "spread", "jsq-d"]}
    effort = {"jobs": 200, "replications": 3, "warmup": 100}
    busy = {"network": {"utilization": 0.2, "mean_size": "100 MB"}}
    rows = [row, {"model": "slides_example", "rate": "1/s"}]
    scenario = changed(**names, simulation=effort, workload=rows, background=busy)
    prepared = nona.prepare(scenario)
    return simulation_outcome(prepared, nona.simulate(prepared, engine="simpy"), MADE)


@pytest.fixture(scope="module")
def page(data):
    return Page(simulation_html(data))


def test_it_is_balanced_html_with_headings_in_order(page):
    assert page.wrong == []
    first, *others = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert first == 1
    assert 1 not in others
    assert all(b <= a + 1 for a, b in itertools.pairwise([first, *others]))
    charts = [a for _, a in page.tags if a.get("class") == "chart"]
    assert len(charts) == len(page.figures) >= 6
    assert all(a["role"] == "img" and a["aria-label"] for a in charts)
    assert all(a.get("scope") in ("col", "row") for tag, a in page.tags if tag == "th")


def test_it_asks_for_nothing_runs_only_its_own_scripts_and_names_are_text(data, page):
    text = simulation_html(data)
    assert not {tag for tag, _ in page.tags} & {"img", "link", "iframe", "object", "embed", "form"}
    loading = {"src", "href", "xlink:href", "data", "action", "poster", "srcset", "style"}
    for _, attributes in page.tags:
        assert not attributes.keys() & loading
        assert not [a for a in attributes if a.startswith("on")]
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none';")
    assert "'unsafe-eval'" not in policy
    run = [script for kind, script in page.scripts if kind is None]
    plotly, own = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in run)
    assert f"script-src 'sha256-{plotly}' 'sha256-{own}';" in policy
    assert run[0] == get_plotlyjs()
    assert HOSTILE in "".join(page.text)
    assert "<img src=x" not in text
    assert any(HOSTILE in row for rows in page.rows for row in rows)


def test_a_page_without_charts_has_no_script():
    page = Page(document(HOSTILE, []))
    assert page.wrong == page.scripts == []
    assert "script-src" not in str(page.tags)


def test_equal_data_give_equal_bytes_and_bars_are_as_long_as_their_means(data, page):
    again = SimulationOutcome.from_json(json.loads(json.dumps(data.to_json())))
    assert simulation_html(again) == simulation_html(data)
    assert MADE in simulation_html(data)
    bars, split = [f["data"] for f in page.figures if f["layout"].get("barmode") == "stack"]
    simulated = [1e3 * of.mean for of in data.placement.simulated.models.values()]
    assert np.sum([trace["x"] for trace in split], axis=0) == pytest.approx(simulated)
    widths = np.sum([trace["x"] for trace in bars], axis=0)
    means = [s.jct_s.mean for s in data.report.schedulers.values()]
    ratios = [width / mean for width, mean in zip(widths, means, strict=True)]
    assert max(ratios) == pytest.approx(min(ratios))


def test_its_numbers_the_scenario_and_the_command_are_those_of_the_report(data, page):
    found = data.report.schedulers
    head = next(r for r in page.rows if r[:3] == ["scheduler", "state", "mean JCT"])
    results = page.rows[page.rows.index(head) + 1 :][: len(found)]
    for row, (name, s) in zip(results, found.items(), strict=True):
        cells = dict(zip(head, row, strict=True))
        assert cells["scheduler"] == name
        assert cells["mean JCT"] == mean_text(s.jct_s, format_time)
        assert cells["SLO hits"] == mean_text(s.slo_hit_rate, kept_text)
        assert cells["completed"] == f"{s.jobs.completed:,}"
    "".join(page.text)
    baseline = next(iter(data.differences))
    for told in DIFFERENCES.fill(data.differences[baseline]).texts():
        assert list(told.values()) in page.rows
    codes = [t for t in page.text if t.startswith(("nona ", "version:"))]
    assert "nona simulate scenario.yaml --html report.html" in codes
    scenario = parse_scenario(next(c for c in codes if c.startswith("version:")))
    assert scenario.simulation.jobs == 200
    assert data.about.seed == scenario.seed


def test_slo_hits_per_window_are_drawn_where_a_job_has_an_slo(data):
    assert "SLO hits over time" in simulation_html(data)
    none = but(data, report=but(data.report, slo_over_time={}))
    assert "SLO hits over time" not in simulation_html(none)


def test_the_finding_names_the_shortest_and_what_is_overloaded(data):
    changed = data.to_json()
    schedulers = changed["report"]["schedulers"]
    schedulers["spread"] |= {"state": "overloaded", "state_reason": "the link is full"}
    schedulers["spread"]["jct_s"] |= {"mean": None, "ci95": None}
    full = SimulationOutcome.from_json(changed)
    page = Page(simulation_html(full))
    assert page.wrong == []
    said = "".join(page.text)
    told = headline(full.report.schedulers, full.differences, full.off).text
    assert told in said
    assert "spread is overloaded" in told
    assert scheduler_advice(full.report.schedulers, full.differences) in said
    assert "spread: the link is full" in said
    for s in schedulers.values():
        s["state"] = "overloaded"
    none = Page(simulation_html(SimulationOutcome.from_json(changed)))
    assert none.wrong == []
    assert "no mean response time exists" in "".join(none.text)


def test_a_placement_has_its_lead_its_configurations_and_the_waits_of_its_links():
    prepared = nona.prepare(changed())
    data = placement_outcome(prepared, nona.place(prepared), MADE)
    page = Page(placement_html(data))
    assert page.wrong == []
    text = "".join(page.text)
    assert time_text(data.nona.objective_s) in text
    assert lead_text(data.nona) in text
    assert formula_text(data.nona) in text
    assert comparison_finding(data).removeprefix("nona: ") in text
    assert verdict(data.nona, data.local) in text
    for row in times(data.nona).texts():
        assert list(row.values()) in page.rows
    noted = "Restricted: interior of 10 tasks, 2 kinds."
    told = Page(placement_html(but(data, nona=but(data.nona, notes=(noted,), objective="slo"))))
    assert noted not in "".join(told.text)
    assert plain_notes([noted])[0] in "".join(told.text)
    assert words("objective").choices["slo"] in "".join(told.text)
    early = "".join(Page(placement_html(but(data, ended_early_s=3.0))).text)
    assert early_text(3.0) in early
    assert early_text(3.0) not in text
    placed = (c for m in data.nona.models.values() for s in m.subgraphs for c in s.configurations)
    shown = [c.probability for c in placed if c.probability > 0.01]
    assert all(any(SHARE.show(p) in row for row in page.rows) for p in shown)
    prepared = nona.prepare(changed("racks_and_nics", objective="formula"))
    data = placement_outcome(prepared, nona.place(prepared), MADE)
    page = Page(placement_html(data))
    links = data.nona.predicted.links
    rows = {row[0]: row for row in page.rows if len(row) == 6}
    assert [link.name for link in links] == ["server out", "rack up", "core", "rack down", "server in"]
    for link, told in zip(links, LINKS.fill(links).texts(), strict=True):
        assert rows[link.name] == list(told.values())
    assert link_finding(links) in "".join(page.text)


def test_a_figure_is_the_one_of_the_app_and_cannot_end_its_script():
    figure = axes.figure(300)
    axes.add_points(
        figure, HOSTILE, [1, None, 100], [1.0, 2.0, 4.0], axes.PLAIN, "</script>%{y:.1f}", joined=True
    )
    page = Page(document("A page", [chart("A finding", figure, HOSTILE)]))
    assert page.wrong == []
    (drawn,) = page.figures
    (trace,) = drawn["data"]
    assert (trace["x"], trace["y"], trace["hovertemplate"]) == (
        [1, None, 100],
        [1.0, 2.0, 4.0],
        figure.data[0].hovertemplate,
    )
    assert drawn["layout"]["height"] == 300
    (picture,) = [a for _, a in page.tags if a.get("class") == "chart"]
    assert picture["aria-label"] == HOSTILE


def test_the_report_on_training_says_what_the_page_says_escapes_names_and_says_which_order_is_not_sure():
    data = training_outcome()
    told = but(ABOUT, name=HOSTILE, description=HOSTILE)
    text = training_html(told, data.report, ["A note of the command."])
    page = Page(text)
    assert page.wrong == []
    assert text == training_html(told, data.report, ["A note of the command."])
    said = " ".join(page.text)
    found = training_finding(data.report)
    for sentence in (found.lead, found.beside, "A note.", "A note of the command."):
        assert sentence in said
    for name, policy in data.report.policies.items():
        (row,) = (r for r in page.rows if r[0] == name and jct_text(policy.jct_s) in r)
        assert dollars_text(policy.cost_usd) in row
    policies = training_outcome().report.policies
    assert runs_sentence(policies) == ""  # 2 ± 0.2 h against 3 ± 0.3 h
    names = list(policies)

    def with_interval(of):
        means = {n: p.jct_s.mean for n, p in policies.items()}
        ends = {n: None if of is None else (m - of, m + of) for n, m in means.items()}
        return runs_sentence({n: but(p, jct_s=but(p.jct_s, ci95=ends[n])) for n, p in policies.items()})

    assert with_interval(3600.0) == ""
    undecided = but(data.report, level=(names[1],))
    assert f"without a clear difference from {names[1]}" in training_finding(undecided).beside
    assert "figures come from one run" in with_interval(None)
    assert with_interval(0.0) == ""  # nothing is drawn
    assert runs_sentence({names[0]: policies[names[0]]}) == ""
