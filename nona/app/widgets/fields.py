"""What fields and texts of all pages need: errors beside a field, names in Markdown; settings that fold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from nona.app.session.editing import PlacePath
from nona.app.session.state import AppState
from nona.core.errors import NonaError, reasons
from nona.scenario.gate import place_text
from nona.scenario.words import title_of

T = TypeVar("T", bound=str)
_IN_A_LINE = re.compile(
    r"[\\`*\[\]<~]|(?<![^\W_])_|_(?![^\W_])|:(?=[a-zA-Z])|^[#+>-]|(?<=^\d)[.)]"
)  # signs that mean something to Markdown where they stand; those inside words and numbers do not
_SIGNS = re.compile(r"[\\`*_{}\[\]()<>#+!|$~:]|-(?!\w)")  # of Markdown; a hyphen in a word is none
_ADDRESS = re.compile(r"https?(?=://)|www(?=\.)|[\w.+-](?=@)", re.IGNORECASE)


def late(state: AppState, revision: int) -> bool:
    """Return whether a message comes from a field of a ``revision`` that has since been replaced, as by Undo.

    While work runs, the page polls, and each poll sends the value of every field that the browser shows.
    To Streamlit the value of a field that is gone is a change, so that its callback would bring back what
    was undone.
    """
    return revision < state.screens.current.drawn


def field_error(state: AppState, path: PlacePath, label: str = "") -> None:
    """Show the error of the entry below its field, with the field's label for the name of the place."""
    draft = state.drafts.get(path)
    if draft:
        error = entry_error(path, draft.error, label)
        st.error(plain(f"{error.rstrip('.')}. {_still_in_use(state, path)}"), icon=":material/error:")


def entry_error(path: PlacePath, error: str, label: str = "") -> str:
    """Return the error of an entry with the field's label for the name of the place.

    >>> entry_error(("workload", 0, "rate"), "workload[0].rate: '-5/s' must be greater than 0; change it.")
    "Rate: '-5/s' must be greater than 0; change it."
    """
    place, _, rule = error.partition(": ")
    own = place.partition(" (")[0] == place_text(path)
    return f"{label or title_of(path)}: {rule}" if own else error


def _still_in_use(state: AppState, path: PlacePath) -> str:
    try:
        value = state.value(path)
    except (LookupError, TypeError):  # an entry, or the part around it, is not there
        value = None
    if value is None:
        return "Until then it stays empty."
    return f"Until then {value if isinstance(value, str | int) else 'the former value'} stays in use."


def plain(text: str) -> str:
    r"""Text for Streamlit's Markdown, with every Markdown sign escaped.

    Addresses become links even where their signs are escaped, so an invisible joiner divides them.

    >>> plain("a_b [x](y) $z$ <b>")
    'a\\_b \\[x\\]\\(y\\) \\$z\\$ \\<b\\>'
    >>> plain("a100-40gb"), plain("- x")
    ('a100-40gb', '\\- x')
    >>> plain("www.a.org").replace("\u2060", "|")
    'www|.a.org'
    """
    text = _ADDRESS.sub("\\g<0>\u2060", text)
    return _SIGNS.sub(r"\\\g<0>", re.sub(r"[\r\n]", " ", text))


def show_error(problem: NonaError | str) -> None:
    """Show an error, or what is kept of one, with a line of its own for each thing that is wrong."""
    lines = problem.splitlines() if isinstance(problem, str) else reasons(problem)
    bullet = "" if len(lines) == 1 else "- "
    st.error("\n".join(f"{bullet}{plain(line)}" for line in lines), icon=":material/error:")


def unbroken(text: str) -> str:
    """:func:`plain` text in which no number is parted from its per-cent sign or its sign of times."""
    return plain(text.replace(" %", "\u00a0%").replace(" ×", "\u00a0×"))


