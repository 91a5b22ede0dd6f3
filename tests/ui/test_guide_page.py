"""The Guide: found by its page, by its filter, and by the links on other pages."""

from __future__ import annotations

from typing import Any

import pytest
from app_driver import Open

from nona.report.guide import matching, sections
from nona.ui.widgets.terms import GUIDE_PARAMETER as PARAMETER


def titles(at: Any) -> list[str]:
    return [s.value for s in at.subheader]


def test_all_sections_are_there_with_anchors(open_page: Open) -> None:
    at = open_page("13_guide")
    assert at.title[0].value == "Guide"
    assert titles(at) == [s.title for s in sections()]
    assert [s.anchor for s in at.subheader] == [s.name for s in sections()]
    shown = [m.value for m in at.markdown]
    assert all(s.text in shown for s in sections())
    assert all(f"(#{s.name})" in shown[0] for s in sections())


def test_the_filter_shows_what_holds_the_words(open_page: Open) -> None:
    at = open_page("13_guide")
    at.text_input(key="guide-find").set_value("pollaczek wait").run()
    assert titles(at) == [s.title for s in matching("pollaczek wait")]
    assert 0 < len(titles(at)) < len(sections())
    at.text_input(key="guide-find").set_value("xyzzy nothing").run()
    assert "nor a section contains" in at.info[0].value
    at.text_input(key="guide-find").set_value("").run()
    assert len(titles(at)) == len(sections())


def test_a_link_opens_its_section(open_page: Open) -> None:
    at = open_page("13_guide")
    at.query_params[PARAMETER] = "mig"
    at.run()
    assert titles(at) == ["MIG and MPS"]
    at.query_params[PARAMETER] = "no such section"
    at.run()
    assert len(titles(at)) == len(sections())


@pytest.mark.parametrize("page", ["4_cluster", "5_workload", "12_validation"])
def test_pages_point_to_it(open_page: Open, page: str) -> None:
    links = [link.proto for link in open_page(page).get("page_link")]
    assert any(link.page == "guide" for link in links)
