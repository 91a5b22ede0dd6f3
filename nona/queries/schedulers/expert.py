"""``expert``: for every model one placement, fixed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.models.decomposition import Decomposition
from nona.queries.placement.capacity import default_shares
from nona.queries.placement.fixed import PRESETS, fixed, idle_presets, place_fixed
from nona.queries.placement.result import Placement, SubGraphPlacement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables
from nona.queries.schedulers.sampling import place_by_table
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.system import QueryClass, System


def part_numbers(
    name: str, task_ids: Sequence[str], decomposition: Decomposition, parts: Sequence[Sequence[str]]
) -> dict[int, int]:
    """Task → number of the part that lists it, from 1, for the model called ``name``.

    Raises ``SimulationError`` for an unknown task, a task listed twice, or a root or sink.
    """
    interior = {task_ids[t]: t for s in decomposition.subgraphs for t in s.interior}
    number_of: dict[int, int] = {}
    for number, part in enumerate(parts, start=1):
        for task in part:
            if task not in interior or interior[task] in number_of:
                why = (
                    "is listed twice"
                    if task in interior
                    else "is a root or sink, which stays on the first server"
                    if task in task_ids
                    else "is not a task of the model"
                )
                raise SimulationError(
                    f"Scheduler 'expert', model {name!r}: task {task!r} {why}; list tasks between "
                    "roots and sinks, each once."
                )
            number_of[interior[task]] = number
    return number_of


def _place_by_hand(
    system: System, query: QueryClass, parts: Sequence[Sequence[str]]
) -> tuple[SubGraphPlacement, ...]:
    """Return the placement with a server for each listed part; other tasks and sinks stay at the root."""
    number_of = part_numbers(query.name, query.tasks.task_ids, query.decomposition, parts)
    return tuple(
        fixed(system, s, [number_of.get(t, 0) for t in s.interior]) for s in query.decomposition.subgraphs
    )


def _chosen(system: System, query: QueryClass, entry: Any, idle: str) -> tuple[SubGraphPlacement, ...]:
    if entry is None:
        return place_fixed(system, query, idle)
    if isinstance(entry, str) and entry in PRESETS:
        return place_fixed(system, query, entry)
    if _is_list(entry) and all(_is_list(part) and all(isinstance(t, str) for t in part) for part in entry):
        return _place_by_hand(system, query, entry)
    raise SimulationError(
        f"Scheduler 'expert', model {query.name!r}: {entry!r} must be a preset ({', '.join(PRESETS)}) or "
        "a list of parts, each a list of task names."
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    table: Any = {} if options["models"] is None else options["models"]
    names = {q.name for q in system.queries}
    if not isinstance(table, Mapping) or not names.issuperset(table):
        raise SimulationError(
            f"Scheduler 'expert': models={table!r} must map names of the workload "
            f"({', '.join(sorted(names))}) to placements; drop or rename the others."
        )
    idle = idle_presets(system) if names.difference(table) else ("",) * len(system.queries)
    placed = [_chosen(system, q, table.get(q.name), i) for q, i in zip(system.queries, idle, strict=True)]
    return build_tables(system, placed, shares=default_shares(system))


SCHEDULER = Scheduler(
    name="expert",
    kind="bind",
    family="practice",
    network_view=NetworkView.N1,
    summary="Uses one fixed placement for each model: a preset, or parts listed by hand.",
    source="The hand-picked expert placements of the evaluation of Nona (CloudNet 2024), named on its slides",
    adaptation=(
        "The placements of the paper are not public. By default each model gets the preset that is fastest "
        "on an idle network, as if a person tuned each model by itself. "
        f"The presets are {', '.join(PRESETS)}. The option 'models' names a preset or lists parts instead."
    ),
    decide=place_by_table,
    build=_build,
    settings={"models": PolicyOption(None, "model → preset or list of parts", kind=object)},
    takes_lists=True,
    style=ChartStyle("#e25555", "longdashdot", "cross"),
)
