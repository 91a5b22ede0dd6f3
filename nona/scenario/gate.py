"""Limits on a scenario's text: its size, plain data only, bounded YAML.

Measured on two shared cores with YAML of 50,000 numbers and of 75,000 nodes in block style: 19 to 28 µs
and at most 520 bytes of memory per value while it is read. A text at the limits takes about 6 s.

A file, an upload, a bundle, a link and a kept workspace become plain data before they become a
:class:`~nona.scenario.schema.Scenario`. The schema checks known keys; devices, models and options hold
keys of their own, so the data itself is checked here: mappings with text keys, lists, text in Unicode,
bounded numbers, true, false and null. A scenario made of these can be shown, stored and sent.

JSON is YAML, too. libyaml does the parsing where PyYAML was built with it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from nona.core.errors import ScenarioError

MAX_BYTES = 4_000_000
"""Bytes of a scenario's text."""
MAX_DEPTH = 40
"""Lists and mappings inside one another."""
MAX_VALUES = 200_000
"""Keys, values, lists and mappings together."""
MAX_INTEGER = 10**30
"""The largest magnitude of a whole number."""
MAX_INTEGER_TEXT = 128
"""Characters of a whole number in a text, so that binary digits of 64 bits fit."""
MAX_PROBLEMS = 20
"""Problems that are listed; of the others the number is said."""

MOST = 500
"""Entries of a list that are looked at while it is not known whether the schema takes it."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS = {"date": "a date", "datetime": "a date", "bytes": "binary data", "set": "a set"}
_LONGEST = 60
Place = tuple[int | str, ...]


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def entries(value: object, most: int = MOST) -> list[Any]:
    """Return the first entries of a list; none of what is no list."""
    return list(value)[:most] if isinstance(value, list | tuple) else []


def foreign_values(data: object) -> list[str]:
    r"""Return one line for each value that no scenario may hold; no lines where the data is plain.

    At most one more than :data:`~nona.scenario.gate.MAX_PROBLEMS` lines are made.

    >>> foreign_values({"name": "a" + chr(0xD800)})
    ["name: 'a\\ud800' holds half a character (a lone surrogate); write it again."]
    >>> foreign_values({"cluster": {"devices": {"x": {"sms": b"1"}}}})
    ['cluster.devices.x.sms: is binary data; write text, a number, a list or a mapping.']
    """
    lines: list[str] = []
    left: list[tuple[Place, object]] = [((), data)]
    seen = 0
    while left and len(lines) <= MAX_PROBLEMS:
        place, value = left.pop()
        seen += 1
        if seen + len(left) > MAX_VALUES:
            return [f"Scenario: it holds more than {MAX_VALUES:,} values; leave some out."]
        if len(place) > MAX_DEPTH:
            return [f"Scenario: nested deeper than {MAX_DEPTH} levels; flatten it."]
        if isinstance(value, Mapping):
            lines += [f"{place_text(place)}: {why}" for key in value if (why := _bad_key(key))]
            left += [
                ((*place, key), item) for key, item in reversed(list(value.items())) if isinstance(key, str)
            ]
        elif isinstance(value, list | tuple):
            left += reversed([((*place, i), v) for i, v in enumerate(value)])
        elif why := _bad_value(value):
            lines.append(f"{place_text(place)}: {why}")
    return lines


def bounded(problems: Sequence[str], more: int = 0) -> list[str]:
    """Return the first problems, each one line, and how many there are besides.

    ``more`` of them are not given.

    >>> bounded([f"k{i}: is not known." for i in range(100)])[-1]
    'There are 80 more problems; correct those above first.'
    """
    more += max(0, len(problems) - MAX_PROBLEMS)
    listed = [one_line(p) for p in problems[:MAX_PROBLEMS]]
    rest = "There is 1 more problem" if more == 1 else f"There are {more:,} more problems"
    return [*listed, f"{rest}; correct those above first."] if more else listed


def one_line(text: str) -> str:
    r"""Return the text with each lone surrogate and each control character written as an escape.

    >>> one_line("a" + chr(10) + chr(0xD800))
    'a\\n\\ud800'
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() or c == "\N{NO-BREAK SPACE}" else repr(c)[1:-1] for c in text)


