"""The MIG layout of a server group: the picture to click, presets, edits, its file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from nona.app.pages.scenario.edits import layout_texts
from nona.app.pages.scenario.workload_facts import row_cost
from nona.app.session.editing import PlacePath
from nona.app.session.state import AppState
from nona.app.widgets.components import declare
from nona.app.widgets.downloads import download_button
from nona.app.widgets.fields import acting, plain, show_error
from nona.app.widgets.results import table
from nona.cluster.hardware.device import find_device, user_devices
from nona.cluster.hardware.mig import (
    WHOLE,
    MigLayout,
    SliceProfile,
    add_slice,
    assumed,
    board,
    empty_layout,
    layout_of,
    layout_words,
    options_at,
    placed_text,
    remove_slice,
    why_not,
)
from nona.cluster.hardware.mig_parted import (
    MigPartedLayouts,
    ServerLayouts,
    read_mig_parted,
    write_mig_parted,
)
from nona.core.document import Document
from nona.core.errors import HardwareError, NonaError, reasons
from nona.core.units import format_size
from nona.models.report import provenance_text
from nona.queries.report.clusters import instances, laid_instances, stranded_text
from nona.scenario.lookup import safe_name

_component = declare("migview", why="no element places parts on a board by mouse and keyboard")
# Chart colours by compute slices: instances of one size look the same everywhere.
COLOURS: Mapping[int, int] = {1: 1, 2: 4, 3: 0, 4: 6, 7: 2}


def size_colour(compute_slices: int) -> int:
    """Return number of the chart colour of instances with so many compute slices."""
    return COLOURS.get(compute_slices, 9)


def stranded_cells(layout: MigLayout) -> tuple[int, ...]:
    """Empty memory slices that no instance could cover, whatever is added first elsewhere.

    >>> from nona.cluster.hardware.mig import parse_layout
    >>> stranded_cells(parse_layout(", ".join(["1g.5gb"] * 7), "a100-40gb"))
    (7,)
    """
    whole = board(layout.board)
    covered = {
        cell
        for start in range(whole.memory_slices)
        for p in options_at(layout, start)
        for cell in range(start, start + p.memory_slices)
    }
    return tuple(c for c, owner in enumerate(layout.memory_map) if owner < 0 and c not in covered)


class BoardView(Document):
    """One board as the editor draws it; names and places as its script has them.

    ``instances`` have start, memory slices, compute slices, name, colour and memory; ``empty`` slices their
    place, whether no instance can ever cover them, and what may start there: name, figures, why not (empty
    where it may), colour. ``free`` compute slices can still be used, ``lost`` ones cannot.
    """

    name: str
    memory: int
    compute: int
    instances: tuple[tuple[int, int, int, str, int, str], ...]
    empty: tuple[tuple[int, bool, tuple[tuple[str, str, str, int], ...]], ...]
    free: int
    lost: int

    @property
    def sent(self) -> dict[str, Any]:
        """The data for the browser; ``sig`` changes when, and only when, the drawing has to."""
        data = self.to_json()
        return {**data, "sig": hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]}


def board_view(layout: MigLayout, name: str) -> BoardView:
    """Prepare a MIG layout for the editor in the browser."""
    whole, stranded = board(layout.board), stranded_cells(layout)
    used = sum(p.compute_slices for p in layout.profiles)
    lost = layout.stranded_compute if layout.slices else 0
    placed = zip(layout.slices, layout.profiles, strict=True)
    return BoardView(
        name=name,
        memory=whole.memory_slices,
        compute=whole.compute_slices,
        instances=tuple(
            (s.start, p.memory_slices, p.compute_slices, p.name, _tone(p), format_size(p.memory_bytes))
            for s, p in placed
        ),
        empty=tuple(
            (cell, cell in stranded, tuple(_option(layout, cell, p) for p in _ordered(layout)))
            for cell, owner in enumerate(layout.memory_map)
            if owner < 0
        ),
        free=whole.compute_slices - used - lost,
        lost=lost,
    )


def _tone(profile: SliceProfile) -> int:
    return size_colour(profile.compute_slices)


def _ordered(layout: MigLayout) -> list[SliceProfile]:
    return sorted(
        board(layout.board).profiles,
        key=lambda p: (-p.compute_slices, -p.memory_slices, not p.standard, p.name),
    )


def _option(layout: MigLayout, cell: int, profile: SliceProfile) -> tuple[str, str, str, int]:
    about = f"{profile.compute_slices} of {board(layout.board).compute_slices} compute, "
    about += format_size(profile.memory_bytes)
    return profile.name, about, why_not(layout, cell, profile), _tone(profile)


def _edited(layout: MigLayout, wish: object) -> MigLayout:
    """Return the layout after an edit from the browser; raises :class:`HardwareError` for an illegal one.

    >>> _edited(empty_layout("a30"), {"act": "add", "start": 2, "profile": "2g.12gb"}).text
    '2g.12gb'
    """
    if not isinstance(wish, Mapping):
        raise HardwareError("MIG editor: the browser sent no edit; reload the page.")
    start, act = wish.get("start"), wish.get("act")
    if act == "clear":
        return empty_layout(layout.board)
    if isinstance(start, int) and not isinstance(start, bool):
        if act == "add":
            return add_slice(layout, start, str(wish.get("profile")))
        if act == "remove":
            return remove_slice(layout, start)
    raise HardwareError("MIG editor: the browser sent an invalid edit; reload the page.")


def _mig_view(key: str, layout: MigLayout, name: str, on_edit: Callable[[object], None]) -> None:
    """Draw the editor; ``on_edit`` gets the browser's edit, to pass to :func:`_edited`."""

    def changed() -> None:
        state = st.session_state.get(key)
        on_edit(state.get("edit") if state is not None else None)

    _component(key=key, data=board_view(layout, name).sent, on_edit_change=changed)


