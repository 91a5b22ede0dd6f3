"""Independent pieces of a study on several processes; results do not depend on their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from nona.simulation.experiments.pool import Key
from nona.simulation.experiments.workers import ProcessPool

Hear = Callable[[int, str], None]


class Pieces(Protocol):
    """What every process gets once; ``run((n, 0), …)`` makes the n-th result and names it when it is done."""

    @property
    def reporting(self) -> bool:
        """Whether processes report their progress."""

    def run(self, key: Key, on_progress: Callable[[str], None] | None) -> Any:
        """The result of a piece."""


class _Heard:
    """Counts the pieces that are done."""

    def __init__(self, on_progress: Hear) -> None:
        self._done: set[Key] = set()
        self._on_progress = on_progress

    def report(self, key: Key, name: str) -> None:
        """A piece is done."""
        self._done.add(key)
        self._on_progress(len(self._done), name)

    def repeat(self, key: Key) -> None:
        """A piece's process was lost; another one starts the piece again."""


def run_pieces(
    work: Pieces, count: int, workers: int = 1, on_progress: Hear = lambda done, name: None
) -> list[Any]:
    """The results of all pieces, in their order.

    ``on_progress`` hears how many are done, and the name of the last; what it raises ends the work.
    """
    keys: Sequence[Key] = [(n, 0) for n in range(count)]
    heard = _Heard(on_progress)
    if workers == 1 or count < 2:
        return [work.run(key, lambda name, key=key: heard.report(key, name)) for key in keys]  # type: ignore[misc]
    with ProcessPool(min(workers, count)) as processes:  # it asks of a work what a piece has
        found = cast(Any, processes).run(work, keys, heard)
    return [found[key] for key in keys]
