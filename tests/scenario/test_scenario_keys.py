"""The page on scenario files and the words of the schema."""

from pathlib import Path

import pytest

from nona.core.tables import between_marks
from nona.scenario.keys import keys_text, main, matching_keys
from nona.scenario.words import fields_of, parts, words

PAGE = Path(__file__).parents[2] / "docs" / "scenario-file.md"


@pytest.mark.parametrize("place", [place for place, _ in parts()])
def test_every_field_says_what_it_is(place):
    for name, said in fields_of(dict(parts())[place]).items():
        assert said.title, (place, name)
        assert said.about.endswith("."), (place, name)


def test_a_condition_names_a_field_beside_it_and_values_it_can_have():
    for place, part in parts():
        for name, said in fields_of(part).items():
            if said.when is None:
                continue
            other, values = said.when
            beside = fields_of(part)[other]
            possible = beside.choices or {True: "", False: ""}
            assert set(values() if callable(values) else values) <= set(possible), (place, name)


def test_places_with_numbers_and_names_of_entries_are_found():
    assert words(("plan", "prices", "gpus", "l4")).title == "GPUs"
    assert words(("cluster", "servers", 3)).title == "Servers"
    with pytest.raises(KeyError):
        words(("cluster", "servers", 0, "colour"))
    with pytest.raises(KeyError):
        words(("seed", "more"))


def test_the_page_has_the_keys_as_the_schema_says_them(tmp_path):
    shown = PAGE.read_text("utf-8")
    assert keys_text() in shown, "run: python -m nona.scenario.keys docs/scenario-file.md"
    copy = tmp_path / "page.md"
    copy.write_text(between_marks(shown, "old"), "utf-8")
    main(copy)
    assert copy.read_text("utf-8") == shown


def test_a_search_finds_keys_by_what_they_do():
    assert len(matching_keys("idle container kept")) == 1
    assert matching_keys(" ") == []
