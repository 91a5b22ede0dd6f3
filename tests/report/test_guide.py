"""The guide: its examples are true, what is computed is there, everything can be found."""

from __future__ import annotations

import doctest

import pytest

from nona import __version__
from nona.report.guide import Section, matching, section_titles, sections
from nona.schedulers.registry import get_scheduler, scheduler_names


@pytest.mark.parametrize("section", sections(), ids=lambda s: s.name)
def test_examples_in_the_text_are_true_and_nothing_is_left_blank(section: Section) -> None:
    assert section.text
    assert "{{" not in section.text.replace("{{Nona Planner contributors}}", "")
    test = doctest.DocTestParser().get_doctest(
        section.text.replace("```", ""), {}, section.name, section.name, 0
    )
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    if section.name in ("placement", "statistics", "mig"):
        assert test.examples


def test_every_scheduler_is_there_with_what_it_does() -> None:
    text = next(s.text for s in sections() if s.name == "schedulers")
    for name in scheduler_names():
        found = get_scheduler(name)
        for part in (f"**{name}**", found.network_view.name, found.summary):
            assert part in text
    assert __version__ in next(s.text for s in sections() if s.name == "cite")


def test_titles_and_names_are_unique() -> None:
    titles = section_titles()
    assert len(set(titles.values())) == len(titles) == len(sections()) >= 15


def test_the_filter_finds_what_holds_all_words_and_nothing_else() -> None:
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
