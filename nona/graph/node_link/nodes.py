"""One node of a node-link document → one operator, every field checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeGuard, get_args

from nona.errors import GraphError
from nona.graph.limits import MAX_FLOPS, MAX_SIZE_BYTES, MAX_TIME_S, checked
from nona.graph.model import ANY_DEVICE, AttributeValue, Bound, Operator, Work
from nona.graph.text import MAX_NAME, check_name, quote

MAX_ATTRIBUTE_ITEMS = 256
_WORK = {
    "flops": MAX_FLOPS,
    "macs": MAX_FLOPS,
    "read_bytes": MAX_SIZE_BYTES,
    "write_bytes": MAX_SIZE_BYTES,
    "weight_bytes": MAX_SIZE_BYTES,
}
_TIMES = frozenset({"compute_ms", "compute_s"})
_KNOWN = {"id", "kind", "compute_ms", "compute_s", "scope", "inputs", "outputs", "attributes", *_WORK}
_KNOWN |= {"device", "bound"}
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
"""Keys about looks, or about other tools: ignored without a warning."""


def read_node(node: object, place: int, ignored: dict[str, int], device: str | None = None) -> Operator:
    """The operator that ``node``, number ``place`` of the list, describes.

    Keys without a meaning are counted in ``ignored``; a time without a device is one of ``device``.

    Raises
    ------
    GraphError
        When a field has the wrong type or an impossible value.

    >>> read_node({"id": "a", "compute_ms": {"v100": 2, "t4": 5}}, 0, {}).compute_s
    {'v100': 0.002, 't4': 0.005}
    >>> read_node({"id": "a", "compute_ms": 2, "device": "t4"}, 0, {}).compute_s
    {'t4': 0.002}
    """
    if not isinstance(node, (dict, Mapping)) or "id" not in node:
        raise GraphError(f"Node number {place}: {quote(node)} has no 'id'; give an object with an id.")
    name = node_id(node["id"], f"Node number {place}")
    if not node.keys() <= _KNOWN:
        for key in node.keys() - _KNOWN:
            count_ignored(key, ignored)
    return Operator(
        id=name,
        kind=_text(node.get("kind", "Task"), "kind", name),
        inputs=_names(node.get("inputs", ()), "inputs", name),
        outputs=_names(node.get("outputs", ()), "outputs", name),
        attributes=_attributes(node["attributes"], name) if "attributes" in node else {},
        compute_s=None if _TIMES.isdisjoint(node) else _times(node, f"Node {quote(name)}", device),
        work=None if _WORK.keys().isdisjoint(node) else _work(node, f"Node {quote(name)}"),
        scope=_text(node.get("scope", ""), "scope", name),
        bound=_bound(node["bound"], name) if "bound" in node else None,
    )


def device_of(data: Mapping[str, object], owner: str) -> str | None:
    """The device that a graph or a node names for its times; ``"*"`` for ``any``.

    >>> device_of({"device": "any"}, "Graph 'g'"), device_of({}, "Graph 'g'")
    ('*', None)
    """
    value = data.get("device")
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise GraphError(
            f"{owner}: device={quote(value)} must be a text; name the device of its times, or 'any'."
        )
    return ANY_DEVICE if value == "any" else check_name(value, f"{owner}, device")


def _bound(value: object, node: str) -> Bound:
    for known in get_args(Bound):
        if value == known:
            return known  # type: ignore[no-any-return]
    raise GraphError(
        f"Node {quote(node)}: bound={quote(value)} must be compute, memory or host; choose what its time "
        "depends on."
    )


def node_id(value: object, what: str) -> str:
    """An id as text: text itself, or a whole number as NetworkX writes it."""
    if type(value) is int:
        return str(value) if abs(value) < 10**30 else check_name(quote(value), what)
    if not isinstance(value, str) or not value:
        raise GraphError(f"{what}: {quote(value)} is not an id; give a text or a whole number.")
    return check_name(value, what)


def count_ignored(key: object, ignored: dict[str, int]) -> None:
    """Count ``key`` unless it is about looks only."""
    text = key if isinstance(key, str) else quote(key)
    if text not in LOOKS and (text in ignored or len(ignored) < 1000):
        ignored[text] = ignored.get(text, 0) + 1


def _text(value: object, key: str, node: str) -> str:
    if not isinstance(value, str):
        raise GraphError(f"Node {quote(node)}: {key}={quote(value)} must be a text; put it in quotes.")
    return check_name(value, key)


def _names(value: object, key: str, node: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(type(name) is str for name in value):
        raise GraphError(f"Node {quote(node)}: {key}={quote(value)} must be a list of names of tensors.")
    together = "".join(value)
    if len(together) > MAX_NAME or not together.isprintable():  # one look at all of them is faster
        for name in value:
            check_name(name, "Tensor")
    return tuple(value)


def _times(node: Mapping[str, object], owner: str, device: str | None) -> dict[str, float] | None:
    key, factor = ("compute_ms", 1e3) if "compute_ms" in node else ("compute_s", 1.0)
    value = node.get(key)
    if value is None:
        return None
    if key == "compute_ms" and node.get("compute_s") is not None:
        raise GraphError(f"{owner}: it has both compute_ms and compute_s; keep one of them.")
    own = device_of(node, owner)
    if not isinstance(value, Mapping):
        value = {own or device or ANY_DEVICE: value}
    elif own is not None:
        raise GraphError(f"{owner}: it has a device and a map of devices; keep one of them.")
    if not value:
        raise GraphError(f"{owner}: {key} is an empty map; give a number, or at least one device.")
    times = {}
    for name, time in value.items():
        label = key if name == ANY_DEVICE else f"{key}[{quote(name)}]"
        device_name = check_name(name, f"{owner}, device") if isinstance(name, str) else quote(name)
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


def _attributes(value: object, node: str) -> dict[str, AttributeValue]:
    if not isinstance(value, Mapping):
        raise GraphError(f"Node {quote(node)}: attributes={quote(value)} must be an object, name → value.")
    found: dict[str, AttributeValue] = {}
    for key, item in value.items():
        key = check_name(str(key), "Attribute")
        if isinstance(item, list | tuple):
            if len(item) > MAX_ATTRIBUTE_ITEMS or not all(map(_is_scalar, item)):
                raise GraphError(_attribute_complaint(node, key, item))
            found[key] = tuple(item)
        elif _is_scalar(item):
            found[key] = item
        else:
            raise GraphError(_attribute_complaint(node, key, item))
    return found


def _is_scalar(value: object) -> TypeGuard[int | float | str]:
    if type(value) is int:
        return True
    if type(value) is float:
        return math.isfinite(value)
    if isinstance(value, str):
        check_name(value, "Attribute")
        return True
    return False


def _attribute_complaint(node: str, key: str, value: object) -> str:
    return (
        f"Node {quote(node)}: attribute {quote(key)}={quote(value)} must be a finite number, a text, or a "
        "short list of those; remove it."
    )
