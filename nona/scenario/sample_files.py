"""The shipped sample models, workflows and scenarios.

They lie in ``sample_models``: beside the package in a checkout, inside it in an installed wheel.
Model names: the ONNX graphs, then the workflows; scenario names: the files of ``scenarios``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nona import app_root
from nona.core.errors import GraphError, ScenarioError
from nona.models.graph.model import ModelGraph
from nona.models.graph.readers import read_model

if TYPE_CHECKING:
    from nona.scenario.schema import Scenario

_MANIFEST = "MANIFEST.json"


@cache
def sample_root() -> Path:
    """Return the folder ``sample_models``.

    Raises ``GraphError`` when the installation lacks it.
    """
    root = app_root() / "sample_models"
    if (root / _MANIFEST).is_file():
        return root
    raise GraphError(
        "Folder 'sample_models': it is missing from this installation; install Nona Planner again."
    )


@cache
def manifest() -> Mapping[str, Mapping[str, Any]]:
    """Name of a sample ONNX graph → its entry in the manifest (figures, origin, licence)."""
    data = json.loads((sample_root() / _MANIFEST).read_text(encoding="utf-8"))
    return MappingProxyType({entry["name"]: MappingProxyType(entry) for entry in data["models"]})


@cache
def workflows() -> Mapping[str, Mapping[str, str]]:
    """Name of a sample workflow → ``description``, ``source`` and ``provenance`` of its times."""
    by_name = {}
    for path in sorted((sample_root() / "workflows").glob("*.json")):
        by_name[path.stem] = MappingProxyType(json.loads(path.read_text(encoding="utf-8"))["graph"])
    return MappingProxyType(by_name)


def sample_names() -> tuple[str, ...]:
    """Return the names of all sample models.

    Returns
    -------
    tuple of str
        ONNX graphs, then workflows.

    Examples
    --------
    >>> {"resnet18", "gpt2", "slides_example"} <= set(sample_names())
    True
    """
    return (*manifest(), *workflows())


def sample_path(name: str) -> Path | None:
    """Return the file of the sample model ``name``, or ``None`` when there is no such sample."""
    if name in manifest():
        return sample_root() / str(manifest()[name]["file"])
    return sample_root() / "workflows" / f"{name}.json" if name in workflows() else None


@cache
def load_sample(name: str) -> ModelGraph:
    """Return the graph of a sample model.

    Parameters
    ----------
    name : str
        A name of :func:`sample_names`.

    Returns
    -------
    ModelGraph
        The model's operators and tensors.

    Raises
    ------
    GraphError
        If no sample has that name.

    Examples
    --------
    >>> len(load_sample("slides_example").operators)
    4
    """
    path = sample_path(name)
    if path is None:
        raise GraphError(f"Sample {name!r}: there is none; choose one of {', '.join(sample_names())}.")
    return read_model(path.read_bytes(), path.name, guarded=False)


@cache
def scenario_names() -> tuple[str, ...]:
    """Return the names of the shipped scenarios.

    Returns
    -------
    tuple of str
        The names in alphabetical order, for :func:`scenario_path`.

    Examples
    --------
    >>> "slides_example" in scenario_names()
    True
    """
    return tuple(path.stem for path in sorted((sample_root() / "scenarios").glob("*.yaml")))


@cache
def shipped_scenario(name: str) -> Scenario:
    """Return the shipped scenario ``name``.

    Raises :class:`~nona.core.errors.NonaError` where there is none.
    """
    from nona.scenario.file import load_scenario

    return load_scenario(scenario_path(name))


@cache
def scenario_families() -> Mapping[str, tuple[str, ...]]:
    """Group the shipped scenarios by topic: queries, what to buy, language models, serverless, training.

    >>> scenario_families()["Training"][0]
    'deadlines_at_least_cost'
    """
    parts = {
        "training": "Training",
        "serverless": "Serverless",
        "language": "Language models",
        "plan": "Planning",
    }
    order = ("Queries", "Planning", "Language models", "Serverless", "Training")
    families: dict[str, list[str]] = {family: [] for family in order}
    for name in scenario_names():
        of = shipped_scenario(name)
        family = next((family for part, family in parts.items() if getattr(of, part)), "Queries")
        families[family].append(name)
    return MappingProxyType({family: tuple(names) for family, names in families.items()})


_PREFIXES = ("Plan: ", "Language: ", "Serverless: ", "Training: ")  # of scenarios' names, by family


def scenario_title(name: str) -> str:
    """Return the name of a shipped scenario without that of its family.

    >>> scenario_title("black_friday"), scenario_title("survive_a_rack")
    ('Black Friday', 'Survive a rack')
    """
    title = shipped_scenario(name).name
    for prefix in _PREFIXES:
        title = title.removeprefix(prefix)
    return title[:1].upper() + title[1:]


@cache
def query_scenario_names() -> tuple[str, ...]:
    """Names of the shipped scenarios that have queries: a workload to place and to simulate.

    >>> "slides_example" in query_scenario_names(), "who_gets_the_v100" in query_scenario_names()
    (True, False)
    """
    return tuple(name for name in scenario_names() if shipped_scenario(name).workload)


def scenario_path(name: str) -> Path:
    """Return the file of the shipped scenario ``name``.

    Parameters
    ----------
    name : str
        A name of :func:`scenario_names`.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ScenarioError
        If no shipped scenario has that name.
    """
    if name not in scenario_names():
        raise ScenarioError(
            [f"Scenario {name!r}: it is not shipped; choose one of {', '.join(scenario_names())}."]
        )
    return sample_root() / "scenarios" / f"{name}.yaml"


def description(name: str) -> str:
    """One line on the sample model ``name``; ``""`` when there is no such sample."""
    return str({**manifest(), **workflows()}.get(name, {}).get("description", ""))


@cache
def scenario_description(name: str) -> str:
    """Describe the purpose of the shipped scenario ``name`` in a sentence or two.

    Raises ``ScenarioError`` when there is no such scenario.
    """
    from nona.scenario.gate import load_yaml

    document = load_yaml(scenario_path(name).read_text(encoding="utf-8"))
    return str(document.get("description", "")) if isinstance(document, dict) else ""
