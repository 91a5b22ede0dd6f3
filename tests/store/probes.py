"""Items without meaning, for the data base alone."""

from __future__ import annotations

from nona.results.saved import SavedFacts
from nona.store.contents import Contents, NewItem

FACTS = SavedFacts(
    fingerprint="0" * 12,
    version="1",
    made="now",
    scenario="Monday",
    schedulers=("local", "nona"),
    models=("gpt2",),
    finding="local is shortest.",
)


def probe(name: str, note: str = "", text: bytes = b"{}") -> NewItem:
    """An item that no kind knows."""
    return NewItem(name, note, Contents("probe", b"bundle of " + text, text), FACTS)
