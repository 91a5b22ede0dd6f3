"""The gate: what a scenario may be made of, wherever it comes from.

A file, an upload, a bundle, a link and a kept workspace become plain data before they become a
:class:`~nona.scenario.schema.Scenario`. The schema checks known keys; devices, models and options hold
keys of their own, so the data itself is checked here: mappings with text keys, lists, text in Unicode,
bounded numbers, true, false and null. A scenario made of these can be shown, stored and sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nona.scenario.limits import MAX_DEPTH, MAX_INTEGER, MAX_PROBLEMS, MAX_VALUES

_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS = {"date": "a date", "datetime": "a date", "bytes": "binary data", "set": "a set"}
_LONGEST = 60
Place = tuple[int | str, ...]


def foreign_values(data: object) -> list[str]:
    """One line for each value that no scenario may hold; no lines: the data is plain.

    At most one more than :data:`~nona.scenario.limits.MAX_PROBLEMS` lines are made.

    >>> foreign_values({"name": "a" + chr(0xD800)})
    ["name: 'a\\\\ud800' holds half a character (a lone surrogate); write it again."]
    >>> foreign_values({"cluster": {"devices": {"x": {"sms": b"1"}}}})
    ['cluster.devices.x.sms: is binary data; write text, a number, a list or a mapping.']
    """
    found: list[str] = []
    left: list[tuple[Place, object]] = [((), data)]
    seen = 0
    while left and len(found) <= MAX_PROBLEMS:
        place, value = left.pop()
        seen += 1
        if seen + len(left) > MAX_VALUES:
            return [f"Scenario: it holds more than {MAX_VALUES:,} values; leave some out."]
        if len(place) > MAX_DEPTH:
            return [f"Scenario: nested deeper than {MAX_DEPTH} levels; flatten it."]
        if isinstance(value, Mapping):
            found += [f"{place_text(place)}: {why}" for key in value if (why := _bad_key(key))]
            left += [
                ((*place, key), held) for key, held in reversed(list(value.items())) if isinstance(key, str)
            ]
        elif isinstance(value, list | tuple):
            left += reversed([((*place, i), v) for i, v in enumerate(value)])
        elif why := _bad_value(value):
            found.append(f"{place_text(place)}: {why}")
    return found


def bounded(problems: Sequence[str], more: int = 0) -> list[str]:
    """The first problems, each one line, and how many there are besides; ``more`` of them are not given.

    >>> bounded([f"k{i}: is not known." for i in range(100)])[-1]
    'There are 80 more problems; mend those above first.'
    """
    more += max(0, len(problems) - MAX_PROBLEMS)
    listed = [one_line(p) for p in problems[:MAX_PROBLEMS]]
    rest = "There is 1 more problem" if more == 1 else f"There are {more:,} more problems"
    return [*listed, f"{rest}; mend those above first."] if more else listed


def one_line(text: str) -> str:
    """The text with each lone surrogate and each control character written as an escape.

    >>> one_line("a" + chr(10) + chr(0xD800))
    'a\\\\n\\\\ud800'
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() or c == "\N{NO-BREAK SPACE}" else repr(c)[1:-1] for c in text)


def place_text(location: Place, whole: str = "Scenario") -> str:
    """A place as the errors write it; long keys are cut.

    >>> place_text(("workload", 1, "slo")), place_text(()), place_text(("a" + chr(160),))
    ('workload[1].slo', 'Scenario', 'a\\\\xa0')
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
    """A value in an error: its beginning, whatever its size.

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