EMPTY = "the layout has no slice yet, and a sliced GPU needs one; place one, or share it another way."


@dataclass(frozen=True, slots=True)
class MigPartedFiles:
    """The mig-parted files that were read: server group → board and layouts."""

    by_group: Mapping[int, tuple[str, MigPartedLayouts]] = field(default_factory=dict)


def _mig_path(group: int) -> PlacePath:
    return ("cluster", "servers", group, "mig")


def _shown_texts(state: AppState, group: int) -> list[str]:
    """Return the layout of each GPU as the user left it, also one that is not valid."""
    shown = state.shown(_mig_path(group))
    text = " | ".join(shown) if isinstance(shown, list) else str(shown or "")
    gpus = state.scenario.cluster.servers[group].gpus
    each = [part.strip() for part in text.split("|")]
    return each if len(each) == gpus else each[:1] * gpus


def _shown_layout(state: AppState, group: int, board: str, gpu: int | None) -> MigLayout:
    """Return the layout of a GPU as the user left it; empty where it is whole or cannot be read."""
    text = _shown_texts(state, group)[gpu or 0]
    try:
        return empty_layout(board) if text == WHOLE else layout_of(text, board)
    except HardwareError:
        return empty_layout(board)


def _set_texts(state: AppState, group: int, gpu: int | None, text: str) -> None:
    """Give one GPU a layout, or all; one without an instance is kept as a draft."""
    texts = _shown_texts(state, group)
    texts = [text if gpu in (None, number) else old for number, old in enumerate(texts)]
    if all(texts):
        state.edit(_mig_path(group), texts)
    else:
        state.keep_draft(_mig_path(group), texts, f"cluster.servers[{group}].mig: {EMPTY}")


def edit_layout(state: AppState, group: int, board: str, wish: object, gpu: int | None = None) -> None:
    """Apply the browser's edit to a GPU, or to all, if it is legal; else report why it is not."""
    note = f"mig-note-{group}"
    state.choices.complaints.pop(note, None)
    try:
        edited = _edited(_shown_layout(state, group, board, gpu), wish)
    except HardwareError as error:
        state.choices.complaints[note] = "\n".join(reasons(error))
    else:
        _set_texts(state, group, gpu, placed_text(edited))


