"""Open a scenario wherever it lies: a YAML or JSON file, or a bundle with its files inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nona.scenario.file import (
    Check,
    parse_scenario,
    read_scenario_bytes,
    scenario_from_mapping,
    scenario_text,
)
from nona.scenario.schema import Scenario
from nona.sources.bundle import SCENARIO, is_bundle, read_bundle
from nona.sources.lookup import Sources
from nona.sources.unknown import missing_files, unknown_names


class Opened(NamedTuple):
    """A scenario, and where its files are."""

    scenario: Scenario
    sources: Sources


def open_scenario(path: Path) -> Opened:
    """The scenario in the file or bundle at ``path``; its files lie beside it or inside.

    Raises
    ------
    ScenarioError
        All that is wrong at once, names that stand for nothing and missing files included.
    """
    return open_bytes(read_scenario_bytes(path), str(path), Sources(path.parent))


def open_bytes(data: bytes, name: str, sources: Sources, files_may_be_missing: bool = False) -> Opened:
    """The scenario that ``data`` holds, text or bundle; ``sources`` has the files that a text names.

    With ``files_may_be_missing`` they are only reported where there are other problems as well.
    """
    if is_bundle(data):
        held = read_bundle(data)
        data, sources = held.pop(SCENARIO), Sources(held=held)
        files_may_be_missing = False
    text = scenario_text(data, name)
    return Opened(parse_scenario(text, known_names(sources, files_may_be_missing)), sources)


def known_names(sources: Sources, files_may_be_missing: bool = True) -> Check:
    """The check of :func:`~nona.scenario.file.parse_scenario` that every name stands for something."""

    def check(data: Mapping[str, Any], problems: Sequence[str]) -> list[str]:
        found = unknown_names(data)
        if problems or found or not files_may_be_missing:
            found += missing_files(data, sources)
        return found

    return check


def edited(before: Scenario, data: Mapping[str, Any]) -> Scenario:
    """The scenario that ``data`` describes, checked as one that is opened; files may be missing.

    Names that are unknown in ``before`` already are left to where they stand: they block no other edit.

    Raises
    ------
    ScenarioError
        All that the edit makes wrong.
    """

    def check(data: Mapping[str, Any], problems: Sequence[str]) -> list[str]:
        found = unknown_names(data)
        old = set(unknown_names(before.model_dump(mode="json"))) if found else set()
        return [line for line in found if line not in old]

    return scenario_from_mapping(data, check)
