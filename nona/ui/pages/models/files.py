"""A model's graph as a file."""

from __future__ import annotations

import json

import streamlit as st

from nona.graph.node_link.document import to_node_link
from nona.ui.loaded.loading import Loaded
from nona.ui.session.uploads import safe_name


def graph_download(loaded: Loaded) -> None:
    """The graph as JSON node-link, which this app and NetworkX read; made when it is asked for."""
    graph = loaded.prepared.graph
    st.download_button(
        "Graph as JSON",
        data=lambda: json.dumps(to_node_link(graph)),
        file_name=f"{safe_name(graph.name)}.json",
        mime="application/json",
        icon=":material/download:",
        help="Operators, shapes and bytes as node-link JSON. The picture: Save as SVG below the graph.",
        on_click="ignore",
        key="graph-json",
    )
