"""The pages of the app: each file with its title, its address and what it is for."""

from __future__ import annotations

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from nona import app_root

PAGES = (
    ("overview", "Overview", "home", "Pick a demo scenario and see the pipeline at a glance."),
    ("models", "Models", "account_tree", "Read a model, see its operators, its times, its parallelism."),
    ("contraction", "Contraction", "compress", "Watch operators become tasks, step by step."),
    ("cluster", "Cluster", "dns", "Servers, GPUs, MIG and MPS, the network, background load."),
    ("workload", "Workload", "stacked_line_chart", "The query mix, its arrival rates and its SLOs."),
    ("placement", "Placement", "hub", "Solve which parts of a query run where, with a certificate."),
    ("simulation", "Simulation", "timeline", "Compare schedulers with confidence intervals."),
    ("plan", "Plan", "shopping_cart", "What to buy, what it costs, and what it bears."),
    ("serverless", "Serverless", "bolt", "Workflows on shared GPUs: SLOs kept and cost by policy."),
    (
        "training",
        "Training",
        "model_training",
        "Long jobs on GPUs of several types: JCT, fairness and cost by policy.",
    ),
    ("saved", "Saved", "bookmarks", "Runs that you saved: search, open, compare, export, import."),
    ("validation", "Validation", "fact_check", "How accurate the results are, and the evidence."),
    ("guide", "Guide", "menu_book", "Terms, formulas, what the simulator does, limits, sources, keys."),
)


_FILES = {path.stem.partition("_")[2]: f"pages/{path.name}" for path in (app_root() / "pages").glob("*_*.py")}


def page_file(name: str) -> str:
    """The file of the page with that path in the address; the first page's path is empty.

    >>> page_file("models"), page_file("")
    ('pages/2_models.py', 'pages/1_overview.py')
    """
    return _FILES.get(name) or _FILES[PAGES[0][0]]


def icon_path() -> str:
    """The icon of every page in the browser, a local file: a symbol would be fetched from elsewhere."""
    return str(app_root() / "static" / "nona.png")


def page_list() -> list[StreamlitPage]:
    """The pages in the order of the side bar, for ``st.navigation``."""
    pages = [
        st.Page(
            page_file(name),
            title=title,
            icon=f":material/{icon}:",
            url_path=name if number > 1 else "start",  # the first page's path is empty, whatever is said here
            help=about,
            default=number == 1,
        )
        for number, (name, title, icon, about) in enumerate(PAGES, start=1)
    ]
    return [*pages, _hidden_home(pages[0])]


def _hidden_home(home: StreamlitPage) -> StreamlitPage:
    """The first page under its own name: its path is empty, so that ``/overview`` would not be found."""

    def overview() -> None:
        st.switch_page(home)

    return st.Page(overview, title="Overview", url_path="overview", visibility="hidden")
