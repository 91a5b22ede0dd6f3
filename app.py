"""Nona Planner in the browser: the list of pages. Run it with ``nona app`` or ``streamlit run app.py``."""

import streamlit as st

from nona.ui.shell.shell import follow, hidden_home, icon_path, open_session, side_bar

st.set_page_config(page_icon=icon_path(), layout="wide")
state = open_session()
PAGES = [
    ("overview", "Overview", "home", "Pick a demo scenario and see the pipeline at a glance."),
    ("models", "Models", "account_tree", "Read a model, see its operators, its times, its parallelism."),
    ("contraction", "Contraction", "compress", "Watch operators become tasks, step by step."),
    ("cluster", "Cluster", "dns", "Servers, GPUs, MIG and MPS, the network, background load."),
    ("workload", "Workload", "stacked_line_chart", "The query mix, its arrival rates and its SLOs."),
    ("placement", "Placement", "hub", "Solve which parts of a query run where, with a certificate."),
    ("simulation", "Simulation", "timeline", "Compare schedulers with confidence intervals."),
    ("serverless", "Serverless", "bolt", "Workflows on shared GPUs: SLOs kept and cost by policy."),
    ("validation", "Validation", "fact_check", "How accurate the results are, checked in five ways."),
    ("guide", "Guide", "menu_book", "Terms, formulas, what the simulator does, limits, sources, keys."),
]
pages = [
    st.Page(
        f"pages/{number}_{name}.py",
        title=title,
        icon=f":material/{icon}:",
        url_path=name if number > 1 else "start",  # the first page's path is empty, whatever is said here
        help=about,
        default=number == 1,
    )
    for number, (name, title, icon, about) in enumerate(PAGES, start=1)
]
page = st.navigation([*pages, hidden_home(pages[0])])
follow(state)
side_bar(state)
st.title(page.title)
page.run()
