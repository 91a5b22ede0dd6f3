"""Differences between two scenarios in short form: servers 8 → 12."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from nona.cluster.hardware.mig import layout_words
from nona.core.text import count_text
from nona.scenario.schema import Scenario, numbered
from nona.scenario.words import FieldWords, lower_first, words

MOST = 4
Plain = Mapping[str, Any]
_WORDS = {
    "count": "servers",
    "gpu": "GPU",
    "gpus": "GPUs per server",
    "mig": "MIG",
    "mps": "MPS shares",
    "vcpus": "vCPUs",
    "cluster.network.capacity": "link",
    "cluster.network.discipline": "link discipline",
    "cluster.network.nic": "cards",
    "background.compute.utilization": "compute background",
    "background.network.utilization": "link background",
    "background.compute.mean_service": "background service",
    "background.network.mean_size": "background message",
    "simulation.jobs": "jobs",
}
_PLACE = re.compile(r"@\d+")
_QUIET = {"name", "description", "version"}


def scenario_changes(old: Scenario, new: Scenario) -> list[str]:
    """Each difference of two scenarios in words; without names and descriptions."""
    # Models may be large, and scenarios of one session share them: what is one object is not written out.
    one = {key for key in type(old).model_fields if getattr(old, key) is getattr(new, key)}
    return list(_differences(_plain(old, one), _plain(new, one), ""))


def change_text(old: Scenario, new: Scenario, parts: Collection[str] = (), longest: int | None = None) -> str:
    """Return the first few differences in one line; empty if there are none.

    ``parts``: only in these keys. ``longest``: letters of the line, in which every difference stands whole.
    """
    if parts:
        same = {key: getattr(old, key) for key in type(old).model_fields if key not in parts}
        new = new.model_copy(update=same)
    changes = scenario_changes(old, new)
    for most in range(min(MOST, len(changes)), 0, -1):
        more = len(changes) - most
        rest = f", and {count_text(more, 'more change')}" if more > 0 else ""
        line = ", ".join(changes[:most]) + rest
        if longest is None or len(line) <= longest:
            return line
    return count_text(len(changes), "change") if changes else ""


def _plain(scenario: Scenario, without: Collection[str]) -> dict[str, Any]:
    """Dump the scenario as a file writes it, so that any two values can be compared by their paths."""
    return scenario.model_dump(mode="json", exclude={*_QUIET, *without})


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if old == new:
        return
    if path in ("schedulers", "routers"):
        yield from _members(path, _names(old), _names(new), old, new)
    elif path == "workload":
        yield from _row_changes(path, "queries", old or [], new or [], lambda row: str(row["model"]))
    elif path == "language":
        yield from _row_changes(path, "requests", old or [], new or [], lambda row: str(row["llm"]["model"]))
    elif path == "cluster.servers":
        yield from _groups(old or [], new or [])
    elif path == "models":
        yield from (f"model {name} changed" for name in _changed_keys(old, new))
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(old or new, Mapping):
        word = _field_name(path)[0] if "." in path else path
        yield f"{word} {'removed' if new is None else 'added'}"
    else:
        word, wording = _field_name(path)
        before, after = _value(old, wording), _value(new, wording)
        yield (
            f"{word} changed" if before == after else f"{word} {before} → {after}"
        )  # lists as long as before


def _field_name(path: str) -> tuple[str, FieldWords | None]:
    """Return the name of a field for a reader, and the schema's words for the field.

    >>> [_field_name(path)[0] for path in ("serverless.containers.warm", "simulation.precision", "cost.x_y")]
    ['serverless: warm at the start', 'precision of the means', 'cost x y']
    """
    try:
        wording = words(path)
    except KeyError:
        return path.replace("_", " ").replace(".", " "), None
    part = path.partition(".")[0]
    of = f"{part}: " if part in ("serverless", "training", "plan") else ""
    return _WORDS.get(path, of + lower_first(wording.title)), wording


def _changed_keys(old: Any, new: Any) -> list[str]:
    before, after = old or {}, new or {}
    return [str(k) for k in dict.fromkeys([*before, *after]) if before.get(k) != after.get(k)]


def _names(entries: Any) -> list[str]:
    """Return the names of schedulers, which a file writes as a name, or as ``{name: options}``."""
    return [str(next(iter(e))) if isinstance(e, Mapping) else str(e) for e in entries or []]


_SINGULAR = {"schedulers": "scheduler", "routers": "router", "queries": "query", "requests": "requests"}


def _members(words: str, before: Sequence[str], after: Sequence[str], old: Any, new: Any) -> Iterator[str]:
    """Names added and removed, and entries that changed."""
    gone, come = [n for n in before if n not in after], [n for n in after if n not in before]
    for sign, names in (("+", come), ("−", gone)):
        if names:
            yield f"{words if len(names) > 1 else _SINGULAR[words]} {sign} {', '.join(names)}"
    if not come and not gone:
        own = dict(zip(before, old, strict=True))
        changed = [n for n, entry in zip(after, new, strict=True) if own[n] != entry]
        yield f"options of {', '.join(changed)}" if changed else f"order of {words}"


def _row_changes(
    path: str, words: str, old: Sequence[Plain], new: Sequence[Plain], model: Callable[[Plain], str]
) -> Iterator[str]:
    """Rows are matched by position if their models are equal, else by the labels added and removed."""
    before, after = (numbered([str(row["name"] or model(row)) for row in rows]) for rows in (old, new))
    if [*map(model, old)] != [*map(model, new)]:
        yield from _members(words, before, after, old, new)
        return
    for row, earlier, later in zip(before, old, new, strict=True):
        for key in _changed_keys(earlier, later):
            for change in _differences(earlier.get(key), later.get(key), f"{path}.0.{key}"):
                yield f"{row} {change}"


def _groups(old: Sequence[Plain], new: Sequence[Plain]) -> Iterator[str]:
    if len(old) != len(new):
        yield f"groups of servers {len(old)} → {len(new)}"
        return
    for number, (before, after) in enumerate(zip(old, new, strict=True), start=1):
        where = f" of group {number}:" if len(new) > 1 else ""
        for key in _changed_keys(before, after):
            values = before.get(key), after.get(key)
            if isinstance(values[0] or values[1], Mapping):
                change = ", ".join(_differences(*values, f"cluster.servers.0.{key}")) if all(values) else ""
                yield f"{key}{where} {change or ('removed' if values[0] else 'added')}"
                continue
            old_text, new_text = _layouts(*values) if key == "mig" else map(_value, values)
            yield f"{_WORDS.get(key, key)}{where} {old_text} → {new_text}"


def _layouts(*layouts: Any) -> list[str]:
    """MIG layouts in words; with the places of the slices only where they are all that changed.

    >>> _layouts(None, "3g.20gb@0, 2g.10gb@4, 2g.10gb@6"), _layouts("3g.20gb@0", "3g.20gb@4")
    (['none', '3g.20gb + 2 × 2g.10gb'], ['3g.20gb@0', '3g.20gb@4'])
    """
    texts = [" | ".join(t) if isinstance(t, list) else t for t in layouts]
    names = [t and layout_words(_PLACE.sub("", t)) for t in texts]
    if len(set(names)) < len(names):
        return [_value(t) for t in texts]
    return [name or "none" for name in names]


def _value(value: Any, wording: FieldWords | None = None) -> str:
    if value is None:
        return "none"
    if wording is not None and not isinstance(value, Mapping | list):
        if wording.dimension == "fraction" and isinstance(value, float | int):
            return f"{100 * value:g} %"
        if value in wording.choices:
            return wording.choices[value]
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_value(v)}" for k, v in value.items() if v is not None)
    if isinstance(value, list | tuple) and any(isinstance(entry, Mapping) for entry in value):
        return str(len(value))
    return "none" if value in ([], ()) else str(value)
