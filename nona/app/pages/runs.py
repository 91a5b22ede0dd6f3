"""The Runs page: the list, runs side by side, files, links; the button that saves a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import streamlit as st

from nona.app.layout.run_keeper import ONLY_SAVED, PLACES, comes_back, kind_of, show_result, store
from nona.app.layout.scenario_bar import run_link
from nona.app.session.opening import with_files
from nona.app.session.page_list import page_file
from nona.app.session.state import OPENED, AppState
from nona.app.store.contents import SAVED_KINDS, Contents
from nona.app.store.report import answers, answers_figure, changes_text, date_text
from nona.app.store.saved_results import MOST_NAME, MOST_NOTE, SavedComparison, SavedItem, SavedList
from nona.app.store.store import (
    FEWEST,
    MOST,
    MOST_BY_ITSELF,
    MOST_BY_ITSELF_BYTES,
    MOST_IN_FILE,
    SUFFIX,
    compare,
    export_items,
    import_items,
)
from nona.app.widgets.downloads import download_button, file_stem
from nona.app.widgets.fields import button, one_of, plain, show_error
from nona.app.widgets.results import picture, table
from nona.core.document import RunResult
from nona.core.errors import NonaError, StoreError, reasons
from nona.core.foreign import MOST_BUNDLE_BYTES
from nona.core.text import count_text
from nona.core.units import format_size
from nona.scenario.schema import Scenario

PLACE = "saved"  # of the complaint
T = TypeVar("T")


def _attempt(state: AppState, call: Callable[[], T]) -> T | None:
    """Return the result of ``call``; if it fails, ``None``, and :func:`_complaint` shows the reason."""
    state.choices.complaints.pop(PLACE, None)
    try:
        return call()
    except NonaError as error:
        state.choices.complaints[PLACE] = "\n".join(reasons(error))
        return None


def _complaint(state: AppState) -> None:
    if complaint := state.choices.complaints.get(PLACE):
        show_error(complaint)


def _cookie_hint() -> None:
    """Show a warning where the browser keeps no cookie: the items could not be found again."""
    if not comes_back():
        st.caption(
            "This browser stores no cookie of this server. After you close it, your saved runs cannot be "
            "found again: export them first."
        )


@dataclass(frozen=True, slots=True)
class SavedNames:
    """The names under which results of this session were saved, by their keys."""

    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToSave:
    """A result that can be saved; ``mark`` tells it from others of the session, ``name`` is proposed."""

    mark: str
    name: str
    result: RunResult


def save_popover(state: AppState, to_save: ToSave | None) -> None:
    """Draw the button that saves a result, with fields for name and note."""
    kind = None if to_save is None else kind_of(to_save.result)
    if to_save is None or kind is None:
        return
    mark = to_save.mark
    named, noted = f"save-name-{mark}", f"save-note-{mark}"
    noun = "plan" if kind.noun == "plan" else "run"
    done = state.choices.get(SavedNames).names.get(mark)

    def save() -> None:
        given, note = str(st.session_state.get(named, "")), str(st.session_state.get(noted) or "")
        sources = state.uploads.sources
        saved = _attempt(state, lambda: store().save(kind.new_item(given, note, to_save.result, sources)))
        if saved:
            names = state.choices.get(SavedNames).names
            state.choices.keep(SavedNames({**names, mark: saved[0].name}))
            state.notify(f"Saved as “{saved[0].name}”.", "runs", "See it")

    with st.popover(f"Save this {noun}", icon=":material/bookmark_add:"):
        # Said here: as a hint of the button it would lie over Save, which unfolds where the pointer is.
        st.caption(
            "Keeps the scenario, its models and the result until you delete them; see page Runs. Unsaved "
            "runs stay there until newer runs replace them."
        )
        # A browser draws the field when it is unfolded, and takes its default then, not what was set before.
        hint = "The name of the run on page Runs."
        st.text_input("Name", to_save.name[:MOST_NAME], key=named, max_chars=MOST_NAME, help=hint)
        hint = "Your remarks; the search includes them."
        st.text_area("Note", key=noted, max_chars=MOST_NOTE, height=80, help=hint)
        st.button(
            "Save", type="primary", icon=":material/bookmark_added:", on_click=save, key=f"save-{kind.name}"
        )
        if done is not None:
            st.caption(plain(f"Saved as “{done}”. Save again to keep a second copy."))
        _complaint(state)
        _cookie_hint()


def open_item(state: AppState, item: SavedItem) -> None:
    """Make an item's scenario the session's own, as one step to undo, and go where its result is shown."""
    contents = _attempt(state, lambda: store().contents(item.id))
    if contents is None:
        return
    taken = _attempt(state, lambda: _with_files(contents, state))
    if taken is None:
        return
    state.apply(taken, f"{OPENED}the saved “{item.name}”")  # a step of its own, whatever was opened before
    state.drafts = {}
    state.show_first_model()
    state.go_to = page_file(PLACES[item.kind].page)
    if _show(state, item, contents):
        states = " as stated in the file: run it again to check" if item.imported else ""
        state.notify(f"“{item.name}” is open, with its result{states}.")
    else:
        state.notify(f"The scenario of “{item.name}” is open; run it to see its result here.")


def _show(state: AppState, item: SavedItem, contents: Contents) -> bool:
    """Show the result, if this version can read it and it belongs to the scenario; whether it is shown."""
    try:
        name = f"{item.name} (imported)" if item.imported else item.name
        return show_result(state, name, contents.answer(), f"saved-{item.id}")
    except NonaError:
        return False


def _with_files(contents: Contents, state: AppState) -> Scenario:
    opened = contents.opened()
    return with_files(opened.scenario, opened.sources, state.uploads)


@dataclass(frozen=True, slots=True)
class _Deleted:
    items: tuple[SavedItem, ...] = ()


def _item_card(state: AppState, item: SavedItem, tick: str) -> None:
    facts, kind = item.facts, SAVED_KINDS[item.kind].noun if item.kind in SAVED_KINDS else item.kind
    with st.container(border=True, key=f"saved-item-{item.id}", gap="xsmall"):
        hint = "Tick items to compare or export them."
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.checkbox(
                _spoken(item.name), key=tick, help=hint, label_visibility="collapsed", width="content"
            )
            st.markdown(f"**{plain(item.name)}**")
            st.badge(plain(kind), color="gray")
        parts = [
            f"{kind[:1].upper()}{kind[1:]} of “{facts.scenario}”"
            + (f": {facts.about}" if facts.about else ""),
            ", ".join(facts.schedulers),
            facts.made,
            f"version {facts.fingerprint}",
        ]
        parts += [f"imported {date_text(item)}: figures as the file states them"] if item.imported else []
        parts += [] if item.mine else ["saved by another user"]
        parts += ["not saved: newer runs will replace it"] if item.by_itself else []
        st.caption(plain(" · ".join(parts)))
        if facts.finding:
            st.markdown(plain(facts.finding))
        if item.note:
            st.markdown("  \n".join(f"*{plain(line)}*" for line in item.note.splitlines() if line))
        _operations(state, item)


def _spoken(name: str) -> str:
    """Return a name as a label that is read out and not shown: without the signs of Markdown.

    >>> _spoken("*a* [b](c)")
    ' a   b (c)'
    """
    return re.sub(r"[\\`*_{}\[\]<>#+!|$~:]", " ", name)


def _operations(state: AppState, item: SavedItem) -> None:
    with st.container(horizontal=True, gap="small"):
        hint = (
            "Replaces your scenario by the run's scenario, and shows the result on its page. Undo brings "
            "your scenario back."
        )
        button("Open", f"saved-open-{item.id}", open_item, state, item, icon="open_in_browser", hint=hint)
        if item.mine and item.by_itself:
            hint = "Keeps the run until you delete it."
            button("Save", f"saved-keep-{item.id}", _keep, state, item, icon="bookmark_add", hint=hint)
        if item.mine:
            _edit(state, item)
        _share(item)
        if not item.by_itself:
            hint = "Saves a copy that belongs to you."
            button(
                "Duplicate", f"saved-copy-{item.id}", _duplicate, state, item, icon="content_copy", hint=hint
            )
        if item.mine:
            hint = "You can undo this for a day."
            button("Delete", f"saved-delete-{item.id}", _delete, state, item, icon="delete", hint=hint)


def _keep(state: AppState, item: SavedItem) -> None:
    if _attempt(state, lambda: store().keep(item.id)):
        state.notify(f"“{item.name}” is saved: it stays until you delete it.")


def _share(item: SavedItem) -> None:
    popover = st.popover(
        "Share",
        icon=":material/link:",
        on_change="rerun",
        key=f"saved-share-{item.id}",
        help="Download, or copy a link if no model file is needed.",
    )
    if not popover.open:
        return
    with popover:
        own = store()  # here: the file is made outside the script, where nobody's cookie is at hand
        hint = "One file with scenario, models and result, for Import on page Runs and `nona saved import`."
        file = f"{file_stem(item.name)}{SUFFIX}"
        key = f"saved-file-{item.id}"
        download_button("Download the run", key, lambda: export_items(own, [item.id]), file, hint)
        try:
            link, obstacle = run_link(own.contents(item.id), item.name)
        except NonaError as error:
            show_error(error)
            return
        if link:
            with st.container(key="share-link"):
                st.code(link, language=None, wrap_lines=True, height=120)
            st.caption("A link to the scenario with this result.")
        else:
            st.caption(plain(f"No link: {obstacle}. Send the file."))


def _edit(state: AppState, item: SavedItem) -> None:
    name, note = f"saved-name-{item.id}", f"saved-note-{item.id}"
    with st.popover("Edit", icon=":material/edit:", help="Name and note."):
        st.text_input(
            "Name", item.name, key=name, max_chars=MOST_NAME, help="The name of the run in the list."
        )
        hint = "Your remarks; the search includes them."
        st.text_area("Note", item.note, key=note, max_chars=MOST_NOTE, height=80, help=hint)
        button("Save changes", f"saved-change-{item.id}", _change, state, item, name, note, icon="check")


def _change(state: AppState, item: SavedItem, name: str, note: str) -> None:
    given, note_text = str(st.session_state.get(name, "")), str(st.session_state.get(note) or "")
    if _attempt(state, lambda: store().rename(item.id, given)) and _attempt(
        state, lambda: store().annotate(item.id, note_text)
    ):
        state.notify(f"“{given}”: name and note are saved.")


def _duplicate(state: AppState, item: SavedItem) -> None:
    copy = _attempt(state, lambda: store().duplicate(item.id))
    if copy is not None:
        state.notify(f"“{copy.name}” is the first in the list.")


def _delete(state: AppState, *items: SavedItem) -> None:
    """Delete them one by one: another tab may have deleted some already, and the others can be taken back."""
    deleted = [gone for item in items if (gone := _attempt(state, partial(store().delete, item.id)))]
    if deleted:
        state.choices.keep(_Deleted(tuple(deleted)))


def _undo_notice(state: AppState) -> None:
    items = state.choices.get(_Deleted).items
    if not items:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="saved-undo"):
        one = f"“{plain(items[0].name)}” is deleted."
        st.markdown(one if len(items) == 1 else f"{len(items)} runs are deleted.", width="content")
        button("Undo the deletion", "saved-restore", _restore, state, *items, icon="undo")
        st.button("Dismiss", icon=":material/close:", on_click=_dismiss, args=(state,), key="saved-dismiss")


def _restore(state: AppState, *items: SavedItem) -> None:
    left = [item for item in items if not _attempt(state, partial(store().restore, item.id))]
    state.choices.keep(_Deleted(tuple(left)))


def _dismiss(state: AppState) -> None:
    state.choices.keep(_Deleted())


@dataclass(frozen=True, slots=True)
class _Compared:
    """A comparison: the identifiers of its items, none without one, and the result."""

    ids: tuple[str, ...] = ()
    found: SavedComparison | None = None


def _compared(state: AppState) -> bool:
    return bool(state.choices.get(_Compared).ids)


def _start_comparing(state: AppState, ids: Sequence[str]) -> None:
    comparison = _attempt(state, lambda: compare(store(), ids))
    if comparison is not None:
        state.choices.keep(_Compared(tuple(ids), comparison))


def _compare_panel(state: AppState) -> bool:
    comparison = state.choices.get(_Compared).found
    if comparison is None:
        return False
    button("Back to the list", "saved-back", _stop, state, icon="arrow_back")
    with st.grid(len(comparison.items), min_column_width=220):
        for number, item in enumerate(comparison.items, start=1):
            with st.container(border=True):
                st.markdown(f"**{number} · {plain(item.name)}**")
                st.caption(plain(f"{item.facts.made} · version {item.facts.fingerprint}"))
                if number > 1:
                    st.markdown(plain(changes_text(comparison.scenario[number - 1])))
                    st.caption(plain(comparison.notes[number - 1]))
                else:
                    st.markdown("The other runs are compared with this run.")
                st.markdown(plain(item.facts.finding))
    _answers(comparison)
    return True


def _answers(comparison: SavedComparison) -> None:
    measures = list(dict.fromkeys(answer.measure for answer in comparison.answers))
    if not measures:
        return
    hint = "The measure in the chart and the table; lines and ± are 95 % intervals."
    measure = one_of("Measure", measures, "saved-measure", hint)
    chosen = comparison.model_copy(
        update={"answers": tuple(a for a in comparison.answers if a.measure == measure)}
    )
    alt = f"{measure} of each scheduler in each of the compared items, with 95 % intervals"
    picture(answers_figure(chosen), key="saved-chart", alt=alt)
    table(answers(chosen), "saved-answers", alt, "saved_comparison")
    st.caption(
        "Columns are numbered as above; “2 − 1” is the change from 1 to 2. * the 95 % interval of the change "
        "excludes 0; each interval holds separately."
    )


def _stop(state: AppState) -> None:
    state.choices.keep(_Compared())


def _export_button(items: Sequence[SavedItem], all_of_them: bool) -> None:
    own = store()  # here: the file is made outside the script, where nobody's cookie is at hand
    ids, fits = [item.id for item in items], len(items) <= MOST_IN_FILE
    name = file_stem(items[0].name) if len(items) == 1 else "saved_runs"
    download_button(
        "Export all" if all_of_them else f"Export {len(ids)} ticked",
        "saved-export",
        lambda: export_items(own, ids),
        f"{name}{SUFFIX}",
        "One file with scenarios, models and results, for this page and `nona saved import`."
        if fits
        else f"At most {MOST_IN_FILE} at a time: tick those to export.",
        disabled=not fits,
    )


def _import_popover(state: AppState) -> None:
    key = f"saved-file-{state.revision}"
    with st.popover(
        "Import",
        icon=":material/upload_file:",
        help="A file that was exported from page Runs or by `nona saved export`.",
    ):
        st.file_uploader(
            f"Exported items ({SUFFIX})",
            key=key,
            on_change=_import_file,
            args=(state, key),
            max_upload_size=MOST_BUNDLE_BYTES // 10**6,
            help="The runs become yours, marked as imported. Their figures are as stated in the file.",
        )
        _complaint(state)


def _import_file(state: AppState, key: str) -> None:
    upload = st.session_state.get(key)
    if upload is None:
        return
    items = _attempt(state, lambda: import_items(store(), upload.getvalue()))
    if items:
        state.notify(f"{count_text(len(items), 'item')} imported.")


STEP = 20  # items shown at first, and added by each "Show more"


NOT_KEPT = "Searches, what-ifs and comparisons of sharing modes or schedulers are not kept: run them again."
ALL, BY_WISH, BY_ITSELF = "All", "Saved", "Not saved"


@dataclass(frozen=True, slots=True)
class _Shown:
    most: int = STEP


def saved_page(state: AppState) -> None:
    """Everything on the page; where the database cannot be used, one line says why."""
    try:
        every = store().listing()
    except StoreError as error:
        st.error(plain(str(error)), icon=":material/database_off:")
        st.caption("All other pages work. Runs cannot be saved until this is fixed.")
        return
    _complaint(state)
    _undo_notice(state)
    if _compared(state) and _compare_panel(state):
        return
    _list(state, every)
    _cookie_hint()


def _list(state: AppState, every: SavedList) -> None:
    ticked = [item for item in every.items if st.session_state.get(_tick_key(item))]
    which = _filters() if every.items else ALL
    _actions(state, every, ticked)
    if not every.items:
        st.info(
            "No run yet at this address and port. Finished simulations, checks, sweeps, placements, plans, "
            f"serverless and training runs are listed here. You can also import an exported file. {NOT_KEPT}",
            icon=":material/bookmarks:",
        )
        st.page_link("pages/simulation.py", label="Go to Simulation", icon=":material/timeline:")
    if every.unreadable:
        st.warning(f"{count_text(every.unreadable, 'item')} cannot be read: the database is damaged there.")
    search = str(st.session_state.get("saved-find") or "")
    matching = store().listing(search).items if search else every.items
    matching = tuple(item for item in matching if which in (ALL, BY_ITSELF if item.by_itself else BY_WISH))
    if every.items and not matching:
        st.info("No run of this kind contains all of these words. Try a single or a shorter word.")
    most = state.choices.get(_Shown).most
    for item in matching[:most]:
        _item_card(state, item, _tick_key(item))
    if len(matching) > most:
        more = min(STEP, len(matching) - most)
        st.button(f"Show {more} more of {len(matching)}", on_click=_more, args=(state,), key="saved-more")


def _filters() -> str:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Find",
            placeholder="name, note, scheduler or model",
            icon=":material/search:",
            key="saved-find",
            help="Shows the runs with all of these words in name, note, scenario, scheduler or model.",
        )
        hint = "Finished runs are listed until newer runs replace them; saved runs stay."
        return one_of("Show", (ALL, BY_WISH, BY_ITSELF), "runs-shown", hint)


def _housekeeping(state: AppState, every: SavedList) -> None:
    kept = [item for item in every.items if item.by_itself and item.mine]
    with st.popover(
        "Tidy up", icon=":material/cleaning_services:", help="Choose which runs are kept, and delete runs."
    ):
        st.caption(
            f"The last {MOST_BY_ITSELF} finished runs and plans are listed without being saved, up to "
            f"{format_size(MOST_BY_ITSELF_BYTES)}; *Save*, a name or a note make one stay. {NOT_KEPT}"
        )
        st.toggle(
            "List only what I save",
            key=ONLY_SAVED,
            help="Later runs are then listed only if you save them; listed runs stay.",
        )
        button(
            f"Delete the {len(kept)} not saved",
            "runs-clean-up",
            _delete,
            state,
            *kept,
            icon="delete_sweep",
            hint="You can undo this for a day. Saved runs stay.",
            disabled=not kept,
        )


def _more(state: AppState) -> None:
    state.choices.keep(_Shown(state.choices.get(_Shown).most + STEP))


def _actions(state: AppState, every: SavedList, ticked: list[SavedItem]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="saved-actions"):
        if every.items:
            fits = FEWEST <= len(ticked) <= MOST
            st.button(
                f"Compare {len(ticked)} ticked" if fits else f"Compare: tick {FEWEST} to {MOST}",
                icon=":material/compare_arrows:",
                type="primary" if fits else "secondary",
                disabled=not fits,
                help="All runs are compared with the one saved first.",
                on_click=_start_comparing,
                args=(state, [item.id for item in reversed(ticked)]),
                key="saved-compare",
            )
            _export_button(ticked or list(every.items), all_of_them=not ticked)
        _import_popover(state)
        _housekeeping(state, every)


def _tick_key(item: SavedItem) -> str:
    return f"saved-tick-{item.id}"
