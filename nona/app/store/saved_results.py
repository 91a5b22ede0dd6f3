"""Saved items: what a list says of each, and several side by side."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nona.core.document import Document, Estimate

MOST_NAME, MOST_NOTE = 120, 4000  # characters
MOST_ABOUT = 200  # characters
_Word = Annotated[str, Field(max_length=MOST_ABOUT)]
_Words = Annotated[tuple[_Word, ...], Field(max_length=1000)]


class SavedFacts(Document):
    """Facts of a result for searches and lists.

    ``fingerprint`` is that of its scenario, ``version`` that of the program, ``made`` its date as text,
    ``finding`` its answer in one sentence, ``about`` the servers and the rate of its scenario in a line
    (empty in items that an earlier version saved).
    """

    fingerprint: _Word
    version: _Word
    made: _Word
    scenario: _Word
    schedulers: _Words
    models: _Words
    finding: Annotated[str, Field(max_length=1000)]
    about: _Word = ""


class SavedItem(Document):
    """An item without its contents.

    ``id``: sixteen hexadecimal digits.
    ``kind``: kind of the item, see :data:`nona.app.store.contents.SAVED_KINDS`.
    ``saved_at``: when it was saved, ISO 8601 in UTC.
    ``imported``: True if it came from a file: its figures are those that the file states.
    ``mine``: True if the asking person may change it.
    ``size_bytes``: size of scenario and result in the database.
    ``by_itself``: True if it was saved automatically: the oldest of these make room for new ones.
    """

    id: str
    kind: str
    name: Annotated[str, Field(min_length=1, max_length=MOST_NAME)]
    note: Annotated[str, Field(max_length=MOST_NOTE)]
    saved_at: str
    imported: bool
    mine: bool
    size_bytes: int
    facts: SavedFacts
    by_itself: bool = False


class SavedList(Document):
    """Items, the latest first; ``unreadable`` counts those whose entry is damaged."""

    items: tuple[SavedItem, ...] = ()
    unreadable: int = 0


Unit = Literal["s", "share", "number"]


class SavedAnswer(Document):
    """One measure of one subject, in every compared item.

    ``values`` has it in each item; ``changes`` from the first item to each, with the interval of the change;
    ``clear`` says of each whether that interval excludes 0.
    """

    subject: str
    measure: str
    unit: Unit
    values: tuple[Estimate, ...]
    changes: tuple[Estimate, ...]
    clear: tuple[bool, ...]


class SavedComparison(Document):
    """Items of one kind side by side; the first is what the others are compared with.

    ``scenario`` has for each item what differs from the first one's scenario, in words; ``notes`` how each
    answer was compared with the first one's.
    """

    items: tuple[SavedItem, ...]
    scenario: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    answers: tuple[SavedAnswer, ...]