def label_text(text: str) -> str:
    r"""Return a name for the label of a field, which browsers also read out as it is written.

    Only signs that Markdown would take are escaped, so that ordinary names stay what they are.

    >>> label_text("a100-40gb, idle, W"), label_text("kv_cache (16.5)"), label_text("$/h")
    ('a100-40gb, idle, W', 'kv_cache (16.5)', '$/h')
    >>> label_text("*a* [b](c) :red[d] $e$ _f_")
    '\\*a\\* \\[b\\](c) \\:red\\[d\\] \\$e\\$ \\_f\\_'
    """
    text = " ".join(_ADDRESS.sub("\\g<0>\u2060", text).splitlines())
    text = _IN_A_LINE.sub(r"\\\g<0>", text)
    return text.replace("$", r"\$") if text.count("$") > 1 else text  # one alone begins no formula


WHOLE = "%.0f"  # Streamlit's fields for integers read 1e9 as 1


def nearest(value: float) -> int:
    """Return the nearest whole number, halves upwards, as fields show it.

    >>> nearest(2.5), nearest(3.4)
    (3, 3)
    """
    return math.floor(value + 0.5)


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
    """Return a number field for a whole number that is no part of the scenario; the browser says its rule.

    The state of its ``key`` is a float; what is typed between two numbers becomes the nearer one.
    """
    typed = st.session_state.get(key)
    if isinstance(typed, float) and not typed.is_integer():
        st.session_state[key] = float(nearest(typed))
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
    return low if entered is None else nearest(entered)


def button(
    label: str,
    key: str,
    on_click: Callable[..., None],
    *args: object,
    icon: str = "",
    hint: str = "",
    **more: Any,
) -> bool:
    """Return a button that calls ``on_click`` with ``args``; ``icon`` is the name of a Material symbol."""
    symbol = f":material/{icon}:" if icon else None
    return st.button(label, key, hint or None, on_click, args, icon=symbol, **more)


def acting(key: str, act: Callable[[Any], object]) -> dict[str, Any]:
    """Return the key of a widget, and the callback that gives the value chosen there, if any, to ``act``."""

    def changed() -> None:
        if (value := st.session_state[key]) is not None:
            act(value)

    return {"key": key, "on_change": changed}


def selector(
    label: str,
    options: Sequence[str],
    now: str,
    key: str,
    act: Callable[[str], object],
    hint: str,
    **more: Any,
) -> None:
    """Draw a list that stands at what holds ``now``; another choice goes to ``act``."""
    st.selectbox(label, options, options.index(now), help=hint, **acting(key, act), **more)


SHARES = {"90 %": 0.9, "95 %": 0.95, "98 %": 0.98, "99 %": 0.99, "99.5 %": 0.995, "99.9 %": 0.999}


def share_to_keep(key: str, hint: str) -> float:
    """Return the chosen share of the SLOs to keep; ``key`` is one that is kept."""
    return SHARES[one_of("SLOs to keep", list(SHARES), key, hint, "99 %")]


def one_of(label: str, options: Sequence[T], key: str, hint: str, first: T | None = None, **more: Any) -> T:
    """Return the chosen one of a few, side by side.

    ``key`` is one that is kept, ``first`` the choice at first.
    """
    chosen = st.segmented_control(
        label,
        options,
        default=options[0] if first is None else first,
        required=True,
        key=key,
        persist_state="session",
        help=hint,
        **more,
    )
    return chosen if chosen in options else options[0]


def upload(
    state: AppState, label: str, key: str, topic: str, take: Callable[[str, bytes], object], hint: str
) -> None:
    """Draw the upload of one file; ``take`` gets its name and content.

    If ``take`` raises ``NonaError``, the message stays below the field, stored under ``topic``.
    """

    def taken() -> None:
        file = st.session_state[key]
        if file is None:
            return
        state.choices.complaints.pop(topic, None)
        try:
            take(file.name, file.getvalue())
        except NonaError as error:
            state.choices.complaints[topic] = "\n".join(reasons(error))

    st.file_uploader(label, key=key, on_change=taken, max_upload_size=64, help=hint)
    if complaint := state.choices.complaints.get(topic):
        show_error(complaint)


