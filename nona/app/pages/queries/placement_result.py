"""A solved placement: verdict, tiles, sentences, tables, charts, configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from nona.app.session.state import AppState
from nona.app.widgets.components import Node, draw, el
from nona.app.widgets.fields import plain
from nona.app.widgets.results import table, titled
from nona.app.widgets.terms import guide_link, term
from nona.core.tables import kept_text, percent_text, time_text
from nona.core.text import cut_inside
from nona.core.units import format_number
from nona.queries.placement import results as placement
from nona.queries.report.placement import comparison, figures, tables
from nona.queries.report.placement.text import LOAD, parts_of, plain_notes, split_finding, verdict
from nona.queries.report.times_off import off_text


def result_tiles(data: placement.PlacementOutcome) -> None:
    """Show the headline, the prediction and the comparison of a placement."""
    with st.container(border=True, key="placement-head"):
        left, right = st.columns([1, 2], vertical_alignment="center")
        with left:
            _hits(data) if comparison.is_slo(data.nona) else _mean(data)
        with right:
            st.markdown(plain(verdict(data.nona, data.local)))
    with st.grid(4, min_column_width=170):
        for fact in _facts(data):
            _small(fact)


def _mean(data: placement.PlacementOutcome) -> None:
    report = data.nona
    st.metric(
        "Mean JCT",
        time_text(comparison.mean_of(report)),
        help=f"Simulated mean {term('JCT')} over the whole mix, waits included.",
    )
    off = data.if_times_off
    st.caption(plain(f"{comparison.interval_text(report)}{f'; {off_text(off)}' if off else ''}"))


def _hits(data: placement.PlacementOutcome) -> None:
    st.metric(
        "SLO hits",
        comparison.hits_text(data.nona),
        help="Simulated share of the jobs that end within their SLO, over the mix.",
    )
    within = comparison.hits_interval_text(data.nona)
    st.caption(plain(f"{within}; mean JCT {time_text(comparison.mean_of(data.nona))}"))


@dataclass(frozen=True, slots=True)
class Metric:
    """A smaller figure: its name, its value, a line on it, and what it is."""

    label: str
    value: str
    line: str
    hint: str


def _facts(data: placement.PlacementOutcome) -> list[Metric]:
    p, simulated = data.nona.predicted, data.nona.simulated
    known = p.jct_s is not None
    wait = f"mean wait by formula {time_text(p.server_wait_s)}" if known else "in full batches"
    return [
        Metric(
            "Candidates",
            f"{simulated.candidates:,}",
            comparison.lead_text(data.nona).partition("; ")[2].rstrip(".").capitalize() or "compared",
            "Number of placements simulated with the same jobs. The search does not prove that no better "
            "placement exists.",
        ),
        Metric(
            "Against local",
            _short(data, "local"),
            _others(data),
            "Local keeps every query on one server; spread splits every query as far as possible. All are "
            "simulated with the same jobs.",
        ),
        Metric("GPU load", percent_text(p.compute_utilization), wait, f"{LOAD} Background included."),
        Metric(
            "Link busy",
            percent_text(p.network_utilization),
            f"mean wait by formula {time_text(p.network_wait_s)}",
            "Background included.",
        ),
    ]


def _small(fact: Metric) -> None:
    with st.container(border=True, gap="xxsmall", height="stretch"):
        st.caption(fact.label, help=fact.hint)
        st.markdown(f"**{plain(fact.value)}**")
        st.caption(plain(fact.line))


def _short(data: placement.PlacementOutcome, name: comparison.Other) -> str:
    """``25 % below`` or in words; the label names the other."""
    text = comparison.distance_text(data, name)
    for ending in (f" than {name}", f" {name}"):
        text = text.removesuffix(ending)
    text = text.removeprefix(f"{name} ")
    return {"as fast as": "as fast", "overloads executors": "no steady state"}.get(text, text)


def _others(data: placement.PlacementOutcome) -> str:
    local = comparison.value_of(data, data.local)
    if local is None:
        local_text = "local overloads GPUs"
    else:
        local_text = f"local {kept_text(local) if comparison.is_slo(data.nona) else time_text(local)}"
    return f"{local_text}; {comparison.distance_text(data, 'spread')}"


def formula_notes(report: placement.PlacementReport) -> None:
    """Show the formula beside the simulation, what is proved of it, and its notes."""
    with st.expander("What the formula predicts, and what is proved", icon=":material/verified:"):
        st.markdown(plain(comparison.formula_text(report)))
        if report.formula is not None:
            st.markdown(
                "The gap is proved for the formula, which uses mean waits, at the server wait of its "
                "optimum. It proves nothing about simulated times."
            )
        for note in plain_notes(report.notes):
            st.markdown(f"- {plain(note)}")
        guide_link("choice", "How it was chosen")


FIRST, MOST, MOST_TASKS = 4, 40, 8


def configuration_list(subgraph: placement.PlacedSubgraph) -> Node:
    """Return the configurations, the most probable first; those beyond ``FIRST`` behind a line to open."""
    ordered = sorted(subgraph.configurations, key=lambda c: -c.probability)
    items = [
        _configuration_item(c, subgraph.root, subgraph.sink, i + 1) for i, c in enumerate(ordered[:MOST])
    ]
    rest = ordered[FIRST:MOST]
    more = None
    if rest:
        share = 100 * sum(c.probability for c in ordered[FIRST:])
        more = el(
            "details",
            "more-items",
            el("summary", "", f"Show {len(rest)} more, together {format_number(share)} %"),
            el("ol", "configurations", *items[FIRST:]),
            data_name="more",
        )
    hidden = len(ordered) - MOST
    note = el("p", "note", f"{hidden} more are in the download.") if hidden > 0 else None
    return el("div", "", el("ol", "configurations", *items[:FIRST]), more, note)


def _configuration_item(
    configuration: placement.PlacedConfiguration, root: str | None, sink: str | None, number: int
) -> Node:
    """Return a configuration as a list item: its probability, and the tasks of each server."""
    share = 100 * configuration.probability
    servers = figures.servers_of(configuration, root, sink)
    about = "; ".join(f"{name}: {', '.join(tasks)}" for name, tasks in servers)
    kind = "local" if configuration.is_local else f"{len(servers)} servers"
    return el(
        "li",
        "configuration local" if configuration.is_local else "configuration",
        el(
            "div",
            "share",
            el("b", "", f"{format_number(share)} %"),
            el("span", "tag", kind),
            el("div", "meter", el("i", ""), __w=f"{share:.2f}%", aria_hidden="true"),
        ),
        el(
            "div",
            "boxes",
            *[_server(name, tasks, i) for i, (name, tasks) in enumerate(servers)],
            role="img",
            aria_label=f"Configuration {number}, {format_number(share)} %: {about}",
        ),
    )


def _server(name: str, tasks: Sequence[str], number: int) -> Node:
    shown = list(tasks) if len(tasks) <= MOST_TASKS else [*tasks[: MOST_TASKS - 2]]
    hidden = len(tasks) - len(shown)
    chips: list[Node] = [el("span", "chip", cut_inside(t, 30)) for t in shown]
    if hidden:
        chips += [
            el("span", "chip quiet", f"{hidden - 1} more"),
            el("span", "chip", cut_inside(tasks[-1], 30)),
        ]
    return el("div", "box", el("div", "name", name), *chips, __c="var(--c0)" if number == 0 else "var(--c1)")


def charts(data: placement.PlacementOutcome) -> None:
    """Show the comparison with local and spread, and what the time is made of."""
    report = data.nona
    left, right = st.columns([2, 3])
    with left:
        what = "SLO hits" if comparison.is_slo(report) else "mean JCT"
        alt = f"Simulated {what} of nona, local and spread"
        titled(figures.comparison_figure(data), comparison.order_finding(data), "comparison", alt)
    models = parts_of(report)
    if models:
        with right:
            alt = "Mean JCT of each model by its parts"
            titled(figures.jct_split_figure(models), split_finding(models), "split", alt)
    with st.expander("The numbers of these charts, and the formula's", icon=":material/table:"):
        table(tables.comparison(data), "comparison-table", "The placement against local and spread")
        st.caption(
            "Compute, transfers and waits are the formula's, along the longest path. Joins and own work are "
            "the time that simulated jobs take beyond that path. Where simulated jobs take less, the waits "
            "are shortened to fit."
        )


def configurations_of(state: AppState, report: placement.PlacementReport) -> None:
    """Show the sub-graphs of a chosen model with their configurations."""
    names = [n for n, m in report.models.items() if any(s.has_interior for s in m.subgraphs)]
    if not names:
        st.info("No model in the mix has a sub-graph that could be split: every query stays on one server.")
        return
    left, right = st.columns([1, 2])
    most = max(names, key=lambda n: max(s.split for s in report.models[n].subgraphs))
    name = left.selectbox(
        "Model",
        names,
        names.index(most),
        key="placed-model",
        persist_state="session",
        help="The model to show; the one split most often comes first.",
    )
    subgraphs = [s for s in report.models[name or names[0]].subgraphs if s.has_interior]
    number = right.selectbox(
        "Sub-graph",
        range(len(subgraphs)),
        max(range(len(subgraphs)), key=lambda i: subgraphs[i].split),
        format_func=lambda i: (
            f"{i + 1}: {subgraphs[i].title} · {format_number(100 * subgraphs[i].split)} % split"
        ),
        key=f"placed-subgraph-{name}",
        persist_state="session",
        help="From its root to its sink; the share is the probability of splitting it.",
    )
    draw("configurations", configuration_list(subgraphs[number if number is not None else 0]))
