"""Contents of an item: its kind, its bundle and result packed, its row in the database."""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from nona.app.store.saved_results import MOST_NAME, MOST_NOTE, SavedAnswer, SavedFacts, SavedItem
from nona.core.document import Document, RunResult
from nona.core.errors import NonaError, StoreError
from nona.core.family import ResultKind, families
from nona.core.foreign import MOST_FILE_BYTES
from nona.core.registry import Registry, load
from nona.scenario.file import written_scenario
from nona.scenario.gate import load_yaml
from nona.scenario.lookup import Sources
from nona.scenario.opening import SCENARIO, OpenedScenario, open_bytes, pack_bundle
from nona.scenario.schema import Scenario


@dataclass(frozen=True, slots=True)
class ComparedResults:
    """The answers of several results beside each other, and for each how it was compared with the first."""

    answers: tuple[SavedAnswer, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SavedKind(ResultKind):
    """One kind of saved item. What it names is imported late, so that a list of items imports none of it."""

    def read(self, data: Mapping[str, Any]) -> Document:
        """Return the result from its JSON; ``ValueError`` where it is none."""
        document: Document = load(self.result).from_json(data)
        return document

    def is_of(self, result: object) -> bool:
        """Return whether items of this kind have results of this type."""
        return self.result == f"{type(result).__module__}:{type(result).__qualname__}"

    def facts_of(self, result: Document) -> SavedFacts:
        """Return the facts of a result that the list shows."""
        facts: SavedFacts = load(self.facts).facts(result)
        return facts

    def new_item(self, name: str, note: str, result: RunResult, sources: Sources) -> NewItem:
        """Return what is saved of a result, with the files that its scenario names; raises ``NonaError``."""
        bundle = pack_bundle(scenario_of(result), sources)
        return NewItem(name, note, Contents.pack(self.name, bundle, result), self.facts_of(result))

    def compare(self, results: Sequence[Document]) -> ComparedResults:
        """Results beside each other, the first as the reference."""
        answers: ComparedResults = load(self.facts).compare(results)
        return answers


def scenario_of(result: RunResult) -> Scenario:
    """Return the scenario of a result: the one that it carries, else that of its provenance."""
    own = getattr(result, "scenario", None)
    return own if isinstance(own, Scenario) else written_scenario(load_yaml(result.about.yaml))


SIMULATION, PLAN, LANGUAGE, LANGUAGE_PLAN = "simulation", "plan", "language", "language-plan"
SAVED_KINDS: Registry[SavedKind] = Registry(
    "Kind of saved item",
    (SavedKind(*astuple(result)) for family in families() for result in family.saved),
    StoreError,
)

MOST_RESULT_BYTES = MOST_FILE_BYTES  # of JSON
# The exceptions that reading a changed text may raise.
_DAMAGE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, AttributeError)


@dataclass(frozen=True, slots=True)
class Contents:
    """A scenario as its bundle, and the result as JSON text; both as bytes."""

    kind: str
    bundle: bytes
    result: bytes

    @classmethod
    def pack(cls, kind: str, bundle: bytes, result: Document) -> Contents:
        """Of a result and its scenario, packed by :func:`~nona.scenario.opening.pack_bundle`."""
        return cls(kind, bundle, result.model_dump_json(by_alias=True).encode())

    def opened(self) -> OpenedScenario:
        """Return the scenario, and its files."""
        return open_bytes(self.bundle, SCENARIO, Sources())

    def answer(self) -> Document:
        """Return the result.

        Raises ``StoreError`` when it is no result of its kind, as one that a later version wrote.
        """
        kind = SAVED_KINDS.find(self.kind)
        try:
            return kind.read(_object(self.result))
        except _DAMAGE as error:
            raise StoreError(
                f"Result of the {kind.noun}: this version of Nona Planner cannot read it "
                f"({_one_line(error)}); open its scenario and run it again."
            ) from None

    def facts(self) -> SavedFacts:
        """Return the facts of the result; :class:`StoreError` where it contradicts itself."""
        kind, result = SAVED_KINDS.find(self.kind), self.answer()
        try:
            return kind.facts_of(result)
        except _DAMAGE as error:
            raise StoreError(
                f"Result of the {kind.noun}: it contradicts itself ({_one_line(error)}); save another one."
            ) from None

    def scenario(self) -> Scenario:
        """Return the scenario of the item."""
        return self.opened().scenario


