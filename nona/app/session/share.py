"""A scenario as text for an address: written short, read with suspicion.

``1.`` and the base64url of the zlib-compressed JSON ``{"s": scenario, "c": choices, "r": run}``; the digit
is the version of the format. Such an address may be hostile: its length, its unpacked
size and its depth are bounded, and the scenario goes through the same validation as any file.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nona.core.errors import ScenarioError
from nona.scenario.file import scenario_to_mapping, written_scenario
from nona.scenario.lookup import Sources
from nona.scenario.opening import known_names
from nona.scenario.schema import Scenario

PARAMETER = "s"
LONGEST = 8000  # characters; browsers and chat programs begin to cut beyond
MOST_BYTES = 400_000  # unpacked
MOST_CHOICES = 50
_NO_SOURCES = Sources()
_TEXT = re.compile(r"1\.[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Shared:
    """The contents of a link: a scenario, choices of the page (key of the widget → value), a small run.

    ``run`` is the kind, the name and the JSON of a run's result, as the link states them.
    """

    scenario: Scenario
    choices: Mapping[str, Any] = field(default_factory=dict)
    run: tuple[str, str, Mapping[str, Any]] | None = None


def pack(shared: Shared) -> str:
    """Return the text for an address, however long; equal content gives equal text.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 2}]}, workload: [{model: gpt2, rate: 5}]}"
    >>> scenario = parse_scenario(text)
    >>> unpack(pack(Shared(scenario, {"zoom": 2}))) == Shared(scenario, {"zoom": 2})
    True
    """
    data: dict[str, Any] = {"s": scenario_to_mapping(shared.scenario)}
    if shared.choices:
        data["c"] = dict(sorted(shared.choices.items()))
    if shared.run is not None:
        data["r"] = list(shared.run)
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8"), 9)).rstrip(b"=")
    return "1." + packed.decode("ascii")


def unpack(text: str, sources: Sources = _NO_SOURCES) -> Shared:
    """Read an address; ``sources`` has the files of the session that opens it.

    Raises ``ScenarioError`` in one line per problem, whatever the text is.
    """
    if len(text) > LONGEST:
        raise _bad(f"{len(text):,} characters are more than the {LONGEST:,} allowed", "send the bundle")
    if not _TEXT.fullmatch(text):
        raise _bad("it is not of this format, or was cut short", "copy the whole link")
    try:
        packed = base64.urlsafe_b64decode(text[2:] + "=" * (-len(text[2:]) % 4))
        data = json.loads(_inflated(packed).decode("utf-8"))
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        if isinstance(error, ScenarioError):
            raise
        raise _bad("its content cannot be read", "copy the whole link") from None
    if not isinstance(data, dict) or not data.keys() <= {"s", "c", "r"} or "s" not in data:
        raise _bad("it carries no scenario", "copy the whole link")
    try:
        scenario = written_scenario(data["s"], known_names(sources))
        return Shared(scenario, _choices(data.get("c", {})), _run(data.get("r")))
    except RecursionError:
        raise _bad("it is nested too deeply", "send the bundle") from None


def held_text(text: str) -> str:
    """Return the JSON of an address that does not open as far as it can be read, else the text itself.

    >>> from nona.scenario.file import parse_scenario
    >>> text = "{version: 1, cluster: {servers: [{count: 2}]}, workload: [{model: gpt2, rate: 5}]}"
    >>> held_text(pack(Shared(parse_scenario(text))))[:19], held_text("1.nonsense")
    ('{"s":{"version":1,"', '1.nonsense')
    """
    if len(text) > LONGEST or not _TEXT.fullmatch(text):
        return text
    try:
        body = text[2:-1] if len(text) % 4 == 3 else text[2:]  # cut inside of a byte
        packed = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
        data = zlib.decompressobj().decompress(packed, MOST_BYTES)
        return codecs.getincrementaldecoder("utf-8")().decode(data) or text
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        return text


def _inflated(packed: bytes) -> bytes:
    """Unpacked bytes; never more than the limit are made."""
    reader = zlib.decompressobj()
    data = reader.decompress(packed, MOST_BYTES)
    if reader.unconsumed_tail:
        raise _bad(f"it unpacks to more than {MOST_BYTES:,} bytes", "send the bundle")
    if not reader.eof:
        raise _bad("it was cut short", "copy the whole link")
    return data


def _choices(data: Any) -> dict[str, Any]:
    """Choices as far as they have a plain form; anything else is left out."""
    if not isinstance(data, dict) or len(data) > MOST_CHOICES:
        return {}
    return {str(k)[:100]: v for k, v in data.items() if isinstance(v, str | bool | int | float)}


def _run(data: Any) -> tuple[str, str, Mapping[str, Any]] | None:
    """Read a run as far as it has the form of one; the page that shows its result reads it."""
    if not isinstance(data, list) or len(data) != 3:
        return None
    kind, name, result = data
    return (str(kind), str(name), result) if isinstance(result, dict) else None


def _bad(why: str, remedy: str) -> ScenarioError:
    return ScenarioError([f"Link: {why}; {remedy}."])
