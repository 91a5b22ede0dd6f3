"""The Guide: found by its page, its filter and the links on other pages; terms of the glossary."""

import re
from pathlib import Path

import pytest

from nona.report.guide import TERMS, matching, matching_terms, sections
from nona.ui.session.page_list import PAGES
from nona.ui.widgets.terms import GUIDE_PARAMETER, ON_PAGES, TERM_PARAMETER, term

ROOT = Path(__file__).resolve().parents[2]


def titles(at):
    return [s.value for s in at.subheader]


def test_all_sections_are_there_with_anchors(open_page):
    at = open_page("13_guide")
    assert at.title[0].value == "Guide"
    assert titles(at) == [s.title for s in sections()]
    assert [s.anchor for s in at.subheader] == [s.name for s in sections()]
    shown = [m.value for m in at.markdown]
    assert all(s.text in shown for s in sections())
    assert all(f"(#{s.name})" in shown[0] for s in sections())


def test_the_filter_shows_what_holds_the_words(open_page):
    at = open_page("13_guide")
    at.text_input(key="guide-find").set_value("pollaczek wait").run()
    assert titles(at) == [s.title for s in matching("pollaczek wait")]
    assert 0 < len(titles(at)) < len(sections())
    at.text_input(key="guide-find").set_value("xyzzy nothing").run()
    assert "nor a section contains" in at.info[0].value
    at.text_input(key="guide-find").set_value("").run()
    assert len(titles(at)) == len(sections())


def test_a_link_opens_its_section(open_page):
    at = open_page("13_guide")
    at.query_params[GUIDE_PARAMETER] = "mig"
    at.run()
    assert titles(at) == ["MIG and MPS"]
    at.query_params[GUIDE_PARAMETER] = "no such section"
    at.run()
    assert len(titles(at)) == len(sections())


LINKED = re.compile(r"\bterm\(\s*[\"']([^\"']+)[\"']")


def linked():
    files = [*(ROOT / "pages").glob("*.py"), *(ROOT / "nona" / "ui" / "pages").rglob("*.py")]
    return {name for file in files for name in LINKED.findall(Path(file).read_text(encoding="utf-8"))}


def test_every_linked_term_has_an_entry_and_every_entry_is_used():
    assert linked() <= TERMS.keys()
    assert {"JCT", "SCV", "response", "network view"} <= linked()
    assert {name for names in ON_PAGES.values() for name in names} | linked() == TERMS.keys()
    assert ON_PAGES.keys() == {title for _, title, *_ in PAGES} - {"Guide"}
    with pytest.raises(KeyError):
        term("no such term")


def test_the_guide_shows_the_term_that_was_asked_for(open_page):
    at = open_page("13_guide")
    at.query_params[TERM_PARAMETER] = "SCV"
    at.run()
    assert [s.value for s in at.subheader] == ["Glossary"]
    assert any(TERMS["SCV"] in m.value for m in at.markdown)
    at.query_params[TERM_PARAMETER] = "<b>"
    at.run()
    assert len(at.subheader) > 10
    at.text_input(key="guide-find").set_value("squared mean").run()
    assert matching_terms("squared mean") == ("SCV",)
    assert any(m.value.startswith("**SCV**") for m in at.markdown)
