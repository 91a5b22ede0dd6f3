"""Regions: which group of servers is where, and the network between regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from nona.errors import NonaError
from nona.scenario.file import scenario_from_mapping
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import late, plain, quantity, toggle

REGIONS = ("training", "regions")
GROUPS = (*REGIONS, "groups")
Groups = Mapping[str, Sequence[int]]


def first_regions(count: int) -> dict[str, Any]:
    """Regions to begin with: the first group of servers in one, the others in another one.

    >>> first_regions(3)
    {'groups': {'east': [0], 'west': [1, 2]}}
    """
    others = {"west": list(range(1, count))} if count > 1 else {}
    return {"groups": {"east": [0], **others}}


def region_fields(state: AppState) -> None:
    """The region of each group of servers, the network between regions, whether jobs move."""
    with st.grid(4, min_column_width=150):
        for number in range(len(state.scenario.cluster.servers)):
            with st.container():
                _region(state, number)
        with st.container():
            quantity(state, "Bandwidth between regions", (*REGIONS, "bandwidth"), "Of one move between two.")
        with st.container():
            quantity(state, "RTT between regions", (*REGIONS, "rtt"), "Round-trip time, added to each move.")
    draft = state.drafts.get(GROUPS)
    if draft:
        st.error(plain(draft.error), icon=":material/error:")
    hint = (
        "Jobs go to another region when the planner finds that more is gained before the next change than "
        "the move costs. Off: its advice is only shown."
    )
    toggle(state, "Jobs move between regions", (*REGIONS, "move"), hint)


def _region(state: AppState, number: int) -> None:
    """The name of the region of one group of servers."""
    group, groups = state.scenario.cluster.servers[number], _groups(state)
    key = f"training-region-{state.revision}-{number}"
    now = next((name for name, numbers in groups.items() if number in numbers), "")

    def commit() -> None:
        if not late(state, int(key.split("-")[2])):
            state.edit(GROUPS, moved(groups, number, str(st.session_state[key] or "").strip()))

    st.text_input(
        f"Region of group {number}: {group.count * group.gpus} {plain(group.gpu)}",
        now,
        key=key,
        on_change=commit,
        help="Name of the region that these servers are in. A job runs in one region at a time.",
    )


def _groups(state: AppState) -> Groups:
    spec = state.scenario.training
    return spec.regions.groups if spec is not None and spec.regions is not None else {}


def moved(groups: Groups, number: int, region: str) -> dict[str, list[int]]:
    """Regions with the group ``number`` in ``region`` ("": in none); regions without a group are left out.

    >>> moved({"east": [0], "west": [1, 2]}, 1, "east"), moved({"east": [0]}, 0, "north")
    ({'east': [0, 1], 'west': [2]}, {'north': [0]})
    """
    found = {name: [n for n in numbers if n != number] for name, numbers in groups.items()}
    if region:
        found[region] = sorted([*found.get(region, []), number])
    return {name: numbers for name, numbers in found.items() if numbers}


def renumbered(groups: Groups, kept: Sequence[int], added: bool = False) -> dict[str, list[int]]:
    """Regions after only the groups ``kept`` remain, in that order; ``added``: one more in the last region.

    >>> renumbered({"east": [0], "west": [1, 2]}, [1, 2]), renumbered({"a": [0], "b": [1]}, [0, 1], True)
    ({'west': [0, 1]}, {'a': [0], 'b': [1, 2]})
    """
    places = {old: new for new, old in enumerate(kept)}
    found = {name: [places[n] for n in numbers if n in places] for name, numbers in groups.items()}
    found = {name: numbers for name, numbers in found.items() if numbers}
    if added and found:
        found[list(found)[-1]].append(len(kept))
    return found


def replace_groups(state: AppState, kept: Sequence[int], added: Mapping[str, Any] | None = None) -> None:
    """Keep these groups of servers and add one; regions still hold the same servers. One step to undo."""
    data = state.scenario.model_dump(mode="json")
    servers = [data["cluster"]["servers"][n] for n in kept]
    data["cluster"]["servers"] = servers if added is None else [*servers, dict(added)]
    if groups := _groups(state):
        data["training"]["regions"]["groups"] = renumbered(groups, kept, added is not None)
    try:
        changed = scenario_from_mapping(data)
    except NonaError as error:
        state.notice = str(error)
        return
    state.drafts = {p: d for p, d in state.drafts.items() if p[:2] != ("cluster", "servers") and p != GROUPS}
    state.apply(changed, "removing servers" if added is None else "adding servers")
    state.notice = ""
