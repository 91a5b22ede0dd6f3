"""GPU layouts: what the GPUs of one invoker held over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from nona.gpu_sharing.registry import WAYS
from nona.report.serverless.figures.layouts import layouts_figure
from nona.report.serverless.layouts import Placed, clipped, layouts_title, placed, stranded_spans
from nona.results.serverless.dispatch import LayoutNode, ServerlessOutcome
from nona.ui.session.state import AppState
from nona.ui.widgets import choose
from nona.ui.widgets.charts import chart


def layouts_tab(state: AppState, data: ServerlessOutcome) -> None:
    """Choose a policy and an invoker; a rectangle for every batch, stranded slices hatched."""
    layouts = data.layouts
    left, right = st.columns(2)
    with left:
        policy = choose_one("Policy", list(layouts.rows), "policy", "The policy to show.")
    rows = layouts.rows[policy]
    with right:
        used = sorted({r.invoker for r in rows}) or [0]
        number = choose_one("Invoker", [f"node {k}" for k in used], "invoker", "The worker node to show.")
    invoker = int(number.removeprefix("node "))
    node, mode = layouts.nodes[invoker], layouts.mode
    seconds = st.slider(
        "Seconds shown",
        1,
        60,
        8,
        key="serverless-shown-seconds",
        help="From the start of the measured window; longer batches are cut off.",
    )
    for gpu in range(node.gpus):
        own = [r for r in rows if r.invoker == invoker and r.gpu == gpu]
        shown = _Shown(policy, gpu, mode, node, layouts.applications, seconds)
        _gpu(clipped(placed(own), seconds), shown)
    st.caption(
        "Hatched at the left of a batch: slice creation, container start, input transfer. "
        + (
            "Crossed: free memory slices that no MIG profile could cover given those held."
            if WAYS.find(mode).sets_up
            else "Slices need legal places, and can be stranded, only with sharing by "
            f"{' or '.join(f'“{w.title}”' for w in WAYS.values() if w.sets_up)}."
        )
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """Which GPU is drawn: under ``policy`` and ``mode`` of sharing, for its first ``seconds``."""

    policy: str
    gpu: int
    mode: str
    node: LayoutNode
    applications: Sequence[str]
    seconds: int


def _gpu(rows: Sequence[Placed], of: _Shown) -> None:
    way, node = WAYS.find(of.mode), of.node
    cells = max([node.memory if way.sliced else node.vgpus, *(r.high for r in rows)])
    until_s = max((r.to_s for r in rows), default=0.0)
    lost = stranded_spans(rows, node.board, until_s) if way.sets_up else []
    title = layouts_title(rows, lost, cells)
    unit = "memory slice" if way.sliced else "vGPU"
    alt = (
        f"Batches on GPU {of.gpu} of the node over its first {of.seconds} seconds under {of.policy}, by "
        f"application; {unit}s from 0 to {cells - 1}"
    )
    name = f"GPU {of.gpu}: {title}" if node.gpus > 1 else title
    chart(layouts_figure(rows, lost, cells, of.applications, unit), name, f"layout-{of.gpu}", alt)


def choose_one(label: str, options: list[str], name: str, hint: str) -> str:
    """A choice of this page that is kept."""
    return choose.choose_one(label, options, f"serverless-shown-{name}", hint)
