"""Edits of the table of the scheduler ``expert``: workload row → preset, or parts listed by hand."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

from nona.errors import NonaError
from nona.placement.fixed.presets import PRESETS
from nona.schedulers.sampling.expert import SCHEDULER, part_numbers
from nona.ui.loaded.loading import load_row
from nona.ui.session.state import AppState, Draft

AUTOMATIC, OWN_PARTS = "automatic", "own parts"
MODES = (AUTOMATIC, *PRESETS, OWN_PARTS)
Parts = list[list[str]]


def expert_index(state: AppState) -> int | None:
    """The place of the scheduler in the scenario, if it is there."""
    names = [s.name for s in state.scenario.schedulers]
    return names.index(SCHEDULER.name) if SCHEDULER.name in names else None


def table_of(state: AppState) -> dict[str, Any]:
    """The table in the scenario; empty where there is none, or it is no table."""
    index = expert_index(state)
    table = None if index is None else state.scenario.schedulers[index].options.get("models")
    return dict(table) if isinstance(table, dict) else {}


def mode_of(entry: Any) -> str:
    """Which of :data:`MODES` an entry of the table is; anything else as text.

    >>> mode_of(None), mode_of("half"), mode_of([["a", "b"]]), mode_of("quarter")
    ('automatic', 'half', 'own parts', "'quarter'")
    """
    if entry is None:
        return AUTOMATIC
    if isinstance(entry, str) and entry in PRESETS:
        return entry
    return OWN_PARTS if isinstance(entry, list) else repr(entry)


def parse_parts(text: str) -> Parts:
    """One part per line, task ids separated by commas; an id with a comma is in double quotes.

    >>> parse_parts('a, b\\n\\n"c,d",')
    [['a', 'b'], ['c,d']]
    """
    lines = ([task.strip() for task in line] for line in csv.reader(text.splitlines(), skipinitialspace=True))
    return [part for line in lines if (part := [task for task in line if task])]


def parts_text(entry: Any) -> str:
    """The parts as :func:`parse_parts` reads them.

    >>> parts_text([["a", "b"], ["c,d"]])
    'a, b\\n"c,d"'
    """
    parts = [part if isinstance(part, list) else [part] for part in entry] if isinstance(entry, list) else []
    return "\n".join(", ".join(_quoted(str(task)) for task in part) for part in parts)


def _quoted(task: str) -> str:
    return '"' + task.replace('"', '""') + '"' if "," in task or '"' in task else task


def set_mode(state: AppState, label: str, mode: str) -> None:
    """Choose for one row: automatic, a preset, or own parts (none yet: all on the first server)."""
    state.drafts.pop(("expert", label), None)
    entry: Any = None if mode == AUTOMATIC else [] if mode == OWN_PARTS else mode
    if mode_of(entry) != mode_of(table_of(state).get(label)):
        _write(state, {**table_of(state), label: entry})


def set_parts(state: AppState, row: int, text: str) -> None:
    """Take own parts for the row of that number; what its model does not allow becomes a draft."""
    label = state.scenario.labels[row]
    why = parts_problem(state, row, text)
    if why:
        state.drafts["expert", label] = Draft(text, why)
        return
    state.drafts.pop(("expert", label), None)
    _write(state, {**table_of(state), label: parse_parts(text)})


def parts_problem(state: AppState, row: int, text: str) -> str:
    """Why the row's model does not allow these parts, in one line; empty if it does."""
    try:
        prepared = load_row(state, row).prepared
        tasks, parts = prepared.tasks.task_ids, parse_parts(text)
        part_numbers(state.scenario.labels[row], tasks, prepared.decomposition, parts)
    except NonaError as error:
        return str(error)
    except csv.Error as error:
        return f"Parts: {error}; give one part per line, task ids separated by commas."
    return ""


def strangers(state: AppState) -> list[str]:
    """Names in the table that no row of the workload has."""
    return [name for name in table_of(state) if name not in state.scenario.labels]


def drop(state: AppState, names: Sequence[str]) -> None:
    """Take these names out of the table."""
    _write(state, {k: v for k, v in table_of(state).items() if k not in names})


def placeable(state: AppState, row: int) -> list[str]:
    """Ids of the tasks of a row that may be in a part, in topological order."""
    prepared = load_row(state, row).prepared
    return [prepared.tasks.task_ids[t] for s in prepared.decomposition.subgraphs for t in s.interior]


def _write(state: AppState, table: dict[str, Any]) -> None:
    index = expert_index(state)
    if index is None:
        return
    options = {k: v for k, v in state.scenario.schedulers[index].options.items() if k != "models"}
    chosen = {k: v for k, v in table.items() if v is not None}
    options |= {"models": chosen} if chosen else {}
    state.edit(("schedulers", index), {"name": SCHEDULER.name, "options": options})
