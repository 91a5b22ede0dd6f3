"""Groups of servers: add one, remove one; regions of a training cluster still hold the same servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.errors import NonaError
from nona.sources.opening import edited
from nona.ui.session.state import AppState, Path

Groups = Mapping[str, Sequence[int]]
REGION_GROUPS: Path = ("training", "regions", "groups")


def add_group(state: AppState) -> None:
    """Add a group of one server."""
    replace_groups(state, range(len(state.scenario.cluster.servers)), {"count": 1})
    if not state.notice:
        number = len(state.scenario.cluster.servers)
        state.tell(
            f"Server group {number} was added: one server. What it does to the load:", "workload", "Workload"
        )


def remove_group(state: AppState, number: int) -> None:
    """Take one group out of the cluster."""
    replace_groups(state, [n for n in range(len(state.scenario.cluster.servers)) if n != number])


def groups_of(state: AppState) -> Groups:
    """Region → its groups of servers; empty without regions."""
    spec = state.scenario.training
    return spec.regions.groups if spec is not None and spec.regions is not None else {}


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
    if state.is_behind():
        return
    data = state.scenario.model_dump(mode="json")
    servers = [data["cluster"]["servers"][n] for n in kept]
    data["cluster"]["servers"] = servers if added is None else [*servers, dict(added)]
    if groups := groups_of(state):
        data["training"]["regions"]["groups"] = renumbered(groups, kept, added is not None)
    try:
        changed = edited(state.scenario, data)
    except NonaError as error:
        state.notice = str(error)
        return
    old = (("cluster", "servers"), REGION_GROUPS)  # drafts of fields that are drawn again
    state.drafts = {p: d for p, d in state.drafts.items() if p[:2] not in old and p not in old}
    state.apply(changed, "removing servers" if added is None else "adding servers")
    state.notice = ""
