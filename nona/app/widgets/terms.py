"""Terms of the glossary on the pages, and links to page Help."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote

import streamlit as st

from nona.app.guide import TERMS, section_titles

TERM_PARAMETER = "term"
ON_PAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Home": ("query", "task", "link", "JCT"),
        "Scenario": ("query", "SLO", "SCV", "batching", "executor", "MIG", "MPS", "link", "utilisation"),
        "Models": ("operator", "task", "contraction", "cut task", "sub-graph", "parallelism", "provenance"),
        "Placement": ("configuration", "sub-graph", "local", "spread", "lead", "gap", "load"),
        "Simulation": (
            "JCT",
            "SLO hit",
            "interval",
            "replication",
            "warm-up",
            "baseline",
            "overloaded",
            "network view",
        ),
        "Plan": ("SLO hit", "error budget", "headroom", "MIG", "interval"),
        "Serverless": ("configuration", "vGPU", "cold start", "SLO hit"),
        "Training": (
            "JCT",
            "allocation",
            "round",
            "finish-time fairness",
            "makespan",
            "goodput",
            "statistical efficiency",
        ),
        "Imported files": ("query", "task", "SLO", "batching", "MIG", "MPS", "engine", "KV cache"),
        "Runs": ("version", "replication", "interval"),
        "Evidence": ("JCT", "interval", "provenance"),
    }
)
"""Page → the terms that one must know to read it."""
OF_LANGUAGE = ("engine", "router", "TTFT", "TPOT", "goodput", "KV cache", "interval", "overloaded")
"""Those of Simulation, Plan and Placement where all rows ask language models."""


def term(name: str, shown: str = "") -> str:
    """Markdown of a term that links to its entry; ``shown`` is the word in the sentence, by default ``name``.

    >>> term("SLO hit", "hits")
    '[hits](help?term=SLO%20hit)'

    Raises ``KeyError`` when the glossary has no such term.
    """
    if name not in TERMS:
        raise KeyError(name)
    return f"[{shown or name}](help?{TERM_PARAMETER}={quote(name)})"


def page_terms(page: str, of_language: bool) -> None:
    """Name the terms of a page in one line; the layout shows those whose word the page has."""
    names = (
        OF_LANGUAGE if of_language and page in ("Simulation", "Plan", "Placement") else ON_PAGES.get(page, ())
    )
    if names:
        with st.container(key="page-terms"):
            st.caption("Terms on this page: " + " ".join(term(name) for name in names))


GUIDE_PARAMETER = "section"


def guide_link(section: str, label: str) -> None:
    """Link to ``section`` of page Help; raises ``KeyError`` for one that it does not have."""
    title = section_titles()[section]
    st.page_link(
        "pages/help.py",
        label=label,
        icon=":material/help:",
        help=f"Opens Help at “{title}”.",
        query_params={GUIDE_PARAMETER: section},
    )