def _packed(result: bytes) -> bytes:
    if len(result) > MOST_RESULT_BYTES:
        raise StoreError(
            f"Result: {len(result):,} bytes are more than the {MOST_RESULT_BYTES:,} that an item may have; "
            "run fewer schedulers."
        )
    return zlib.compress(result, 6)


def unpacked(data: bytes) -> bytes:
    """Return the result from what :func:`_packed` gave; ``ValueError`` where it is damaged."""
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(data, MOST_RESULT_BYTES)
    except (zlib.error, TypeError) as error:
        raise ValueError(_one_line(error)) from None
    if not reader.eof:
        raise ValueError("it was cut short")
    return text


def clean_name(text: str) -> str:
    r"""Return a name in one line of plain characters.

    >>> clean_name("  Monday\n\x00 peak ")
    'Monday peak'
    >>> clean_name(" ")
    Traceback (most recent call last):
    nona.core.errors.StoreError: Name: it is empty; give the item one.
    """
    name = " ".join(_plain(text).split())
    if not name:
        raise StoreError("Name: it is empty; give the item one.")
    if len(name) > MOST_NAME:
        raise StoreError(f"Name: {len(name)} characters are more than {MOST_NAME}; shorten it.")
    return name


def clean_note(text: str) -> str:
    """Return a note: lines of plain characters."""
    note = "\n".join(" ".join(_plain(line).split()) for line in text.splitlines()).strip()
    if len(note) > MOST_NOTE:
        raise StoreError(f"Note: {len(note)} characters are more than {MOST_NOTE}; shorten it.")
    return note


def _plain(text: str) -> str:
    """Return the text with blanks for what no one can see, and for halves of characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def _object(text: bytes) -> Mapping[str, Any]:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("it is no object")
    return document


def _one_line(error: BaseException) -> str:
    text = str(error) if isinstance(error, NonaError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:160].encode("utf-8", "replace").decode()


LISTED = "id, owner, kind, name, note, saved_at, imported, size_bytes, facts, by_itself"
"""The columns that :func:`item_of` reads."""


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to save: name and note, the contents, the facts; ``by_itself``: saved automatically."""

    name: str
    note: str
    contents: Contents
    facts: SavedFacts
    imported: bool = False
    by_itself: bool = False


def row_of(item: NewItem, owner: str, time: str) -> dict[str, Any]:
    """Return the columns of a new row; ``StoreError`` where name, note or result break a limit."""
    result = _packed(item.contents.result)
    return {
        "id": secrets.token_hex(8),
        "owner": owner,
        "kind": item.contents.kind,
        "name": clean_name(item.name),
        "note": clean_note(item.note),
        "saved_at": time,
        "imported": item.imported,
        "size_bytes": len(item.contents.bundle) + len(result),
        "facts": item.facts.model_dump_json(),
        "scenario": item.contents.bundle,
        "result": result,
        "by_itself": item.by_itself,
    }


def item_of(row: tuple[object, ...], is_mine: Callable[[object], bool]) -> SavedItem | None:
    """Return a row as an item, ``None`` where it is damaged; ``is_mine`` says whose items may be changed."""
    item_id, owner, kind, name, note, saved_at, imported, size_bytes, facts, by_itself = row
    try:
        return SavedItem.model_validate(
            {
                "id": item_id,
                "kind": kind,
                "name": name,
                "note": note,
                "saved_at": saved_at,
                "imported": bool(imported),
                "mine": is_mine(owner),
                "size_bytes": size_bytes,
                "facts": SavedFacts.model_validate_json(str(facts)),
                "by_itself": bool(by_itself),
            }
        )
    except (ValueError, TypeError):
        return None


def holds(item: SavedItem, search: str) -> bool:
    """Return whether every word of ``search`` is in the name, the note, the schedulers or the models."""
    facts = item.facts
    words = (item.name, item.note, facts.scenario, *facts.schedulers, *facts.models)
    text = "\n".join(words).casefold()
    return all(word in text for word in search.casefold().split())
