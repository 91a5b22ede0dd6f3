"""Edits of the scenario's lists: workload rows, server groups, schedulers, devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from nona.app.session.editing import PlacePath
from nona.app.session.opening import new_scenario
from nona.app.session.page_list import page_file
from nona.app.session.state import AppState
from nona.app.widgets.fields import plain
from nona.cluster.hardware.device import find_device, links, user_devices
from nona.cluster.hardware.mig import layouts_text, maximal_layouts, parse_layout
from nona.core.errors import NonaError
from nona.core.text import count_text, join_words
from nona.core.units import quantity_text
from nona.scenario.opening import edited, without_row
from nona.scenario.rows import MOST_GPUS


@dataclass(frozen=True, slots=True)
class PendingModel:
    """The model that is to be added to a scenario of training jobs alone, once that is confirmed."""

    model: str = ""


def add_model(state: AppState, model: str) -> None:
    """Add a row for ``model`` to the workload; ask first where the scenario has training jobs alone."""
    if state.scenario.training is not None and not state.scenario.workload:
        state.choices.keep(PendingModel(model))
    else:
        _add_row(state, model)


def ask_before_adding(state: AppState) -> None:
    """Ask the question whether a scenario of training jobs gets queries as well."""
    model = state.choices.get(PendingModel).model
    if not model or state.scenario.training is None or state.scenario.workload:
        return
    with st.container(border=True, key="add-to-training"):
        st.markdown(
            f"**“{plain(state.scenario.name)}” has training jobs only.** With queries of {plain(model)} the "
            "scenario also has a workload, for Placement and Simulation. Home and the line under the "
            "title then show the queries; the jobs stay on Training."
        )
        with st.container(horizontal=True):
            for label, icon, act in (
                ("Add it here", ":material/add:", _add_row),
                ("Begin a new scenario with it", ":material/note_add:", _begin_with),
                ("Leave it", ":material/close:", None),
            ):
                st.button(label, icon=icon, on_click=_decide, args=(state, model, act))


def _decide(state: AppState, model: str, act: Callable[[AppState, str], None] | None) -> None:
    state.choices.keep(PendingModel())
    if act is not None:
        act(state, model)


def _begin_with(state: AppState, model: str) -> None:
    new_scenario(state)
    _add_row(state, model)
    state.go_to = page_file("scenario")


def _add_row(state: AppState, model: str) -> None:
    row: dict[str, Any] = {"model": model, "rate": "10/s"}
    if state.symbols.get(model):
        row["symbols"] = state.symbols[model]
    add_entry(state, ("workload",), row)
    if not state.notice:
        rows = count_text(len(state.scenario.workload), "row")
        state.notify(
            f"{model} was added to the workload, which now has {rows}.", "scenario", "Open the scenario"
        )


def add_entry(state: AppState, path: PlacePath, entry: Any) -> None:
    """Append an entry to a list of the scenario."""
    _replace(state, path, [*state.value(path), entry])


def remove_entry(state: AppState, path: PlacePath, index: int) -> None:
    """Remove an entry of a list of the scenario."""
    if not state.is_behind():
        _replace(state, path, [e for i, e in enumerate(state.value(path)) if i != index])


def remove_row(state: AppState, index: int) -> None:
    """Remove a row of tasks, unless requests follow its queries."""
    if state.is_behind():
        return
    scenario = state.scenario
    rows = zip(scenario.language_labels, scenario.language, strict=True)
    followers = [label for label, row in rows if row.after == scenario.labels[index]]
    if followers:
        state.notice = (
            f"Requests of {join_words(followers)} follow the queries of {scenario.labels[index]}, "
            "which stays: first choose other arrivals for them, under Language models."
        )
        return
    become(state, without_row(scenario, index), f"removing {scenario.labels[index]}", ("workload",))


def become(state: AppState, data: Mapping[str, Any], what: str, *drawn_again: PlacePath) -> bool:
    """Take changed data as one step to undo, which ``what`` names, or say why it cannot be.

    Drafts of fields at the places ``drawn_again``, whose numbers change, are dropped.
    """
    try:
        changed = edited(state.scenario, data)
    except NonaError as error:
        state.notice = str(error)
        return False
    state.drafts = {p: d for p, d in state.drafts.items() if not any(p[: len(a)] == a for a in drawn_again)}
    state.apply(changed, what)
    state.notice = ""
    return True


def _replace(state: AppState, path: PlacePath, entries: list[Any]) -> None:
    try:
        state.replace_list(path, entries)
        state.notice = ""
    except NonaError as error:
        state.notice = str(error)


def set_sharing(state: AppState, group: int, sharing: str) -> None:
    """Set how the GPUs of a server group are shared."""
    if state.is_behind():
        return
    changes: dict[str, object] = {"mig": None, "mps": None, "instances": None}
    board = board_of(state, state.scenario.cluster.servers[group].gpu)
    if sharing == "MIG slices" and board:
        changes["mig"] = layout_texts(board)[min(1, len(layout_texts(board)) - 1)]  # the first is one slice
    if sharing == "MPS clients":
        changes["mps"] = 2
    if sharing == "Concurrent":
        changes["instances"] = {"most": 2}
    _change_group(state, group, **changes)


def set_gpu(state: AppState, group: int, gpu: str) -> None:
    """Take another GPU; a MIG layout that it cannot hold is dropped."""
    if state.is_behind():
        return
    board = board_of(state, gpu)
    usual = layout_texts(board)[0] if board else None
    layouts = state.scenario.cluster.servers[group].layouts
    kept = [of if of is None or (board and _fits(of, board)) else usual for of in layouts]
    _change_group(state, group, gpu=gpu, mig=layouts_text(kept))


def set_gpus(state: AppState, group: int, gpus: object) -> None:
    """Take another number of GPUs; where their MIG layouts differ, new GPUs are whole."""
    if state.is_behind():
        return
    layouts = state.scenario.cluster.servers[group].layouts
    if len(set(layouts)) == 1 or not isinstance(gpus, int) or not 1 <= gpus <= MOST_GPUS:
        state.edit(("cluster", "servers", group, "gpus"), gpus)
        return
    each = [*layouts[:gpus], *[None] * (gpus - len(layouts))]
    _change_group(state, group, gpus=gpus, mig=layouts_text(each))


def _fits(text: str, board: str) -> bool:
    try:
        parse_layout(text, board)
    except NonaError:
        return False
    return True


def _change_group(state: AppState, group: int, **changes: object) -> None:
    groups = list(state.value(("cluster", "servers")))
    groups[group] = {**groups[group], **changes}
    _replace(state, ("cluster", "servers"), groups)


def board_of(state: AppState, gpu: str) -> str | None:
    """Name of the MIG board of a GPU, or ``None``."""
    try:
        return find_device(gpu, user_devices(state.scenario.cluster.devices)).mig
    except NonaError:
        return None


def layout_texts(board: str) -> list[str]:
    """Return the maximal legal layouts of a board, each set of slices once, fewest slices first."""
    texts = {layout.text for layout in maximal_layouts(board)}
    return sorted(texts, key=lambda t: (t.count(","), t))


LINK_SETS = ("One link", "Cards", "Cards and racks")


def set_links(state: AppState, links: str) -> None:
    """Let messages cross the core alone, cards as well, or cards and rack uplinks (:data:`LINK_SETS`)."""
    path: PlacePath = ("cluster", "network")
    network = dict(state.value(path))
    with_cards, with_racks = links != LINK_SETS[0], links == LINK_SETS[2]
    network["nic"] = (network["nic"] or "10 Gbit/s") if with_cards else None
    servers = sum(g.count for g in state.scenario.cluster.servers)
    usual = {"size": 8 if servers > 8 else max(1, servers // 2), "uplink": "40 Gbit/s"}  # two racks or more
    network["racks"] = (network["racks"] or usual) if with_racks else None
    if with_cards:
        network["discipline"] = "fifo"  # several links know no other
    state.change(path, network)


def use_link(state: AppState, name: str) -> None:
    """Set capacity and latency to those of a common link."""
    link = links()[name]
    state.edit(("cluster", "network", "capacity"), quantity_text(link.capacity, "bandwidth"))
    state.change(("cluster", "network", "latency"), quantity_text(link.latency_s, "time"))


def add_device(state: AppState, name: str, attributes: dict[str, str]) -> str:
    """Define an own device; returns why it cannot be, or an empty text."""
    given = {k: v.strip() for k, v in attributes.items() if v and v.strip()}
    try:
        user_devices({name: given})
        devices = {**state.value(("cluster", "devices")), name: given}
        if not state.edit(("cluster", "devices"), devices):
            return state.drafts.pop(("cluster", "devices")).error
    except NonaError as error:
        return str(error)
    return ""


def remove_device(state: AppState, name: str) -> None:
    """Forget an own device that no server group uses; else the session's notice says which does."""
    kept = {n: a for n, a in state.value(("cluster", "devices")).items() if n != name}
    users = [i + 1 for i, g in enumerate(state.scenario.cluster.servers) if g.gpu == name]
    if users:
        state.notice = f"Device {name!r}: server group {users[0]} uses it; choose another GPU there first."
    else:
        state.change(("cluster", "devices"), kept)


