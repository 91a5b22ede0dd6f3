"""The pages of the app: their groups, each with its title, its address and the question that it answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from nona import app_root
from nona.core.family import PageEntry, families

HOME = PageEntry(
    "home",
    "Home",
    "home",
    "Should inference queries be split over the servers of a GPU cluster? See it, and plan that cluster.",
)
_FIRST, *_OTHERS = families()
GROUPS: Mapping[str, tuple[PageEntry, ...]] = MappingProxyType(
    {
        "": (HOME,),
        "Inference": _FIRST.pages,
        "More": (
            *(page for family in _OTHERS for page in family.pages),
            PageEntry(
                "imported",
                "Imported files",
                "upload_file",
                "Which scenario do my cluster's files give, and which facts are missing?",
            ),
            PageEntry("runs", "Runs", "bookmarks", "Which runs exist, and how do two runs differ?"),
            PageEntry("evidence", "Evidence", "fact_check", "How accurate are the results?"),
            PageEntry("help", "Help", "menu_book", "How do I do it, and what does a word mean?"),
        ),
    }
)
PAGES = {entry.name: entry for group in GROUPS.values() for entry in group}
# Addresses of former versions, and of the first page, whose path is empty: the page that has the content,
# and what is open there (widget, value).
FORMER: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        "home": ("home", ()),
        "start": ("home", ()),
        "overview": ("home", ()),
        "cluster": ("scenario", ()),
        "workload": ("scenario", ()),
        "contraction": ("models", (("model-view", "Step by step"),)),
        "saved": ("runs", ()),
        "validation": ("evidence", ()),
        "guide": ("help", ()),
    }
)


def page_file(name: str) -> str:
    """Return the file of the page with that name in the address; the first page's path is empty.

    >>> page_file("models"), page_file("")
    ('pages/models.py', 'pages/home.py')
    """
    return PAGES.get(name, HOME).file


def icon_path() -> str:
    """Return the icon of every page, a local file: a symbol would be fetched from elsewhere."""
    return str(app_root() / "static" / "nona.png")


def page_list() -> dict[str, list[StreamlitPage]]:
    """Return the groups of pages for ``st.navigation``, in order, and the former addresses."""
    groups = {
        title: [
            st.Page(
                entry.file,
                title=entry.title,
                icon=f":material/{entry.icon}:",
                url_path="first" if entry is HOME else entry.name,  # its path is empty, whatever is said here
                help=entry.question,
                default=entry is HOME,
            )
            for entry in entries
        ]
        for title, entries in GROUPS.items()
    }
    groups[""] += [st.Page(_nothing, title=name, url_path=name, visibility="hidden") for name in FORMER]
    return groups


def redirect_old_url(path: str) -> None:
    """Go from an address of former versions to the page that has its content, with the same query."""
    if path not in FORMER:
        return
    name, choices = FORMER[path]
    for key, value in choices:
        st.session_state[key] = value
    st.switch_page(page_file(name), query_params=st.query_params.to_dict())


def _nothing() -> None:
    """Draw no page: :func:`redirect_old_url` leaves it."""
