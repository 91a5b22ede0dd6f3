"""Regions: which group of servers is where, and the network between regions."""

from __future__ import annotations

from typing import Any

import streamlit as st

from nona.ui.pages.cluster.group_edits import REGION_GROUPS, Groups, groups_of
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import label_text, late, plain, quantity, toggle

REGIONS = ("training", "regions")


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
    draft = state.drafts.get(REGION_GROUPS)
    if draft:
        st.error(plain(draft.error), icon=":material/error:")
    hint = (
        "Jobs go to another region when the planner finds that more is gained before the next change than "
        "the move costs. Off: its advice is only shown."
    )
    toggle(state, "Jobs move between regions", (*REGIONS, "move"), hint)


def _region(state: AppState, number: int) -> None:
    """The name of the region of one group of servers."""
    group, groups = state.scenario.cluster.servers[number], groups_of(state)
    key = f"training-region-{state.revision}-{number}"
    now = next((name for name, numbers in groups.items() if number in numbers), "")

    def commit() -> None:
        if not late(state, int(key.split("-")[2])):
            state.edit(REGION_GROUPS, moved(groups, number, str(st.session_state[key] or "").strip()))

    st.text_input(
        f"Region of group {number}: {group.count * group.gpus} {label_text(group.gpu)}",
        now,
        key=key,
        on_change=commit,
        help="Name of the region that these servers are in. A job runs in one region at a time.",
    )


def moved(groups: Groups, number: int, region: str) -> dict[str, list[int]]:
    """Regions with the group ``number`` in ``region`` ("": in none); regions without a group are left out.

    >>> moved({"east": [0], "west": [1, 2]}, 1, "east"), moved({"east": [0]}, 0, "north")
    ({'east': [0, 1], 'west': [2]}, {'north': [0]})
    """
    found = {name: [n for n in numbers if n != number] for name, numbers in groups.items()}
    if region:
        found[region] = sorted([*found.get(region, []), number])
    return {name: numbers for name, numbers in found.items() if numbers}
