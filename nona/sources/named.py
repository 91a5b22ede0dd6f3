"""Which files a scenario names: models, arrival traces and tables of measured times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from nona.scenario.schema import Scenario
from nona.sources.samples import sample_names

Kind = Literal["model", "trace", "measured"]
KINDS: tuple[Kind, ...] = ("model", "trace", "measured")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that stands at ``place`` in a scenario."""

    place: str
    name: str
    kind: Kind


def named_files(scenario: Scenario) -> Iterator[NamedFile]:
    """Every place that names a file, in the order of the scenario.

    Models that are samples, or held by the scenario itself, are no files.
    """
    for i, row in enumerate(scenario.workload):
        if is_file(scenario, row.model):
            yield NamedFile(f"workload[{i}].model", row.model, "model")
        if row.arrivals.trace:
            yield NamedFile(f"workload[{i}].arrivals.trace", row.arrivals.trace, "trace")
    if scenario.cost.measured:
        yield NamedFile("cost.measured", scenario.cost.measured, "measured")


def is_file(scenario: Scenario, model: str) -> bool:
    """Whether a model is to be read from a file."""
    return model not in scenario.models and model not in sample_names()


def file_names(scenario: Scenario, *kinds: Kind) -> list[str]:
    """The names of the files of these kinds, or of all, each once, one kind after the other."""
    found = sorted(named_files(scenario), key=lambda file: KINDS.index(file.kind))
    return list(dict.fromkeys(file.name for file in found if not kinds or file.kind in kinds))


def with_files_renamed(scenario: Scenario, renamed: Callable[[str], str]) -> Scenario:
    """The scenario with another name in every place that names a file; rows keep their labels.

    The label is what random streams are named after: with another one the arrivals would differ.
    """
    rows = []
    for row in scenario.workload:
        arrivals = row.arrivals
        if arrivals.trace:
            arrivals = arrivals.model_copy(update={"trace": renamed(arrivals.trace)})
        model = renamed(row.model) if is_file(scenario, row.model) else row.model
        same = row.model_copy(update={"model": model, "arrivals": arrivals})
        rows.append(same if same.label == row.label else same.model_copy(update={"name": row.label}))
    cost = scenario.cost
    if cost.measured:
        cost = cost.model_copy(update={"measured": renamed(cost.measured)})
    return scenario.model_copy(update={"workload": tuple(rows), "cost": cost})
