"""The one choice of schedulers and policies, as chips and by family, and the options of those chosen."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from nona.app.session.editing import PlacePath
from nona.app.session.kept import choose
from nona.app.session.state import AppState
from nona.app.widgets.components import declare
from nona.app.widgets.fields import button, field_error, label_text, late, nearest, plain, whole
from nona.core.document import Document
from nona.core.options import Option, PolicyOption
from nona.core.registry import Strategy
from nona.queries.schedulers.base import FAMILY_TITLES, VIEW_MEANINGS, Scheduler
from nona.queries.schedulers.registry import SCHEDULERS, USUAL
from nona.scenario.values import NamedSpec
from nona.scenario.words import value_at, words

_component = declare("schedulerpicker", why="a multiselect has no groups, badges or sources")
Choose = Callable[[tuple[str, ...]], None]


class PickerEntry(Document):
    """A scheduler: its family's title, its network view (``N0`` … ``N4``) with the meaning, its texts.

    ``research``: it is folded away, with the others that few need.
    """

    name: str
    family: str
    research: bool
    view: str
    meaning: str
    summary: str
    source: str
    adaptation: str


class SchedulerPicker(Document):
    """The data for the browser; ``heard``: the number of the last message that was processed."""

    label: str
    hint: str
    entries: tuple[PickerEntry, ...]
    chosen: tuple[str, ...]
    last_event: int


def _picker_entries(others: Iterable[str] = ()) -> tuple[PickerEntry, ...]:
    """Return the usual schedulers; research, family by family; then ``others`` that are not registered.

    >>> [e.name for e in _picker_entries(["gone"]) if not e.research][-2:]
    ['expert', 'gone']
    """
    usual = [_entry(SCHEDULERS[name], "Schedulers") for name in USUAL]
    research = [
        _entry(s, title, research=True)
        for family, title in FAMILY_TITLES.items()
        for s in SCHEDULERS.values()
        if s.family == family and s.name not in USUAL
    ]
    return _with_unknown([*usual, *research], others)


def _entry(policy: Strategy, family: str, research: bool = False) -> PickerEntry:
    view = policy.network_view if isinstance(policy, Scheduler) else None
    return PickerEntry(
        name=policy.name,
        family=family,
        research=research,
        view="" if view is None else view.name,
        meaning="" if view is None else VIEW_MEANINGS[view],
        summary=policy.summary,
        source=policy.source,
        adaptation=policy.adaptation,
    )


def _with_unknown(entries: Sequence[PickerEntry], names: Iterable[str]) -> tuple[PickerEntry, ...]:
    registered = {entry.name for entry in entries}
    blank = dict.fromkeys(("view", "meaning", "summary", "source", "adaptation"), "")
    unknown = [n for n in names if n not in registered]
    return (
        *entries,
        *(PickerEntry(name=n, family="Not registered", research=False, **blank) for n in unknown),
    )


def policy_entries(policies: Mapping[str, Strategy], family: str) -> tuple[PickerEntry, ...]:
    """Return the policies of a registry as the choice lists them."""
    return tuple(_entry(policy, family) for policy in policies.values())


def scheduler_picker(
    key: str,
    label: str,
    chosen: Sequence[str],
    hint: str,
    on_choose: Choose,
    policies: Sequence[PickerEntry] = (),
) -> None:
    """Draw the choice; ``on_choose`` gets the new names, in the order in which they were chosen.

    It is among the schedulers, or among the ``policies``.
    """

    def changed() -> None:
        message = _message(key)
        if message is not None:
            on_choose(message[0])

    message = _message(key)
    data = SchedulerPicker(
        label=label,
        hint=hint,
        entries=_with_unknown(policies, chosen) if policies else _picker_entries(chosen),
        chosen=tuple(dict.fromkeys(chosen)),
        last_event=0 if message is None else message[1],
    )
    _component(key=key, data=data.to_json(), on_chosen_change=changed)


def _message(key: str) -> tuple[tuple[str, ...], int] | None:
    """Return the names that the browser sent last, and the message's number; ``None`` if it sent none."""
    picker_state = st.session_state.get(key)
    message = picker_state.get("chosen") if picker_state is not None else None
    if not isinstance(message, list) or len(message) != 2 or not isinstance(message[0], list):
        return None
    names, number = message
    return tuple(dict.fromkeys(str(n) for n in names)), int(number)


def kept_schedulers(
    state: AppState, key: str, label: str, first: Sequence[str], allowed: Container[str], hint: str
) -> tuple[str, ...]:
    """Draw the choice that is kept under ``key``, and return it; ``first`` until others are chosen.

    Names that are not among ``allowed`` are left out.
    """
    kept = st.session_state.get(key)
    chosen = tuple(n for n in (first if kept is None else kept) if n in allowed)

    def set_names(names: tuple[str, ...]) -> None:
        choose(state, key, list(names))

    scheduler_picker(f"{key}-picker", label, chosen, hint, set_names)
    return chosen


@dataclass(frozen=True, slots=True)
class EarlierOptions:
    """The options that each policy had when it was last chosen, by scenario and place, and its name."""

    options: Mapping[tuple[PlacePath, str], Mapping[str, Any]] = field(default_factory=dict)