def stored_name(name: str, ending: str) -> str:
    """Return the name under which a table is kept; its ending distinguishes it from other tables.

    >>> stored_name("a/times.csv", ".measured.csv"), stored_name("times.measured.csv", ".measured.csv")
    ('times.measured.csv', 'times.measured.csv')
    """
    base = PurePath(name.replace("\\", "/")).name
    stem = base[: -len(ending)] if base.lower().endswith(ending) else PurePath(base).stem
    return (stem[:40] or "times") + ending


def choose_one(
    label: str, options: Sequence[str], key: str, hint: str, first: str | None = None, **more: Any
) -> str:
    """Return the chosen one of ``options``.

    ``key`` is one that is kept, ``first`` the choice until there is one.
    """
    if options and st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    begin = options.index(first) if first in options else 0
    chosen = st.selectbox(label, options, begin, key=key, persist_state="session", help=hint, **more)
    return str(chosen) if chosen in options else options[begin]


_OPEN, _FOLDED = ":material/expand_less:", ":material/expand_more:"


def summary_bar(
    key: str, parts: Sequence[str], job_id: str | None, beside: Callable[[], object]
) -> DeltaGenerator:
    """Open a container for settings under a row of one line with ``parts``, and what is drawn ``beside`` it.

    ``job_id`` is that of the latest job that uses the settings, ``None`` before the first: until then the
    settings stand open; a new job folds them. What the person opens or folds afterwards stays so until the
    next start. The line is known by its key and the fields stay where they are, so that neither loses the
    focus when the line changes with what is typed.
    """
    session, last, folded = st.session_state, f"{key}-folded-for", f"{key}-folded"
    if folded not in session or job_id != session.get(last):
        session[last], session[folded] = job_id, job_id is not None

    def turn() -> None:
        session[folded] = not session[folded]

    hidden = bool(session[folded])
    with st.container(gap="xsmall", key=key):
        st.html(_style(key, hidden))
        with st.container(horizontal=True, vertical_alignment="center", key=f"{key}-row"):
            st.button(
                " · ".join(plain(p) for p in parts if p),
                icon=_FOLDED if hidden else _OPEN,
                help="Show the settings." if hidden else "Fold the settings into this line.",
                on_click=turn,
                width="stretch",
                key=f"{key}-line",
            )
            beside()
        return st.container(border=True, key=f"{key}-fields")


def _style(key: str, hidden: bool) -> str:
    """Return the style: lines start at the left; folded fields are neither seen nor reached by keyboard."""
    button = f".st-key-{key}-line button"
    line = f"{button}, {button} > * {{ justify-content: flex-start; text-align: left; width: 100% }}"
    line_in_row = f".st-key-{key}-row > :is(.st-key-{key}-line, :has(.st-key-{key}-line))"
    whole = f"{button} p {{ white-space: normal }}"
    room = f"{line_in_row} {{ flex: 1 1 20rem !important; width: 20rem !important; min-width: 0 }}"
    fields = f":is(.st-key-{key}-fields, div:has(> .st-key-{key}-fields):not(.st-key-{key}))"
    fields = f"{fields} {{ display: none !important }}" if hidden else ""
    return f"<style>{line} {whole} {room} {fields}</style>"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


AT_ONCE = 20


def shown_at_once(total: int, key: str, what: str) -> range:
    """Return the places of the entries that stand on the page now; a long list gets a widget to choose them.

    ``total``: how many entries there are. ``key``: of the widget; the choice lasts as long as the session.
    ``what``: the entries, in the plural.
    """
    if total <= AT_ONCE:
        return range(total)
    pages = -(-total // AT_ONCE)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        caption = st.empty()
        # A last page that is gone is not a page; the widget begins again with another number of them.
        page = st.pagination(pages, key=f"{key}-{pages}", persist_state="session")
    first = AT_ONCE * (page - 1)
    last = min(total, first + AT_ONCE)
    caption.caption(f"{what} {first + 1:,} to {last:,} of {total:,}")
    return range(first, last)
