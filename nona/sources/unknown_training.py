"""Names in the training part of a scenario file that stand for nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from nona.allocation.policies.registry import get_policy
from nona.errors import NonaError
from nona.scenario.values import named_entry
from nona.sources.near import instead
from nona.sources.samples import sample_names
from nona.training.workload.model_names import batch_of
from nona.training.workload.table import GAVEL, MODELLED, TABLES, shipped_throughputs

MOST = 10_000


def unknown_in_training(
    training: Mapping[str, Any], gpus: Collection[str], models: Mapping[str, Any]
) -> Iterator[str]:
    """One line for each policy, GPU, table, team and model that is not known.

    ``gpus`` are the catalogue's and the scenario's own; ``models`` those inside the scenario.

    >>> list(unknown_in_training({"throughputs": "gavle"}, (), {}))
    ["training.throughputs: 'gavle' is no table and has no file extension; use gavel, or name a CSV file."]
    """
    for i, entry in enumerate(_entries(training.get("policies"))):
        name = _mapping(named_entry(entry)).get("name")
        try:
            if isinstance(name, str):
                get_policy(name)
        except NonaError as error:
            yield f"training.policies[{i}]: {error}"
    table = training.get("throughputs", GAVEL)
    if isinstance(table, str) and table not in TABLES and not PurePath(table).suffix:
        yield (
            f"training.throughputs: {table[:60]!r} is no table and has no file extension; "
            f"{instead(table, TABLES)}, or name a CSV file."
        )
    yield from _gpus("training.prices", training.get("prices"), gpus)
    for i, entry in enumerate(_entries(training.get("jobs"))):
        yield from _job(f"training.jobs[{i}]", _mapping(entry), training, gpus, models)


def training_files(training: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Place and name of each file that the training part names."""
    if isinstance(trace := training.get("trace"), str):
        yield "training.trace", trace
    table = training.get("throughputs", GAVEL)
    if isinstance(table, str) and table not in TABLES and PurePath(table).suffix:
        yield "training.throughputs", table
    for i, entry in enumerate(_entries(training.get("jobs"))):
        model = _costed(_mapping(entry), table, models)
        if model and PurePath(model).suffix:
            yield f"training.jobs[{i}].model", model


def _job(
    place: str,
    job: Mapping[str, Any],
    training: Mapping[str, Any],
    gpus: Collection[str],
    models: Mapping[str, Any],
) -> Iterator[str]:
    yield from _gpus(f"{place}.throughputs", job.get("throughputs"), gpus)
    entities, entity = _mapping(training.get("entities")), job.get("entity")
    if entities and isinstance(entity, str) and entity not in ("", *entities):
        yield f"{place}.entity: {entity[:60]!r} is not among the entities; {instead(entity, entities)}."
    table, model = training.get("throughputs", GAVEL), job.get("model")
    if (costed := _costed(job, table, models)) and not PurePath(costed).suffix:
        yield (
            f"{place}.model: {costed[:60]!r} is no sample and has no file extension; "
            f"{instead(costed, sample_names())}, or name a file."
        )
    measured = table == GAVEL and job.get("kind", "training") == "training" and not job.get("throughputs")
    if measured and isinstance(model, str):
        known = sorted({key.model for key in shipped_throughputs().alone})
        if model not in known:
            yield f"{place}.model: {model[:60]!r} is not in the table gavel; {instead(model, known)}."


def _costed(job: Mapping[str, Any], table: object, models: Mapping[str, Any]) -> str:
    """The model that the cost layer must time, if it is neither a sample nor inside the scenario."""
    name, kind = job.get("model"), job.get("kind", "training")
    if not isinstance(name, str) or job.get("throughputs") or kind == "interactive":
        return ""
    model = batch_of(name)[0]
    there = model in models or model in sample_names()
    return "" if there or (kind != "inference" and table != MODELLED) else model


def _gpus(place: str, values: object, gpus: Collection[str]) -> Iterator[str]:
    for name in list(_mapping(values))[:100]:
        if isinstance(name, str) and name not in gpus:
            yield f"{place}: {name[:60]!r} is not a known device; {instead(name, gpus)}."


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _entries(value: object) -> list[Any]:
    return list(value)[:MOST] if isinstance(value, list | tuple) else []