def pick_entries(state: AppState, key: str, path: PlacePath, policies: Sequence[PickerEntry] = ()) -> None:
    """Draw the choice of the scenario's schedulers or ``policies``, which stand at ``path``.

    One that is left out and chosen again has the options that it had.
    """
    revision, wording = state.revision, words(path)
    own = {e.name: e.options for e in value_at(state.scenario, path) or ()}

    def set_names(names: tuple[str, ...]) -> None:
        if late(state, revision):
            return
        where = (state.scenario.name, *path)
        options = {**state.choices.get(EarlierOptions).options, **{(where, n): o for n, o in own.items()}}
        state.choices.keep(EarlierOptions(options))
        state.edit(path, [{"name": n, "options": options.get((where, n), {})} for n in names])

    scheduler_picker(key, wording.title, list(own), wording.about, set_names, policies)
    field_error(state, path)


def option_popover(state: AppState, key: str, path: PlacePath, strategies: Mapping[str, Strategy]) -> None:
    """Draw a popover with the options of the policies at ``path``, and those given.

    Nothing is drawn if none has any.
    """
    entries: Sequence[NamedSpec] = value_at(state.scenario, path) or ()
    shown = [e for e in entries if e.name in strategies and (e.options or _settings(strategies[e.name]))]
    if not shown:
        return
    popover = st.popover("Options", icon=":material/tune:", on_change="rerun", key=key)
    if given := "; ".join(f"{e.name} {e.options_text}" for e in shown if e.options):
        st.caption(plain(given), width="content")
    if popover.open:
        with popover:
            for entry in shown:
                _options(state, path, entry, _settings(strategies[entry.name]))


def _settings(declared: Strategy) -> dict[str, PolicyOption]:
    """Return the options that have a field here; others have a form of their own."""
    return {name: setting for name, setting in declared.settings.items() if setting.kind is not object}


def _options(
    state: AppState, path: PlacePath, entry: NamedSpec, settings: Mapping[str, PolicyOption]
) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{plain(entry.name)}**", width="content")
        if entry.options:
            key, where = f"defaults:{entry.name}", (state, path, entry.name)
            button("Defaults", key, _take_defaults, *where, icon="restart_alt", type="tertiary")
    with st.grid(2, min_column_width=180):
        for name, setting in settings.items():
            _field(state, path, entry, name, setting)


def _take_defaults(state: AppState, path: PlacePath, policy: str) -> None:
    state.change(path, with_options(value_at(state.scenario, path), policy, {}))


def _field(state: AppState, path: PlacePath, entry: NamedSpec, name: str, setting: PolicyOption) -> None:
    default, most = setting.default, min(setting.most, 2**31)
    label = _label(setting.text)
    hint = f"`{name}`: {plain(setting.text)}. Default: {plain(_text(default))}."
    revision = state.revision
    key = f"option:{revision}:{entry.name}:{name}"
    value = entry.options.get(name, default)
    allowed = not setting.rule(value)  # else it is text, which can be mended

    def commit() -> None:
        if not late(state, revision):
            entries = value_at(state.scenario, path)
            state.edit(path, with_option(entries, entry.name, name, st.session_state[key], default))

    common: dict[str, Any] = {"key": key, "on_change": commit}
    with st.container():
        if isinstance(default, bool) and allowed:
            st.toggle(label, bool(value), help=hint, **common)
        elif setting.words and allowed:
            words = [*(["none"] if default is None else []), *setting.words]
            st.selectbox(label, words, words.index(_text(value)), help=hint, **common)
        elif isinstance(default, int) and isinstance(value, int) and allowed:
            whole(label, int(setting.least), int(most), value, hint=hint, **common)
        elif isinstance(default, int | float) and isinstance(value, int | float) and allowed:
            least, most = float(setting.least), float(most)
            st.number_input(label, least, most, float(value), format="%g", help=hint, **common)
        else:
            st.text_input(label, _text(value), help=hint, **common)


def _label(text: str) -> str:
    """Return the beginning of what an option does, as its label.

    >>> _label("seconds between two divisions (assumed)"), _label("the largest batch; 0: none is made")
    ('Seconds between two divisions', 'The largest batch')
    """
    first = re.split(r"; | \(|, as |, where ", text.rstrip("."), maxsplit=1)[0]
    return label_text(first[:1].upper() + first[1:])


def _text(value: Option) -> str:
    return "none" if value is None else str(value)


Entries = list[dict[str, Any]]
"""Policies as a file writes them."""


def with_option(
    entries: Sequence[NamedSpec], policy: str, name: str, value: Option, default: Option
) -> Entries:
    """Return the policies with one option of one of them set; one at its default is left out."""
    own = dict(next((e.options for e in entries if e.name == policy), {}))
    own[name] = _parsed(value, default)
    if own[name] == default:
        del own[name]
    return with_options(entries, policy, own)


def with_options(entries: Sequence[NamedSpec], policy: str, options: Mapping[str, Any]) -> Entries:
    """Return the policies with these options of one of them."""
    return [{"name": e.name, "options": options if e.name == policy else e.options} for e in entries]


def _parsed(value: Option, default: Option) -> Option:
    """Typed text for an option whose default is no number: a number if it is one, ``None`` if it is empty.

    >>> _parsed("4", None), _parsed("none", 3), _parsed("warm", "cold"), _parsed(2, 1)
    (4, None, 'warm', 2)
    """
    if not isinstance(value, str):
        return nearest(value) if isinstance(default, int) and isinstance(value, float) else value
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
