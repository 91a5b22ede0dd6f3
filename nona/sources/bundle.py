"""Bundles (``.nona.zip``): a scenario with its models, traces and tables, in one ZIP file.

At the top of the archive lie ``scenario.yaml`` and the files that it names, in no folder. Equal content
gives equal bytes. The models are parsed as uploads are, which is in a guarded process.
"""

from __future__ import annotations

from nona.errors import ScenarioError
from nona.foreign.archives import Archive, is_zip
from nona.foreign.limits import MOST_BUNDLE_BYTES as MOST_BYTES
from nona.scenario.file import dump_scenario
from nona.scenario.limits import MAX_BYTES as MOST_SCENARIO_BYTES
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.sources.named import file_names, with_files_renamed
from nona.sources.names import unused_name

SUFFIX = ".nona.zip"
SCENARIO = "scenario.yaml"
MOST_MEMBERS = 101  # the scenario and a hundred files
is_bundle = is_zip


def pack_bundle(scenario: Scenario, sources: Sources) -> bytes:
    """The bundle of a scenario with every file that it names.

    Files from different folders that share a name get names of their own. A query class keeps its label.

    Raises
    ------
    ScenarioError
        When files are missing: all of them are named.

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
    """The files of a bundle by name, :data:`SCENARIO` among them.

    Raises
    ------
    ScenarioError
        In one line, whatever ``data`` is.
    """
    return _BUNDLE.read(data)


def _bad(why: str, remedy: str) -> ScenarioError:
    return ScenarioError([f"Bundle: {why}; {remedy}."])


_BUNDLE = Archive(
    _bad, SCENARIO, MOST_SCENARIO_BYTES, MOST_MEMBERS, MOST_BYTES, "leave weights out of the models"
)
