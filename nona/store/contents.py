"""The contents of an item as the data base holds them: a bundle, and the result's JSON, packed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nona.errors import NonaError, StoreError
from nona.foreign.limits import MOST_FILE_BYTES
from nona.results.document import Document
from nona.results.saved import MOST_NAME, MOST_NOTE, SavedFacts
from nona.scenario.schema import Scenario
from nona.sources.bundle import SCENARIO
from nona.sources.lookup import Sources
from nona.sources.opening import Opened, open_bytes
from nona.store.kinds import SAVED_KINDS

MOST_RESULT_BYTES = MOST_FILE_BYTES  # of JSON
# What reading may raise when somebody has changed the text.
_DAMAGE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, AttributeError)


@dataclass(frozen=True, slots=True)
class Contents:
    """A scenario as its bundle, and the result as JSON text; both as bytes."""

    kind: str
    bundle: bytes
    result: bytes

    @classmethod
    def of(cls, kind: str, bundle: bytes, result: Document) -> Contents:
        """Of a result and its scenario, packed by :func:`~nona.sources.bundle.pack_bundle`."""
        return cls(kind, bundle, result.model_dump_json(by_alias=True).encode())

    def opened(self) -> Opened:
        """The scenario, and its files."""
        return open_bytes(self.bundle, SCENARIO, Sources())

    def answer(self) -> Document:
        """The result.

        Raises
        ------
        StoreError
            When it is no result of its kind, as one that a later version wrote.
        """
        kind = SAVED_KINDS.find(self.kind)
        try:
            return kind.read(_object(self.result))
        except _DAMAGE as error:
            raise StoreError(
                f"Result of the {kind.noun}: this version of Nona Planner cannot read it "
                f"({one_line(error)}); open its scenario and run it again."
            ) from None

    def facts(self) -> SavedFacts:
        """What the result says of itself; :class:`StoreError` where it contradicts itself."""
        kind, result = SAVED_KINDS.find(self.kind), self.answer()
        try:
            return kind.facts_of(result)
        except _DAMAGE as error:
            raise StoreError(
                f"Result of the {kind.noun}: it contradicts itself ({one_line(error)}); save another one."
            ) from None

    def scenario(self) -> Scenario:
        """The scenario alone."""
        return self.opened().scenario


def packed(result: bytes) -> bytes:
    """The result as the data base holds it; :class:`StoreError` where it is too large."""
    if len(result) > MOST_RESULT_BYTES:
        raise StoreError(
            f"Result: {len(result):,} bytes are more than the {MOST_RESULT_BYTES:,} that an item may have; "
            "run fewer schedulers."
        )
    return zlib.compress(result, 6)


def unpacked(data: bytes) -> bytes:
    """The result from what :func:`packed` gave; ``ValueError`` where it is damaged."""
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(data, MOST_RESULT_BYTES)
    except (zlib.error, TypeError) as error:
        raise ValueError(one_line(error)) from None
    if not reader.eof:
        raise ValueError("it was cut short")
    return text


def clean_name(text: str) -> str:
    """A name in one line of plain characters.

    >>> clean_name("  Monday\\n\\x00 peak ")
    'Monday peak'
    >>> clean_name(" ")
    Traceback (most recent call last):
    nona.errors.StoreError: Name: it is empty; give the item one.
    """
    found = " ".join(_plain(text).split())
    if not found:
        raise StoreError("Name: it is empty; give the item one.")
    if len(found) > MOST_NAME:
        raise StoreError(f"Name: {len(found)} characters are more than {MOST_NAME}; shorten it.")
    return found


def clean_note(text: str) -> str:
    """A note: lines of plain characters."""
    found = "\n".join(" ".join(_plain(line).split()) for line in text.splitlines()).strip()
    if len(found) > MOST_NOTE:
        raise StoreError(f"Note: {len(found)} characters are more than {MOST_NOTE}; shorten it.")
    return found


def _plain(text: str) -> str:
    """The text with blanks for what no one can see, and for halves of characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def _object(text: bytes) -> Mapping[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def one_line(error: BaseException) -> str:
    """The first words of an error."""
    text = str(error) if isinstance(error, NonaError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:160].encode("utf-8", "replace").decode()
