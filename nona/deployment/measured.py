"""Layers of profiles as measured times of operators: where all their names are those of a model's operators.

A layer of several operators is given to the first of them, the others take no time. Nor does an operator that
no layer names: the engine has fused or removed it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nona.deployment.facts import Ledger
from nona.deployment.found import FoundProfile, MeasuredModel
from nona.models.graph.model import ModelGraph

_RANGE = re.compile(r"\{?ForeignNode\[(.+?)\.\.\.(.+?)\]\}?")
_POINTWISE = re.compile(r"PWN\((.*)\)")
_ENDING = re.compile(r"(?:_copy_(?:output|input)\d*|_clone_\d+)$")


def measured_model(
    profile: FoundProfile, graphs: Mapping[str, ModelGraph], ledger: Ledger
) -> MeasuredModel | None:
    """Return the model, among those of the files, that a profile measured; why there is none is noted."""
    misfits: list[str] = []
    found: dict[str, dict[str, float]] = {}
    for file, graph in graphs.items():
        joined = operator_times(graph, profile.layers)
        if isinstance(joined, str):
            misfits.append(f"{joined!r} is no operator of {file}")
        else:
            found[file] = joined
    what = f"{profile.stem}: its layers as times of operators"
    if len(found) != 1:
        why = f"they are those of {' and of '.join(found)}" if found else "; ".join(misfits[:3])
        ledger.not_used(what, why or "no model.onnx is among the files", profile.place)
        return None
    ((file, seconds),) = found.items()
    zero = sum(1 for time_s in seconds.values() if not time_s)
    key = f"{profile.stem}.batch"
    question = f"inputs that ran together in {profile.place} (none: do not use it)"
    if ledger.dropped(key):
        ledger.not_used(what, "not used, as was answered", profile.place)
        return None
    batch = ledger.number(key, question, profile.place, "count", profile.batch)
    text = f"all join the {len(seconds)} operators of {file}; {zero} are fused or removed and take no time"
    ledger.read(what, text, profile.place)
    return None if batch is None else MeasuredModel(file, graphs[file].name, seconds, int(batch), profile)


def operator_times(graph: ModelGraph, layers: Sequence[tuple[str, float]]) -> dict[str, float] | str:
    """Return the seconds of each operator; else the first name that is none.

    >>> from nona.models.graph.model import Operator
    >>> graph = ModelGraph("g", tuple(Operator(f"/{x}") for x in "abcd"), ())
    >>> operator_times(graph, [("/a + /b", 2.0), ("{ForeignNode[/c.../d]}", 1.0)])
    {'/a': 2.0, '/b': 0.0, '/c': 1.0, '/d': 0.0}
    >>> operator_times(graph, [("/a + /z", 2.0)])
    '/z'
    """
    places = {operator.id: i for i, operator in enumerate(graph.operators)}
    seconds = dict.fromkeys(places, 0.0)
    for layer, time_s in layers:
        names = _names(layer)
        for name in names:
            if name not in places:
                return name
        seconds[min(names, key=places.__getitem__)] += time_s
    return seconds


def _names(layer: str) -> list[str]:
    """Return the operators of a layer: those between the ends of a range are not named."""
    if (inside := _RANGE.fullmatch(layer)) is not None:
        return [inside[1], inside[2]]
    while (inside := _POINTWISE.search(layer)) is not None:
        layer = layer.replace(inside[0], inside[1])
    return [_ENDING.sub("", name.strip()) for name in re.split(r" \+ |, ", layer)]


def measured_csv(models: Sequence[tuple[MeasuredModel, str]]) -> bytes:
    """Return the table of measured times of models, each on a device."""
    rows = [
        f"{_cell(of.model)},{_cell(operator)},{device},{time_s * 1e3:.9g},{of.batch}"
        for of, device in models
        for operator, time_s in of.seconds.items()
    ]
    return "\n".join(["model,operator,device,ms,batch", *rows, ""]).encode()


def _cell(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}"' if re.search(r'[",\n]', name) else name