Groups = Mapping[str, Sequence[int]]
REGION_GROUPS: PlacePath = ("training", "regions", "groups")


def add_group(state: AppState) -> None:
    """Add a server group of one server."""
    replace_groups(state, range(len(state.scenario.cluster.servers)), {"count": 1})
    if not state.notice:
        number = len(state.scenario.cluster.servers)
        state.notify(f"Server group {number} was added: one server; the bar on top has the load.")


def remove_group(state: AppState, number: int) -> None:
    """Remove a group of servers from the scenario."""
    replace_groups(state, [n for n in range(len(state.scenario.cluster.servers)) if n != number])


def groups_of(state: AppState) -> Groups:
    """Region → its groups of servers; empty without regions."""
    spec = state.scenario.training
    return spec.regions.groups if spec is not None and spec.regions is not None else {}


def _renumbered(groups: Groups, kept: Sequence[int], added: bool = False) -> dict[str, list[int]]:
    """Regions after only the groups ``kept`` remain, in that order; ``added``: one more in the last region.

    >>> _renumbered({"east": [0], "west": [1, 2]}, [1, 2]), _renumbered({"a": [0], "b": [1]}, [0, 1], True)
    ({'west': [0, 1]}, {'a': [0], 'b': [1, 2]})
    """
    places = {old: new for new, old in enumerate(kept)}
    regions = {name: [places[n] for n in numbers if n in places] for name, numbers in groups.items()}
    regions = {name: numbers for name, numbers in regions.items() if numbers}
    if added and regions:
        regions[list(regions)[-1]].append(len(kept))
    return regions


def replace_groups(state: AppState, kept: Sequence[int], added: Mapping[str, Any] | None = None) -> None:
    """Keep these groups of servers and add one; regions still hold the same servers. One step to undo."""
    if state.is_behind():
        return
    data = state.scenario.model_dump(mode="json")
    servers = [data["cluster"]["servers"][n] for n in kept]
    data["cluster"]["servers"] = servers if added is None else [*servers, dict(added)]
    if groups := groups_of(state):
        data["training"]["regions"]["groups"] = _renumbered(groups, kept, added is not None)
    what = "removing servers" if added is None else "adding servers"
    become(state, data, what, ("cluster", "servers"), REGION_GROUPS)
