"""Scenarios opened wherever they lie: a file, or a bundle with its files inside.

At the top of the archive lie ``scenario.yaml`` and the files that it names, in no folder. Equal content
gives equal bytes. The models are parsed as uploads are, which is in a guarded process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from nona.core.errors import ScenarioError
from nona.core.foreign import MOST_BUNDLE_BYTES as MOST_BYTES
from nona.core.foreign import Archive, is_zip
from nona.scenario.file import (
    Check,
    dump_scenario,
    parse_scenario,
    read_scenario_bytes,
    scenario_from_mapping,
    scenario_text,
    written_scenario,
)
from nona.scenario.gate import MAX_BYTES as MOST_SCENARIO_BYTES
from nona.scenario.gate import load_yaml
from nona.scenario.lookup import Sources, file_names, unused_name, with_files_renamed
from nona.scenario.schema import Scenario, numbered
from nona.scenario.unknown import missing_files, unknown_names

SUFFIX = ".nona.zip"
SCENARIO = "scenario.yaml"
MOST_MEMBERS = 101  # the scenario and a hundred files
is_bundle = is_zip


def pack_bundle(scenario: Scenario, sources: Sources) -> bytes:
    """Return the bundle (``.nona.zip``) of a scenario with every file that it names.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    sources : Sources
        Where its files are.

    Returns
    -------
    bytes
        A ZIP archive, equal for equal content. Files of one name from different folders are renamed; query
        classes keep their labels.

    Raises
    ------
    ScenarioError
        If files are missing; all of them are named.

    Examples
    --------
    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 2}]}, workload: [{model: gpt2, rate: 5}]}"
    >>> data = pack_bundle(parse_scenario(text), Sources())
    >>> list(read_bundle(data)), data == pack_bundle(parse_scenario(text), Sources())
    (['scenario.yaml'], True)
    """
    sources.check(scenario)
    names: dict[str, str] = {}
    for name in file_names(scenario):
        names[name] = unused_name(name, [SCENARIO, *names.values()])
    members = {names[name]: sources.read(name) for name in names}
    renamed = with_files_renamed(scenario, lambda name: names[name])
    return _BUNDLE.write({SCENARIO: dump_scenario(renamed).encode(), **dict(sorted(members.items()))})


def read_bundle(data: bytes) -> dict[str, bytes]:
    """Return the files of a bundle by name, :data:`SCENARIO` among them.

    Raises ``ScenarioError`` in one line, whatever ``data`` is.
    """
    return _BUNDLE.read(data)


def _bad(why: str, remedy: str) -> ScenarioError:
    return ScenarioError([f"Bundle: {why}; {remedy}."])


_BUNDLE = Archive(
    _bad, SCENARIO, MOST_SCENARIO_BYTES, MOST_MEMBERS, MOST_BYTES, "leave weights out of the models"
)


class OpenedScenario(NamedTuple):
    """A scenario, and where its files are."""

    scenario: Scenario
    sources: Sources


def open_scenario(path: Path) -> OpenedScenario:
    """Open the scenario in the file or bundle at ``path``; its files lie beside it or inside.

    Parameters
    ----------
    path : Path
        A scenario file, or a bundle (``.nona.zip``).

    Returns
    -------
    OpenedScenario
        The scenario, and the sources that read its files.

    Raises
    ------
    ScenarioError
        With all problems at once, unknown names and missing files included.
    """
    return open_bytes(read_scenario_bytes(path), str(path), Sources(path.parent))


def open_bytes(
    data: bytes, name: str, sources: Sources, files_may_be_missing: bool = False
) -> OpenedScenario:
    """Open a scenario file or a bundle.

    Parameters
    ----------
    data : bytes
        A scenario file, or a bundle.
    name : str
        Name of the file.
    sources : Sources
        Has the files that a scenario file names.
    files_may_be_missing : bool, optional
        Report missing files only where there are other problems as well.

    Returns
    -------
    OpenedScenario
        The scenario and its files.
    """
    if is_bundle(data):
        members = read_bundle(data)
        data, sources = members.pop(SCENARIO), Sources(in_memory=members)
        check = known_names(sources, files_may_be_missing=False)
        return OpenedScenario(written_scenario(load_yaml(scenario_text(data, name)), check), sources)
    text = scenario_text(data, name)
    return OpenedScenario(parse_scenario(text, known_names(sources, files_may_be_missing)), sources)


def known_names(sources: Sources, files_may_be_missing: bool = True) -> Check:
    """Return the check of :func:`~nona.scenario.file.parse_scenario` that every name stands for something."""

    def check(data: Mapping[str, Any], problems: Sequence[str]) -> list[str]:
        lines = unknown_names(data)
        if problems or lines or not files_may_be_missing:
            lines += missing_files(data, sources)
        return lines

    return check


def edited(before: Scenario, data: Mapping[str, Any]) -> Scenario:
    """Return the scenario that ``data`` describes, checked as one that is opened; files may be missing.

    Names that are unknown in ``before`` already are left to where they stand: they block no other edit. A row
    of tasks that gets another name takes its targets, and the rows that follow it, along.

    Raises ``ScenarioError`` with all that the edit makes wrong.
    """

    def check(data: Mapping[str, Any], problems: Sequence[str]) -> list[str]:
        lines = unknown_names(data)
        old = set(unknown_names(before.model_dump(mode="json"))) if lines else set()
        return [line for line in lines if line not in old]

    return scenario_from_mapping(_with_renamed_rows(before.labels, data), check)


def without_row(before: Scenario, index: int) -> Mapping[str, Any]:
    """Return a scenario's data without one row of tasks and its targets.

    Rows of that name are numbered anew.
    """
    data = before.model_dump(mode="json")
    del data["workload"][index]
    if data["plan"]:
        data["plan"]["targets"].pop(before.labels[index], None)
    others = [label for i, label in enumerate(before.labels) if i != index]
    return _with_renamed_rows(others, data)


def _with_renamed_rows(old: Sequence[str], data: Mapping[str, Any]) -> Mapping[str, Any]:
    rows, language, plan = (data.get(key) for key in ("workload", "language", "plan"))
    if not isinstance(rows, list) or len(rows) != len(old):
        return data
    labels = numbered([row.get("name") or PurePath(str(row.get("model"))).stem for row in rows])
    new = {was: now for was, now in zip(old, labels, strict=True) if was != now}
    if not new:
        return data
    followed = [row | {"after": new.get(row.get("after"), row.get("after"))} for row in language or ()]
    changed = {**data, "language": followed}
    if plan:
        changed["plan"] = plan | {"targets": {new.get(row, row): of for row, of in plan["targets"].items()}}
    return changed
