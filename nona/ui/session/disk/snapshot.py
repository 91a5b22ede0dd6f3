"""A workspace at one moment, as cheap to take as to compare with the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nona.ui.session.editing.history import Moment
from nona.ui.session.runs import Kept
from nona.ui.session.state import AppState, Result

STEPS = 20  # to undo, and as many to redo


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a workspace holds; its parts are immutable or copies, so that pages go on meanwhile.

    ``uploads`` has name, size in bytes and time of change in nanoseconds of every file; ``None`` when one
    that was kept is gone.
    """

    now: Moment
    past: tuple[tuple[str, Moment], ...]
    future: tuple[tuple[str, Moment], ...]
    symbols: Mapping[str, Mapping[str, int]]
    kept: Mapping[str, Any]
    results: Mapping[str, Result]
    runs: tuple[Kept, ...]
    pinned: int | None
    made: int
    started_with: str
    uploads: tuple[tuple[str, int, int], ...] | None

    @classmethod
    def of(cls, state: AppState) -> Snapshot:
        """Of a state that its pages may be changing."""
        past, future = state.history.steps(STEPS)
        return cls(
            Moment(state.scenario, dict(state.drafts), state.model),
            past,
            future,
            {name: dict(held) for name, held in list(state.symbols.items())},
            dict(state.kept),
            dict(state.results),
            tuple(state.runs.kept),
            state.runs.pinned,
            state.runs.made,
            state.started_with,
            _files(state),
        )

    def same(self, other: Snapshot | None) -> bool:
        """Whether nothing has changed since ``other``; scenarios and results are compared by identity."""
        return other is not None and self._mark() == other._mark()

    def _mark(self) -> tuple[object, ...]:
        steps = [(place, *_mark(moment)) for place, moment in (*self.past, ("", self.now), *self.future)]
        results = {kind: (id(r.data), r.fingerprint) for kind, r in self.results.items()}
        runs = [(run.number, run.job_id, id(run.data)) for run in self.runs]
        rest = (self.symbols, self.kept, self.pinned, self.made, self.started_with, self.uploads)
        return steps, results, runs, rest


def _mark(moment: Moment) -> tuple[object, ...]:
    return id(moment.scenario), dict(moment.drafts), moment.model


def _files(state: AppState) -> tuple[tuple[str, int, int], ...] | None:
    try:
        found = [(name, (state.uploads.folder / name).stat()) for name in state.uploads.names()]
    except OSError:
        return None
    if state.uploads.lost():  # a cleaner of temporary folders was here: what was saved stays
        return None
    return tuple(sorted((name, s.st_size, s.st_mtime_ns) for name, s in found))