def place_text(location: Place, whole: str = "Scenario") -> str:
    r"""Return a place as the errors write it; long keys are cut.

    >>> place_text(("workload", 1, "slo")), place_text(()), place_text(("a" + chr(160),))
    ('workload[1].slo', 'Scenario', 'a\\xa0')
    """
    place = ""
    for part in location:
        if isinstance(part, int):
            place += f"[{part}]"
        else:
            name = one_line(str(part)).replace("\N{NO-BREAK SPACE}", "\\xa0")  # as all that is not seen
            name = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
            place += f".{name}" if place else name
    return place or whole


def shown(value: object) -> str:
    """Return a value in an error: its beginning, whatever its size.

    >>> shown("x" * 100)[-3:]
    'xx…'
    """
    if isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        return "a whole number of too many digits"
    text = repr(value[: 2 * _LONGEST] if isinstance(value, str | bytes | list | tuple) else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "…"


def _bad_key(key: object) -> str:
    if not isinstance(key, str):
        return f"the key {shown(key)} is not text; put it in quotes."
    return _bad_value(key)


def _bad_value(value: object) -> str:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            return f"{shown(value)} holds half a character (a lone surrogate); write it again."
        return ""
    if value is None or isinstance(value, bool | float):
        return ""
    if isinstance(value, int):
        too_large = not -MAX_INTEGER <= value <= MAX_INTEGER
        return "is a whole number beyond 10^30; write a smaller one." if too_large else ""
    kind = type(value).__name__
    remedy = "put it in quotes" if kind.startswith("date") else "write text, a number, a list or a mapping"
    return f"is {_KINDS.get(kind, f'a value of the kind {kind}')}; {remedy}."


_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNREADABLE = (KeyError, IndexError, AttributeError, TypeError, ValueError, OverflowError)


class _PlainLoader(_Loader):  # type: ignore[misc, valid-type]
    """Refuses what PyYAML accepts silently, or fails on with other errors than its own."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        whole = isinstance(node, yaml.ScalarNode) and node.tag.endswith(":int")
        if whole and len(node.value) > MAX_INTEGER_TEXT:
            why = f"a whole number of {len(node.value):,} digits"
            raise ConstructorError(None, None, why, node.start_mark)
        try:
            return super().construct_object(node, deep)
        except _UNREADABLE:
            kind, value = node.tag.rpartition(":")[2], shown(node.value)
            raise ConstructorError(
                None, None, f"{value} is not of the kind {kind}", node.start_mark
            ) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: dict[tuple[str, str], int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                mark = (key.tag, key.value)
                if mark in seen:
                    why = f"the key {shown(key.value)} stands here and in line {seen[mark]}; remove one"
                    raise ConstructorError(None, None, why, key.start_mark)
                seen[mark] = key.start_mark.line + 1
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def load_yaml(text: str, what: str = "Scenario") -> object:
    """Parse the text into plain data; ``what`` is its name in errors.

    Raises ``ScenarioError`` in one line, whatever the text is.

    >>> load_yaml("{a: 1, a: 2}")
    Traceback (most recent call last):
    nona.core.errors.ScenarioError: Scenario: not valid YAML at line 1, column 8: the key 'a' stands here \
and in line 1; remove one; mend the text there.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ScenarioError(
            [f"{what}: it is larger than {MAX_BYTES // 10**6} MB; keep models in files of their own."]
        )
    try:
        _check_size(text, what)
        return yaml.load(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        why = one_line((error.problem or "not readable").replace("\n", " "))
        raise ScenarioError([f"{what}: not valid YAML{where}: {why}; mend the text there."]) from None
    except UnicodeError:
        raise ScenarioError(
            [f"{what}: it holds half a character (a lone surrogate); write it again."]
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        why = one_line(str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise ScenarioError([f"{what}: not valid YAML ({why}); give a YAML or JSON file."]) from None


def _check_size(text: str, what: str) -> None:
    depth = values = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise ScenarioError([f"{what}: YAML aliases (*name) are not allowed; write the value out."])
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.NodeEvent)
        if depth > MAX_DEPTH:
            raise ScenarioError([f"{what}: nested deeper than {MAX_DEPTH} levels; flatten it."])
        if values > MAX_VALUES:
            raise ScenarioError(
                [f"{what}: it holds more than {MAX_VALUES:,} values; keep models in files of their own."]
            )