def take_parted(state: AppState, group: int, board: str, data: bytes) -> None:
    """Read an uploaded mig-parted file, and use or offer its layouts."""
    note = f"mig-note-{group}"
    state.choices.complaints.pop(note, None)
    try:
        parted = read_mig_parted(data, board, state.scenario.cluster.servers[group].gpus)
    except HardwareError as error:
        state.choices.complaints[note] = "\n".join(reasons(error))
        return
    by_group = state.choices.get(MigPartedFiles).by_group
    state.choices.keep(MigPartedFiles({**by_group, group: (board, parted)}))
    _use_parted(state, group, next(iter(parted.layouts.values())))


def _use_parted(state: AppState, group: int, layouts: ServerLayouts) -> None:
    """Make them the layouts of the group's GPUs."""
    state.change(_mig_path(group), [layout.text if layout else WHOLE for layout in layouts])


def _taken_parted(state: AppState, group: int, board: str) -> MigPartedLayouts | None:
    """Return the file read for this group, if it was read for the board that the group has now."""
    taken = state.choices.get(MigPartedFiles).by_group.get(group)
    return taken[1] if taken and taken[0] == board else None


def parted_file(state: AppState, group: int, board: str) -> str:
    """Return the layouts of a group's GPUs as the YAML of mig-parted."""
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in safe_name(state.scenario.name).lower())
    name = "-".join(w for w in words.split("-") if w)[:60] or "layout"
    texts = state.scenario.cluster.servers[group].layouts
    layouts = [text and layout_of(text, board) for text in (texts if len(set(texts)) > 1 else texts[:1])]
    return write_mig_parted({f"{name}-{group + 1}": [layout or None for layout in layouts]})


MOST_MODELS = 3
ALL_GPUS = "All GPUs"


def mig_editor(state: AppState, group: int, board: str) -> None:
    """Draw the editor of the MIG layouts of a server group's GPUs."""
    gpus = state.scenario.cluster.servers[group].gpus
    columns = st.columns([3, 2] if gpus == 1 else [2, 3, 2], vertical_alignment="bottom")
    gpu = None
    if gpus > 1:
        with columns[0]:
            gpu = _chosen_gpu(state, group)
    with columns[-2]:
        _preset(state, group, board, gpu)
    with columns[-1]:
        _file(state, group, board)
    layout = _shown_layout(state, group, board, gpu)
    _mig_view(
        f"mig-{state.revision}-{group}-{gpu}",
        layout,
        f"GPU of server group {group + 1}" if gpu is None else f"GPU {gpu} of server group {group + 1}",
        lambda wish: _edit(state, group, board, gpu, wish),
    )
    if len(set(texts := _shown_texts(state, group))) > 1:
        st.caption(f"GPUs of each server: {layout_words(' | '.join(texts))}.")
    lost = layout.stranded_compute if layout.slices else 0
    st.caption(f"Stranded, as no slice fits there: {stranded_text(lost, stranded_cells(layout))}.")
    if unseen := assumed(board):
        st.caption(f"Assumed, not confirmed by NVIDIA's own output: {unseen}.")
    if note := state.choices.complaints.get(f"mig-note-{group}"):
        st.error(plain(note), icon=":material/error:")
    if layout.slices:
        with st.expander("What each slice is"):
            _instances(state, group, layout)


def _chosen_gpu(state: AppState, group: int) -> int | None:
    """Draw the choice of the GPU to divide; ``None``: all of them."""
    texts = _shown_texts(state, group)
    names = {ALL_GPUS: None, **{f"GPU {gpu}": gpu for gpu in range(len(texts))}}
    name = st.selectbox(
        "Divide",
        list(names),
        index=1 if len(set(texts)) > 1 else 0,
        key=f"mig-gpu-{state.revision}-{group}",
        help="All GPUs of each server alike, or one of them by its number.",
    )
    return names[name]


