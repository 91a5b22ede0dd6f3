"""Show the working on the Placement page: every formula, opened with the numbers of this placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from nona.results.placement.outcome import SolvedPlacement
from nona.results.placement.working import WorkingConfiguration, WorkingLine, WorkingModel
from nona.ui.session.state import AppState
from nona.ui.widgets.fields import plain
from nona.ui.widgets.guide_link import guide_link
from nona.ui.widgets.tables import table
from nona.units import format_time


@dataclass(frozen=True, slots=True)
class Working:
    """Whether the working is shown."""

    on: bool = False


def show_working(state: AppState, data: SolvedPlacement) -> None:
    """A switch; while it is on, all lines, the same order as the computation."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.subheader("Show the working", width="content", anchor="working")
        guide_link("placement", "What the symbols mean")
    on = st.toggle(
        "Every formula with the numbers of this placement",
        state.choices.of(Working).on,
        key="working-on",
        help="Opens each step from the load of the link to the objective, numbers filled in.",
    )
    state.choices.keep(Working(on))
    if not on:
        return
    for line in data.working.lines:
        _line(line)
    _queries(data.working.models)


def _line(line: WorkingLine, name: str = "") -> None:
    with st.expander(f"{plain(name)}{plain(line.title)}: **{plain(value_text(line))}**"):
        st.latex(line.formula)
        st.latex(line.filled)
        if len(line.table) > 1:
            table(pd.DataFrame(list(line.table)), f"working-{line.key}", f"Terms of: {line.title}")


def value_text(line: WorkingLine) -> str:
    """The value of a line with its unit.

    >>> wait = WorkingLine(key="w", title="Wait", formula="W", filled="W", value=0.0012, unit="s")
    >>> value_text(wait), value_text(wait.model_copy(update={"value": 0.5, "unit": ""}))
    ('1.2 ms', '0.5')
    """
    if line.value is None:
        return "no finite value"
    if line.unit == "s":
        return format_time(line.value, 4)
    if line.unit == "s/B":
        return f"{format_time(1e6 * line.value)} per MB"
    return f"{line.value:.4g}"


def _queries(models: Mapping[str, WorkingModel]) -> None:
    for name, model in models.items():
        for line in model.lines:
            _line(line, f"{name}: ")
    names = [n for n, m in models.items() if any(s.configurations and s.interior for s in m.subgraphs)]
    if not names:
        return
    st.markdown("**A sub-graph's time** (equations 10 and 11): along the longest path of each configuration")
    st.latex(r"g_c = \sum p_v + \mathrm{transfers} + n_c W_n + v_c W_c,\qquad g = \sum_c x_c\, g_c")
    left, right = st.columns([1, 2])
    name = left.selectbox("Model", names, key="working-model", help="The model to show.")
    subgraphs = [s for s in models[name or names[0]].subgraphs if s.interior]
    chosen = right.selectbox(
        "Sub-graph",
        range(len(subgraphs)),
        format_func=lambda i: f"{i + 1}: {subgraphs[i].title}",
        key=f"working-subgraph-{name}",
        help="The sub-graph to show; its configurations in use are the rows below.",
    )
    subgraph = subgraphs[chosen or 0]
    table(
        pd.DataFrame([_configuration(i, c) for i, c in enumerate(subgraph.configurations, start=1)]),
        "working-configurations",
        "Longest path of each configuration in use",
    )
    if subgraph.span_s is not None:
        st.caption(f"Mean over the configurations: {format_time(subgraph.span_s, 4)}.")


def _configuration(number: int, c: WorkingConfiguration) -> dict[str, str | float | None]:
    return {
        "configuration": f"{number}{' (local)' if c.local else ''}",
        "x, %": 100 * c.probability,
        "compute ms": 1e3 * c.compute_s,
        "transfers ms": 1e3 * c.transfer_s,
        "n: waits at the link": c.link_waits,
        "v: waits at a server": c.visits,
        "g ms": None if c.span_s is None else 1e3 * c.span_s,
    }
