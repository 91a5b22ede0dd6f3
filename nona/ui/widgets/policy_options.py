"""The options of chosen policies: one field for each, by the kind of its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import streamlit as st

from nona.options import Option, Options
from nona.ui.session.state import AppState, Path
from nona.ui.widgets.fields import plain


class Entry(Protocol):
    """A policy as the scenario has it."""

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> Mapping[str, Any]: ...


class Declared(Protocol):
    """What a policy says of its options."""

    @property
    def defaults(self) -> Options: ...

    @property
    def option_help(self) -> Mapping[str, str]: ...


def option_popover(
    state: AppState, key: str, path: Path, entries: Sequence[Entry], find: Callable[[str], Declared | None]
) -> None:
    """A popover with the options of every chosen policy that has some; ``entries`` stand at ``path``."""
    popover = st.popover("Policy options", icon=":material/tune:", on_change="rerun", key=key)
    if not popover.open:
        return
    with popover:
        for place, entry in enumerate(entries):
            declared = find(entry.name)
            if declared is None or not declared.defaults:
                continue
            st.markdown(f"**{plain(entry.name)}**")
            with st.grid(2, min_column_width=180):
                for name in declared.defaults:
                    _field(state, path, entries, place, name, declared)


def _field(
    state: AppState, path: Path, entries: Sequence[Entry], place: int, name: str, declared: Declared
) -> None:
    default = declared.defaults[name]
    about = declared.option_help.get(name, "")
    hint = f"{plain(about)} Default: {plain(_text(default))}."
    key = f"option:{state.revision}:{place}:{name}"
    value = entries[place].options.get(name, default)

    def commit() -> None:
        state.edit(path, changed(entries, place, name, st.session_state[key], default))

    told: Mapping[str, Any] = {"key": key, "help": hint, "on_change": commit}
    with st.container():
        if isinstance(default, bool):
            st.toggle(_label(name), bool(value), **told)
        elif isinstance(default, int) and isinstance(value, int):
            st.number_input(_label(name), 0, 2**31, value, 1, **told)
        elif isinstance(default, int | float) and isinstance(value, int | float):
            st.number_input(_label(name), value=float(value), format="%g", **told)
        else:
            st.text_input(_label(name), _text(value), **told)


def _label(name: str) -> str:
    """The option's name for people.

    >>> _label("group_size"), _label("cutoff_s")
    ('Group size', 'Cutoff, s')
    """
    unit = ", s" if name.endswith("_s") else ""
    return name.removesuffix("_s").replace("_", " ").capitalize() + unit


def _text(value: Option) -> str:
    return "none" if value is None else str(value)


def changed(
    entries: Sequence[Entry], place: int, name: str, value: Option, default: Option
) -> list[dict[str, str | Options]]:
    """The scenario's policies with one option set; one at its default is left out."""
    own = {**entries[place].options, name: _parsed(value, default)}
    if own[name] == default:
        del own[name]
    return [
        {"name": e.name, "options": own if i == place else dict(e.options)} for i, e in enumerate(entries)
    ]


def _parsed(value: Option, default: Option) -> Option:
    """Typed text for an option whose default is no number: a number if it is one, ``None`` if it is empty.

    >>> _parsed("4", None), _parsed("none", 3), _parsed("warm", "cold"), _parsed(2, 1)
    (4, None, 'warm', 2)
    """
    if not isinstance(value, str):
        return value
    if value.strip().lower() in ("", "none"):
        return None
    if isinstance(default, str):
        return value.strip()
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value.strip()
