"""All runs of a work, or the independent pieces of a study, on as many processes as are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nona.experiments.pool import Key, Listener, P, Pool, R, ThisProcess, Work
from nona.experiments.workers import ProcessPool

Hear = Callable[[int, str], None]


def run_work(
    work: Work[P, R],
    keys: Sequence[Key],
    listener: Listener[P],
    workers: int = 1,
    pool: Pool[P, R] | None = None,
) -> Mapping[Key, R]:
    """The result of every key, whatever the number of processes; ``pool`` takes the place of ``workers``.

    Raises
    ------
    SimulationError
        When the work cannot be sent to a process, or a run's process is lost again and again.
    """
    if pool is not None:
        return pool.run(work, keys, listener)
    if workers == 1 or len(keys) < 2:
        return ThisProcess().run(work, keys, listener)
    with ProcessPool(min(workers, len(keys))) as processes:
        return processes.run(work, keys, listener)


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
    work: Work[str, R], count: int, workers: int = 1, on_progress: Hear = lambda done, name: None
) -> list[R]:
    """The results of ``count`` pieces, in their order: the n-th is that of key (n, 0).

    A piece reports its name when it is done. ``on_progress`` hears how many are done, and the name of the
    last; what it raises ends the work.
    """
    keys: list[Key] = [(n, 0) for n in range(count)]
    found = run_work(work, keys, _Heard(on_progress), workers)
    return [found[key] for key in keys]
