"""Two to four saved items side by side: what differs in the scenario, what differs in the answer."""

from __future__ import annotations

from collections.abc import Sequence

from nona.errors import StoreError
from nona.report.simulations.compared.scenario_diff import scenario_changes
from nona.results.saved import SavedComparison
from nona.sources.opening import Opened
from nona.store.kinds import SAVED_KINDS
from nona.store.store import Store

FEWEST, MOST = 2, 4


def compare(store: Store, ids: Sequence[str]) -> SavedComparison:
    """The items beside each other; the first is what the others are compared with.

    Raises
    ------
    StoreError
        When they are not two to four different items of one kind, or one cannot be read.
    """
    chosen = list(dict.fromkeys(ids))
    if not FEWEST <= len(chosen) <= MOST:
        raise StoreError(
            f"Comparison: {len(chosen)} items are chosen; choose {FEWEST} to {MOST} different ones."
        )
    items = tuple(store.find(item_id) for item_id in chosen)
    kinds = list(dict.fromkeys(item.kind for item in items))
    if len(kinds) > 1:
        raise StoreError(f"Comparison: {' and '.join(kinds)} are different kinds; choose items of one kind.")
    contents = [store.contents(item_id) for item_id in chosen]
    opened = [content.opened() for content in contents]
    found = SAVED_KINDS.find(kinds[0]).compare([content.answer() for content in contents])
    return SavedComparison(
        items=items,
        scenario=tuple(_changes(opened[0], other) for other in opened),
        notes=found.notes,
        answers=found.answers,
    )


def _changes(first: Opened, other: Opened) -> tuple[str, ...]:
    """What differs in the second scenario, the files of both with it."""
    before, after = first.sources.held or {}, other.sources.held or {}
    files = [f"file {name} changed" for name in before if name in after and before[name] != after[name]]
    return (*scenario_changes(first.scenario, other.scenario), *files)
