"""The files of the shipped studies: read once into typed results, written again they are the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from nona.results.document import Document
from nona.results.studies import DecisionStudy, Entrant
from nona.study.shipped import (
    rounded_result,
    shipped_decisions,
    shipped_map,
    shipped_network_views,
    shipped_paper,
    shipped_path,
)

READERS = {
    "decisions": shipped_decisions,
    "network_views": shipped_network_views,
    "prediction_map": shipped_map,
    "paper": shipped_paper,
}


@pytest.mark.parametrize("study", READERS)
def test_a_file_read_and_written_again_has_the_same_bytes(study: str) -> None:
    read: Callable[[], Document] = READERS[study]
    found = read()
    written = json.dumps(found.to_json(), allow_nan=False) + "\n"
    assert written.encode() == shipped_path(study).read_bytes()
    assert type(found).from_json(found.to_json()) == found


@pytest.mark.parametrize("study", READERS)
def test_a_file_is_read_once(study: str) -> None:
    assert READERS[study]() is READERS[study]()


def test_an_unknown_key_in_a_cell_is_refused() -> None:
    data = shipped_decisions().to_json()
    data["cells"][0]["surprise"] = 1
    with pytest.raises(ValueError, match="surprise"):
        DecisionStudy.from_json(data)


def test_numbers_are_rounded_to_significant_digits() -> None:
    assert rounded_result(Entrant(mean_s=1 / 3, half_width_s=float("inf"), runs=5), 3) == Entrant(
        mean_s=0.333, runs=5
    )
