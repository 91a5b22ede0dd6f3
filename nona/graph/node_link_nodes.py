"""One node of a node-link document → one operator, every field checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from nona.errors import GraphError
from nona.graph.limits import MAX_FLOPS, MAX_SIZE_BYTES, MAX_TIME_S, checked
from nona.graph.model import ANY_DEVICE, AttributeValue, Operator, Work
from nona.graph.text import check_name, quote

MAX_ATTRIBUTE_ITEMS = 256
_WORK = {
    "flops": MAX_FLOPS,
    "macs": MAX_FLOPS,
    "read_bytes": MAX_SIZE_BYTES,
    "write_bytes": MAX_SIZE_BYTES,
    "weight_bytes": MAX_SIZE_BYTES,
}
_KNOWN = {"id", "kind", "compute_ms", "compute_s", "scope", "inputs", "outputs", "attributes", *_WORK}
LOOKS = frozenset(
    re.findall(
        r"\w+",
        "class color colour comment constraint description dir fillcolor fixedsize fontcolor "
        "fontname fontsize group height key label layer margin name ordering orientation penwidth "
        "peripheries pos position rank regular shape sides size skew style title tooltip type "
        "weight width x xlabel y z arrowhead arrowsize arrowtail headlabel headport labelangle "
        "labeldistance labelfontcolor labelfontname labelfontsize labelloc lhead ltail minlen "
        "nojustify samehead sametail taillabel tailport",
    )
)
"""Keys about looks, or about other tools: passed over in silence."""


def read_node(node: object, place: int, ignored: dict[str, int]) -> Operator:
    """The operator that ``node``, number ``place`` of the list, describes.

    Keys without a meaning are counted in ``ignored``.

    Raises
    ------
    GraphError
        When a field has the wrong type or an impossible value.

    >>> read_node({"id": "a", "compute_ms": {"v100": 2, "t4": 5}}, 0, {}).compute_s
    {'v100': 0.002, 't4': 0.005}
    """
    if not isinstance(node, Mapping) or "id" not in node:
        raise GraphError(f"Node number {place}: {quote(node)} has no 'id'; give an object with an id.")
    name = node_id(node["id"], f"Node number {place}")
    owner = f"Node {quote(name)}"
    unknown = node.keys() - _KNOWN
    for key in unknown:
        count_ignored(key, ignored)
    return Operator(
        id=name,
        kind=_text(node, "kind", "Task", owner),
        inputs=_names(node.get("inputs", ()), "inputs", owner),
        outputs=_names(node.get("outputs", ()), "outputs", owner),
        attributes=_attributes(node["attributes"], owner) if "attributes" in node else {},
        compute_s=_times(node, owner),
        work=None if _WORK.keys().isdisjoint(node) else _work(node, owner),
        scope=_text(node, "scope", "", owner),
    )


def node_id(value: object, what: str) -> str:
    """An id as text: text itself, or a whole number as NetworkX writes it."""
    if type(value) is int:
        value = quote(value)
    if not isinstance(value, str) or not value:
        raise GraphError(f"{what}: {quote(value)} is no id; give a text or a whole number.")
    return check_name(value, what)


def count_ignored(key: object, ignored: dict[str, int]) -> None:
    """Count ``key`` unless it is about looks only."""
    text = key if isinstance(key, str) else quote(key)
    if text not in LOOKS and (text in ignored or len(ignored) < 1000):
        ignored[text] = ignored.get(text, 0) + 1


def _text(node: Mapping[str, object], key: str, default: str, owner: str) -> str:
    value = node.get(key, default)
    if not isinstance(value, str):
        raise GraphError(f"{owner}: {key}={quote(value)} must be a text; put it in quotes.")
    return check_name(value, f"{owner}, {key}")


def _names(value: object, key: str, owner: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise GraphError(f"{owner}: {key}={quote(value)} must be a list of names of tensors; give a list.")
    for name in value:
        if not isinstance(name, str):
            raise GraphError(f"{owner}: {key} holds {quote(name)}; every entry must be a text.")
        if not name.isprintable():
            check_name(name, f"{owner}, {key}")
    return tuple(value)


def _times(node: Mapping[str, object], owner: str) -> dict[str, float] | None:
    key, factor = ("compute_ms", 1e3) if "compute_ms" in node else ("compute_s", 1.0)
    value = node.get(key)
    if value is None:
        return None
    if key == "compute_ms" and node.get("compute_s") is not None:
        raise GraphError(f"{owner}: it has both compute_ms and compute_s; keep one of them.")
    if not isinstance(value, Mapping):
        value = {ANY_DEVICE: value}
    if not value:
        raise GraphError(f"{owner}: {key} is an empty map; give a number, or at least one device.")
    times = {}
    for device, time in value.items():
        label = key if device == ANY_DEVICE else f"{key}[{quote(device)}]"
        device_name = check_name(device, f"{owner}, device") if isinstance(device, str) else quote(device)
        times[device_name] = checked(time, owner, label, MAX_TIME_S * factor) / factor
    return times


def _work(node: Mapping[str, object], owner: str) -> Work:
    values = {
        key: checked(node[key], owner, key, most)
        for key, most in _WORK.items()
        if key in node and node[key] is not None
    }
    if "flops" not in values and "macs" in values:
        values["flops"] = 2 * values["macs"]  # a multiply-add is two operations
    return Work(**values)


def _attributes(value: object, owner: str) -> dict[str, AttributeValue]:
    if not isinstance(value, Mapping):
        raise GraphError(f"{owner}: attributes={quote(value)} must be an object; give name: value pairs.")
    return {check_name(str(k), f"{owner}, attribute"): _attribute(v, str(k), owner) for k, v in value.items()}


def _attribute(value: object, key: str, owner: str) -> AttributeValue:
    kind = type(value)
    if kind is int or (kind is float and math.isfinite(value)):  # type: ignore[arg-type]
        return value  # type: ignore[return-value]
    if isinstance(value, str):
        return check_name(value, f"{owner}, attribute {quote(key)}")
    if isinstance(value, list | tuple) and len(value) <= MAX_ATTRIBUTE_ITEMS:
        for item in value:
            if isinstance(item, list | tuple):
                break
            _attribute(item, key, owner)
        else:
            return tuple(value)
    raise GraphError(
        f"{owner}: attribute {quote(key)}={quote(value)} must be a finite number, a text, or a short list "
        "of those; remove it."
    )
