"""Terms of the glossary: every one that a page underlines has an entry, every entry is used by a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from app_driver import APP, Open, go, new_session

from nona.report.guide import TERMS, matching_terms
from nona.ui.session.page_list import PAGES, page_file
from nona.ui.widgets.terms import ON_PAGES, term
from nona.ui.widgets.terms import TERM_PARAMETER as PARAMETER

ROOT = APP.parent
LINKED = re.compile(r"\bterm\(\s*[\"']([^\"']+)[\"']")


def linked() -> set[str]:
    files = [*(ROOT / "pages").glob("*.py"), *(ROOT / "nona" / "ui" / "pages").rglob("*.py")]
    return {name for file in files for name in LINKED.findall(Path(file).read_text(encoding="utf-8"))}


def test_every_linked_term_has_an_entry_and_every_entry_is_used() -> None:
    assert linked() <= TERMS.keys()
    assert {"JCT", "SCV", "response", "network view"} <= linked()
    assert {name for names in ON_PAGES.values() for name in names} | linked() == TERMS.keys()
    assert ON_PAGES.keys() == {title for _, title, *_ in PAGES} - {"Guide"}
    with pytest.raises(KeyError):
        term("no such term")


@pytest.mark.parametrize("number", range(len(PAGES) - 1), ids=[name for name, *_ in PAGES[:-1]])
def test_a_page_links_its_terms(number: int) -> None:
    name, title, *_ = PAGES[number]
    at = go(new_session().run(), Path(page_file(name)).stem)
    said = " ".join(c.value for c in at.caption)
    assert all(term(known) in said for known in ON_PAGES[title])


def test_the_guide_shows_the_term_that_was_asked_for(open_page: Open) -> None:
    at = open_page("13_guide")
    at.query_params[PARAMETER] = "SCV"
    at.run()
    assert [s.value for s in at.subheader] == ["Glossary"]
    assert any(TERMS["SCV"] in m.value for m in at.markdown)
    at.query_params[PARAMETER] = "<b>"
    at.run()
    assert not at.exception
    assert len(at.subheader) > 10
    at.text_input(key="guide-find").set_value("squared mean").run()
    assert matching_terms("squared mean") == ("SCV",)
    assert any(m.value.startswith("**SCV**") for m in at.markdown)
