"""Fields of the scenario on pages, drawn from the words of the schema.

What is typed stays, errors appear at the field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from nona.app.guide import TERMS
from nona.app.session.editing import PlacePath
from nona.app.session.state import AppState
from nona.app.widgets.fields import WHOLE, field_error, label_text, late
from nona.app.widgets.terms import term
from nona.scenario.values import ScenarioPart
from nona.scenario.words import FieldWords, path_of, value_at, words

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")  # as in 1,000,000
Read = Callable[[Any], Any]
Edit = Callable[[Any], object] | None


def form(state: AppState, part: str | PlacePath, names: str, columns: int = 3, width: int = 150) -> None:
    """Draw a grid of the fields of a part that count now; ``names`` with spaces between them."""
    with st.grid(columns, min_column_width=width, vertical_alignment="bottom"):
        fields(state, part, names)


def fields(state: AppState, part: str | PlacePath, names: str) -> None:
    """Draw the fields of a part, or of the whole scenario, that count now; ``names`` as for :func:`form`."""
    for name in names.split():
        field(state, (*path_of(part), *path_of(name)))


def field(
    state: AppState,
    place: str | PlacePath,
    label: str = "",
    more: str = "",
    *,
    choices: Mapping[Any, str] | None = None,
    edit: Edit = None,
    empty: str = "",
    slider: bool = False,
) -> None:
    """Draw the field at a place of the scenario, ``cluster.servers.0.count``.

    Nothing where it does not count.

    ``label``, ``choices``, ``empty`` (what no value means) come before the schema's; ``more`` ends the help;
    ``edit`` gets what is chosen, where more changes than this field.
    """
    path = path_of(place)
    wording, beside = words(path), value_at(state.scenario, path[:-1])
    if beside is None or (isinstance(beside, ScenarioPart) and not wording.counts(beside)):
        return
    title, hint = label, help_text(wording, more)
    label = label or label_text(wording.title)
    chosen = choices is not None
    choices = wording.choices if choices is None else choices
    if wording.kind is bool and not choices:
        _toggle(state, path, label, hint)
        return
    if choices or chosen:
        _choice(state, path, label, hint, choices, wording.own, edit)
    elif slider:
        _slider(state, path, label, hint)
    elif wording.plain:
        _number(state, path, label, hint, wording, edit)
    else:
        _text(state, path, label, wording, hint, empty or wording.none, state.shown(path), None)
    field_error(state, path, title)


def entry_at(state: AppState, path: PlacePath) -> dict[str, Any]:
    """Return an entry of a mapping as written or typed; empty where it is not there."""
    draft = state.drafts.get(path)
    written = draft.value if draft else _written_beside(state, path).get(path[-1])
    return {key: value for key, value in (written or {}).items() if value is not None}


def _written_beside(state: AppState, path: PlacePath) -> dict[Any, Any]:
    """Return the mapping in which an entry stands; empty where the part with the mapping is not there."""
    there = value_at(state.scenario, path[:-2]) is not None
    return dict(state.value(path[:-1])) if there else {}


def entry_field(
    state: AppState, path: PlacePath, key: str, label: str = "", empty: str = "", part: str = ""
) -> None:
    """Draw a field of an entry of a mapping, which is there as long as one of its fields has a value.

    ``part``: an optional part of the scenario of which the same holds.
    """
    wording, now = words((*path, key)), entry_at(state, path)

    def edit(value: str | None) -> None:
        fields = {name: one for name, one in {**now, key: value}.items() if one is not None}
        if fields:
            state.edit(path, fields, part)
            return
        state.drafts.pop(path, None)
        others = {name: one for name, one in _written_beside(state, path).items() if name != path[-1]}
        state.edit(path[:-1], others, part)

    label, empty = label or label_text(wording.title), empty or wording.none
    _text(state, (*path, key), label, wording, help_text(wording), empty, now.get(key), edit)


def switch(state: AppState, place: str, given: Mapping[str, Any], more: str = "") -> bool:
    """Return a switch for an optional part of the scenario, ``given`` when it is turned on.

    Whether it is on.
    """
    path = path_of(place)
    on = state.value(path) is not None
    wording = words(path)
    key = _on_change(state, path, lambda wanted: dict(given) if wanted else None)
    st.toggle(wording.title, on, help=help_text(wording, more), **key)
    return on


def help_text(wording: FieldWords, more: str = "") -> str:
    """Return the help of a field: its effect, what no value means, and a link to a term of the glossary."""
    empty = (
        f"Empty: {wording.none}."
        if wording.optional and wording.none and wording.kind in (int, float)
        else ""
    )
    name = wording.title.partition(" of ")[0].casefold()
    entry = next((f"See {term(one)}." for one in TERMS if one.casefold() == name), "")
    return " ".join(text for text in (label_text(wording.about), label_text(empty), more, entry) if text)


def _on_change(state: AppState, path: PlacePath, read: Read, edit: Edit = None) -> dict[str, Any]:
    revision = state.revision
    key = f"field:{revision}:" + ".".join(map(str, path))

    def commit() -> None:
        if not late(state, revision):
            value = read(st.session_state[key])
            state.edit(path, value) if edit is None else edit(value)

    return {"key": key, "on_change": commit}


def _toggle(state: AppState, path: PlacePath, label: str, hint: str) -> None:
    st.toggle(label, bool(state.shown(path)), help=hint, **_on_change(state, path, bool))
    field_error(state, path)


def _choice(
    state: AppState,
    path: PlacePath,
    label: str,
    hint: str,
    choices: Mapping[Any, str],
    own: bool,
    edit: Edit,
) -> None:
    shown = state.shown(path)
    shown = tuple(shown) if isinstance(shown, list) else shown
    if shown not in choices:
        choices = {**choices, shown: ", ".join(shown) if isinstance(shown, tuple) else str(shown)}
    values = {text: value for value, text in choices.items()}
    changed = _on_change(
        state, path, lambda text: values.get(text, int(text) if text.isdigit() else text), edit
    )
    st.selectbox(
        label, list(values), list(values.values()).index(shown), help=hint, accept_new_options=own, **changed
    )


def _slider(state: AppState, path: PlacePath, label: str, hint: str) -> None:
    shown = state.shown(path)
    value = min(round(100 * shown), 99) if isinstance(shown, int | float) else 0
    changed = _on_change(state, path, lambda per_cent: per_cent / 100)
    st.slider(label, 0, 99, value, format="%d %%", help=hint, **changed)


def _number(state: AppState, path: PlacePath, label: str, hint: str, wording: FieldWords, edit: Edit) -> None:
    """Draw a field for a number; one that breaks a rule stays in the field, with the rule below it."""
    shown, whole = state.shown(path), wording.kind is int
    default = abs(wording.default) if isinstance(wording.default, int | float) and wording.default else 1
    st.number_input(
        label,
        value=float(shown) if isinstance(shown, int | float) else 0.0,
        step=1.0 if whole else 10.0 ** (math.floor(math.log10(default)) - 1),
        format=WHOLE if whole and (not isinstance(shown, float) or shown.is_integer()) else "%g",
        help=hint,
        **_on_change(state, path, lambda value: int(value) if whole and value % 1 == 0 else value, edit),
    )


def _text(
    state: AppState,
    path: PlacePath,
    label: str,
    wording: FieldWords,
    hint: str,
    empty: str,
    shown: Any,
    edit: Edit,
) -> None:
    def read(typed: object) -> Any:
        text = str(typed or "").strip()
        if wording.several:
            return _sizes(text)
        text = text if wording.kind is str else _THOUSANDS.sub("", text)
        return None if not text and (wording.optional or edit is not None) else text

    st.text_input(
        label, _written(shown, wording), help=hint, placeholder=empty or None,
        **_on_change(state, path, read, edit),
    )  # fmt: skip


def _written(shown: Any, wording: FieldWords) -> str:
    if isinstance(shown, list | tuple):
        return ", ".join(map(str, shown))
    if isinstance(shown, float):
        return f"{100 * shown:.10g} %" if wording.dimension == "fraction" else f"{shown:.12g}"
    return "" if shown is None else str(shown)


def _sizes(text: str) -> list[int] | str:
    """Return the sizes, sorted, each once; the text itself where it is no list of whole numbers.

    >>> _sizes("4, 1 2,2"), _sizes("1, two"), _sizes("")
    ([1, 2, 4], '1, two', [])
    """
    listed = text.replace(",", " ").split()
    return sorted({int(one) for one in listed}) if all(map(str.isdigit, listed)) else text
