"""Results and scenarios made by hand: a field that is not given has the plainest value of its type."""

import json
import types
import typing
from typing import Annotated, Literal, Union

from nona.core.document import Document
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.sample_files import scenario_path

FAST, SLOW = "a100-40gb", "l4"
TASK = {"id": "a", "op_type": "Relu", "compute_ms": {FAST: 10.0, SLOW: 20.0}}
TWO_OFFERS = {  # half of a plan: the question is each test's own
    "name": "two offers",
    "models": {"one": {"nodes": [TASK], "edges": []}},
    "cluster": {"servers": [{"count": 4, "gpu": FAST}], "network": {"capacity": "100 Gbit/s"}},
    "workload": [{"model": "one", "rate": "150/s", "slo": "60 ms"}],
}
NASTY = "<b>x</b><a href='http://e'>"


def filled(kind, /, **given):
    """A result of that kind: 0, no text, nothing in it, unknown, the first of the words that are allowed."""
    fields = {n: f.annotation for n, f in kind.model_fields.items() if n not in given and f.is_required()}
    return kind(**{name: _plainest(of) for name, of in fields.items()}, **given)


def but(result, /, **changes):
    """The same result with these fields changed."""
    return result.model_copy(update=changes)


def changed(name="slides_example", /, **parts):
    """A shipped scenario with these parts in place of its own."""
    return scenario_from_mapping(scenario_to_mapping(load_scenario(scenario_path(name))) | parts)


def drawn(figure):
    """All that a figure gives to be drawn."""
    return json.dumps(json.loads(figure.to_json()), ensure_ascii=False)


def _plainest(of):
    origin, arguments = typing.get_origin(of), typing.get_args(of)
    if origin in (Union, types.UnionType):
        return None if type(None) in arguments else _plainest(arguments[0])
    if origin is Annotated or origin is Literal:
        return arguments[0] if origin is Literal else _plainest(arguments[0])
    if origin is tuple and Ellipsis not in arguments:
        return tuple(map(_plainest, arguments))
    if isinstance(of, type) and issubclass(of, Document):
        return filled(of)
    return of() if origin is None else () if origin is tuple else {}
