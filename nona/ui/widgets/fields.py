"""Fields tied to a place in the scenario: what is typed stays, errors appear at the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from nona.scenario.gate import place_text
from nona.ui.session.editing import PlacePath
from nona.ui.session.state import AppState

_IN_A_LINE = re.compile(
    r"[\\`*\[\]<~]|(?<![^\W_])_|_(?![^\W_])|:(?=[a-zA-Z])|^[#+>-]|(?<=^\d)[.)]"
)  # signs that mean something to Markdown where they stand; those inside words and numbers do not
_SIGNS = re.compile(r"[\\`*_{}\[\]()<>#+!|$~:]|-(?!\w)")  # of Markdown; a hyphen in a word is none
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")  # as in 1,000,000
_ADDRESS = re.compile(r"https?(?=://)|www(?=\.)|[\w.+-](?=@)", re.IGNORECASE)


def _key(state: AppState, path: PlacePath) -> str:
    return f"field:{state.revision}:" + ".".join(map(str, path))


def late(state: AppState, revision: int) -> bool:
    """Return whether a message comes from a field of a ``revision`` that has since been replaced, as by Undo.

    While work runs, the page polls, and each poll sends the value of every field that the browser shows.
    To Streamlit the value of a field that is gone is a change, so that its callback would bring back what
    was undone.
    """
    return revision < state.screens.here.drawn


def _late(state: AppState, key: str) -> bool:
    return late(state, int(key.split(":")[1]))


def _commit(state: AppState, path: PlacePath, key: str, choices: Mapping[str, Any] | None = None) -> None:
    if _late(state, key):
        return
    value = st.session_state[key]
    state.edit(path, value if choices is None else choices.get(value, value))


def field_error(state: AppState, path: PlacePath) -> None:
    """Show the error of the entry below its field, without the name of the place."""
    draft = state.drafts.get(path)
    if draft:
        st.error(plain(draft.error.removeprefix(f"{place_text(path)}: ")), icon=":material/error:")


def plain(text: str) -> str:
    """Text for Streamlit's Markdown, with every Markdown sign escaped.

    Addresses become links even where their signs are escaped, so an invisible joiner divides them.

    >>> plain("a_b [x](y) $z$ <b>")
    'a\\\\_b \\\\[x\\\\]\\\\(y\\\\) \\\\$z\\\\$ \\\\<b\\\\>'
    >>> plain("a100-40gb"), plain("- x")
    ('a100-40gb', '\\\\- x')
    >>> plain("www.a.org").replace("\\u2060", "|")
    'www|.a.org'
    """
    text = _ADDRESS.sub("\\g<0>\u2060", text)
    return _SIGNS.sub(r"\\\g<0>", re.sub(r"[\r\n]", " ", text))


def label_text(text: str) -> str:
    """A name for the label of a field, which browsers also read out as it is written.

    Only signs that Markdown would take are escaped, so that ordinary names stay what they are.

    >>> label_text("a100-40gb, idle, W"), label_text("kv_cache (16.5)"), label_text("$/h")
    ('a100-40gb, idle, W', 'kv_cache (16.5)', '$/h')
    >>> label_text("*a* [b](c) :red[d] $e$ _f_")
    '\\\\*a\\\\* \\\\[b\\\\](c) \\\\:red\\\\[d\\\\] \\\\$e\\\\$ \\\\_f\\\\_'
    """
    text = " ".join(_ADDRESS.sub("\\g<0>\u2060", text).splitlines())
    text = _IN_A_LINE.sub(r"\\\g<0>", text)
    return text.replace("$", r"\$") if text.count("$") > 1 else text  # one alone begins no formula


def quantity(
    state: AppState, label: str, path: PlacePath, hint: str = "", optional: bool = False, empty: str = ""
) -> None:
    """A text field for a quantity with a unit; empty means none where that is allowed, and says ``empty``."""
    key = _key(state, path)
    shown = state.shown(path)

    def commit() -> None:
        if _late(state, key):
            return
        text = _THOUSANDS.sub("", str(st.session_state[key] or "").strip())
        state.edit(path, None if optional and not text else text)

    with st.container(gap="xsmall"):
        st.text_input(
            label,
            value="" if shown is None else str(shown),
            key=key,
            help=hint or None,
            on_change=commit,
            placeholder=empty or None,
        )
        field_error(state, path)


def share(state: AppState, label: str, path: PlacePath, hint: str = "") -> None:
    """A text field for a share, in per cent to any digit."""
    key, shown = _key(state, path), state.shown(path)
    text = f"{100 * shown:.10g} %" if isinstance(shown, float) else str(shown)
    st.text_input(label, text, key=key, help=hint or None, on_change=_commit, args=(state, path, key))
    field_error(state, path)


def line(state: AppState, label: str, path: PlacePath, hint: str = "") -> None:
    """A text field for a line of plain text."""
    key = _key(state, path)
    st.text_input(
        label, str(state.shown(path)), key=key, help=hint or None, on_change=_commit, args=(state, path, key)
    )
    field_error(state, path)


def count(state: AppState, label: str, path: PlacePath, low: int, high: int, hint: str = "") -> None:
    """A number field for a whole number from ``low`` to ``high``."""
    number(state, label, path, low, high, 1.0, hint, WHOLE)


WHOLE = "%.0f"  # Streamlit's fields for integers read 1e9 as 1


def number(
    state: AppState,
    label: str,
    path: PlacePath,
    low: float,
    high: float,
    step: float,
    hint: str = "",
    digits: str | None = None,
) -> None:
    """A number field; ``digits`` as printf has it.

    A value outside ``low`` to ``high`` stays in the field, with the rule below it.
    """
    key, shown = _key(state, path), state.shown(path)

    def commit() -> None:
        if _late(state, key):
            return
        value = st.session_state[key]
        value = int(value) if digits == WHOLE and value % 1 == 0 else value
        if rule := broken_rule(value, low, high, digits == WHOLE):
            state.refuse(path, value, rule)
        else:
            state.edit(path, value)

    with st.container(gap="xsmall"):  # in a grid the error is below its field, not the next cell
        st.number_input(
            label,
            value=float(shown) if isinstance(shown, int | float) else low,
            step=step,
            format=digits,
            key=key,
            help=hint or None,
            on_change=commit,
        )
        field_error(state, path)


def broken_rule(value: float, low: float, high: float, whole: bool = False) -> str:
    """Return the rule that a number breaks, and the remedy; empty for a valid number.

    >>> broken_rule(2.5, 1, 9, True), broken_rule(1e9, 1, 100_000), broken_rule(9, 1, 9)
    ('2.5 must be a whole number; round it.', '1,000,000,000 must be at most 100,000; lower it.', '')
    """
    if whole and value % 1:
        return f"{value:,.6g} must be a whole number; round it."
    rule = f"at least {low:,.12g}; raise it" if value < low else f"at most {high:,.12g}; lower it"
    return "" if low <= value <= high else f"{value:,.12g} must be {rule}."


def whole(
    label: str,
    low: int,
    high: int,
    value: int | None,
    key: str,
    hint: str = "",
    *,
    step: int = 1,
    on_change: Callable[[], None] | None = None,
    **more: Any,
) -> int:
    """A number field for a whole number that is no part of the scenario; the browser says its rule.

    The state of its ``key`` is a float.
    """
    entered = st.number_input(
        label,
        float(low),
        float(high),
        None if value is None else float(value),
        float(step),
        format=WHOLE,
        key=key,
        help=f"{hint} From {low:,} to {high:,}.".strip(),
        on_change=on_change,
        **more,
    )
    return low if entered is None else round(entered)


def choice(
    state: AppState,
    label: str,
    path: PlacePath,
    options: Sequence[str] | Mapping[str, Any],
    hint: str = "",
    own: bool = False,
) -> None:
    """A selection; a mapping gives the value that each option stands for; ``own``: others can be typed."""
    values = options if isinstance(options, Mapping) else {o: o for o in options}
    shown = state.shown(path)
    names = list(values)
    if shown not in values.values():
        values = {**values, str(shown): shown}
        names = list(values)
    index = list(values.values()).index(shown)
    key = _key(state, path)
    st.selectbox(
        label,
        names,
        index,
        key=key,
        help=hint or None,
        on_change=_commit,
        args=(state, path, key, values),
        accept_new_options=own,
    )
    field_error(state, path)


def toggle(state: AppState, label: str, path: PlacePath, hint: str = "") -> None:
    """A switch for what is on or off."""
    key = _key(state, path)
    st.toggle(
        label,
        bool(state.shown(path)),
        key=key,
        help=hint or None,
        on_change=_commit,
        args=(state, path, key),
    )
    field_error(state, path)


def switch(state: AppState, label: str, path: PlacePath, made: Mapping[str, Any], hint: str = "") -> bool:
    """A switch for an optional part of the scenario, ``made`` when it is turned on; whether it is on."""
    key = _key(state, path)
    on = state.value(path) is not None

    def commit() -> None:
        if not _late(state, key):
            state.edit(path, dict(made) if st.session_state[key] else None)

    st.toggle(label, on, key=key, help=hint or None, on_change=commit)
    return on


def percent(state: AppState, label: str, path: PlacePath, hint: str = "") -> None:
    """A slider for a utilisation, shown in per cent."""
    key = _key(state, path)
    shown = state.shown(path)
    value = round(100 * shown) if isinstance(shown, int | float) else 0

    def commit() -> None:
        if not _late(state, key):
            state.edit(path, st.session_state[key] / 100)

    st.slider(label, 0, 99, min(value, 99), format="%d %%", key=key, help=hint or None, on_change=commit)
    field_error(state, path)


def choose_one(label: str, options: Sequence[str], key: str, hint: str) -> str:
    """The chosen one of ``options``; the first if the kept one is gone. ``key`` is one that is kept."""
    if options and st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    chosen = st.selectbox(label, options, key=key, persist_state="session", help=hint)
    return str(chosen) if chosen in options else options[0]