def _preset(state: AppState, group: int, board: str, gpu: int | None) -> None:
    presets = {layout_name(text): text for text in layout_texts(board)}
    if gpu is not None:
        presets = {layout_name(WHOLE): WHOLE, **presets}
    shown = _shown_texts(state, group)[gpu or 0]
    presets.setdefault(layout_name(shown), shown)
    key = _preset_key(state, group, gpu)
    if st.session_state.get(key) not in presets:
        st.session_state[key] = layout_name(shown)
    st.selectbox(
        "MIG layout of each GPU" if gpu is None else f"MIG layout of GPU {gpu}",
        list(presets),
        **acting(key, lambda name: _set_texts(state, group, gpu, presets[name])),
        help="Start from a full layout, where no further standard slice fits. Change it below by mouse or "
        "keyboard.",
    )
    if (draft := state.drafts.get(_mig_path(group))) is not None:
        st.error(plain(draft.error), icon=":material/error:")


def layout_name(text: str) -> str:
    """Return the words of a layout, also of an empty one."""
    return layout_words(text) if text else "No slice"


def _preset_key(state: AppState, group: int, gpu: int | None) -> str:
    return f"mig-preset-{state.revision}-{group}-{gpu}"


def _edit(state: AppState, group: int, board: str, gpu: int | None, wish: object) -> None:
    edit_layout(state, group, board, wish, gpu)
    st.session_state[_preset_key(state, group, gpu)] = layout_name(_shown_texts(state, group)[gpu or 0])


def _instances(state: AppState, group: int, layout: MigLayout) -> None:
    try:
        device = find_device(
            state.scenario.cluster.servers[group].gpu, user_devices(state.scenario.cluster.devices)
        )
        laid = laid_instances(device, layout)
        speeds, origin = _speeds(state, device.name, [i.executor for i in laid])
    except NonaError as error:
        show_error(error)
        return
    alt = "Slices of the layout with memory, compute and speed"
    table(instances(laid, speeds), f"instances-{group}", alt)
    st.caption(
        f"Speeds are modelled, not measured ({origin}); short kernels leave a large slice idle, so a small "
        "one can be nearly as fast."
    )


def _speeds(state: AppState, whole: str, executors: Sequence[str]) -> tuple[dict[str, dict[str, float]], str]:
    """Model → executor → speed over the whole device, for the first models of the mix; their provenance."""
    speeds, origins = {}, []
    for index, label in list(enumerate(state.scenario.labels))[:MOST_MODELS]:
        full = row_cost(state, index, whole)
        origins.append(f"{plain(label)}: {provenance_text(full.provenance)}")
        speeds[label] = {
            name: full.total_s / row_cost(state, index, name).total_s if full.total_s else 1.0
            for name in dict.fromkeys(executors)
        }
    return speeds, "; ".join(origins)


def _file(state: AppState, group: int, board: str) -> None:
    with st.popover("mig-parted file", icon=":material/description:", width="stretch"):
        st.caption(
            "The YAML that NVIDIA's mig-parted applies to a machine: how many slices of each profile each "
            "GPU has."
        )
        text = partial(parted_file, state, group, board)
        download_button("Download these layouts", f"parted-{group}", text, "mig-parted.yaml")
        st.file_uploader(
            "Open a mig-parted file",
            **acting(
                f"parted-file-{state.revision}-{group}",
                lambda file: take_parted(state, group, board, file.getvalue()),
            ),
            max_upload_size=1,
            help="Uses the first configuration that fits these GPUs. The file states no positions, so the "
            "editor places the slices.",
        )
        _taken(state, group, board)


def _taken(state: AppState, group: int, board: str) -> None:
    parted = _taken_parted(state, group, board)
    if parted is None:
        return
    take = acting(
        f"parted-choice-{group}",
        lambda name: _use_parted(state, group, parted.layouts[name]),
    )
    st.selectbox("Layouts in the file", list(parted.layouts), help="Uses this layout.", **take)
    if parted.left_out:
        st.caption(f"Left out because this GPU cannot hold them: {plain(', '.join(parted.left_out))}.")
