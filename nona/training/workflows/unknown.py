"""Names in the part on training that stand for nothing, and what to write instead."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from nona.allocation.registry import get_policy
from nona.core.errors import suggestion
from nona.scenario.gate import entries, mapping
from nona.scenario.lookup import MOST_JOBS, costed_model
from nona.scenario.sample_files import sample_names
from nona.scenario.training import GAVEL, TABLES
from nona.scenario.unknown import known_gpus, unknown_strategies
from nona.training.throughput_table import shipped_throughputs


def unknown_names(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each policy, GPU, table, team and model that is not known.

    >>> list(unknown_names({"training": {"throughputs": "gavle"}}))
    ["training.throughputs: 'gavle' is no table and has no file extension; use gavel, or name a CSV file."]
    """
    training, gpus, models = mapping(data.get("training")), known_gpus(data), mapping(data.get("models"))
    yield from unknown_strategies("training.policies", training.get("policies"), get_policy, most=MOST_JOBS)
    table = training.get("throughputs", GAVEL)
    if isinstance(table, str) and table not in TABLES and not PurePath(table).suffix:
        yield (
            f"training.throughputs: {table[:60]!r} is no table and has no file extension; "
            f"{suggestion(table, TABLES)}, or name a CSV file."
        )
    yield from _gpus("training.prices", training.get("prices"), gpus)
    for i, entry in enumerate(entries(training.get("jobs"), MOST_JOBS)):
        yield from _job(f"training.jobs[{i}]", mapping(entry), training, gpus, models)


def _job(
    place: str,
    job: Mapping[str, Any],
    training: Mapping[str, Any],
    gpus: Collection[str],
    models: Mapping[str, Any],
) -> Iterator[str]:
    yield from _gpus(f"{place}.throughputs", job.get("throughputs"), gpus)
    entities, entity = mapping(training.get("entities")), job.get("entity")
    if entities and isinstance(entity, str) and entity not in ("", *entities):
        yield f"{place}.entity: {entity[:60]!r} is not among the entities; {suggestion(entity, entities)}."
    table, model = training.get("throughputs", GAVEL), job.get("model")
    if (costed := costed_model(job, table, models)) and not PurePath(costed).suffix:
        yield (
            f"{place}.model: {costed[:60]!r} is no sample and has no file extension; "
            f"{suggestion(costed, sample_names())}, or name a file."
        )
    measured = table == GAVEL and job.get("kind", "training") == "training" and not job.get("throughputs")
    if measured and isinstance(model, str):
        in_table = sorted({key.model for key in shipped_throughputs().alone})
        if model not in in_table:
            yield f"{place}.model: {model[:60]!r} is not in the table gavel; {suggestion(model, in_table)}."


def _gpus(place: str, values: object, gpus: Collection[str]) -> Iterator[str]:
    for name in list(mapping(values))[:100]:
        if isinstance(name, str) and name not in gpus:
            yield f"{place}: {name[:60]!r} is not a known device; {suggestion(name, gpus)}."
