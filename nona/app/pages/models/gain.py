"""What contraction leaves of a model to distribute, and what that could gain."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from nona.app.form import field
from nona.app.models.loading import LoadedModel, fetch
from nona.app.pages.run_page import PageRun, run_area
from nona.app.session.state import AppState
from nona.app.tasks.context import CountAsked
from nona.app.widgets.fields import plain
from nona.app.widgets.results import table, tiles
from nona.cluster.hardware.cluster import Cluster
from nona.core.units import format_bandwidth, format_number, format_time
from nona.models.contraction.rules import RULES
from nona.models.results import ConfigurationCounts
from nona.queries.placement.enumeration import IdleSpan, idle_spans
from nona.queries.report.splitting import left_to_distribute
from nona.queries.workflows.preparation import placement_link
from nona.scenario.words import words


def idle_of(state: AppState, loaded: LoadedModel) -> tuple[IdleSpan, ...]:
    """Return the spans of the model's sub-graphs on this scenario's servers and links, without other load."""
    cluster, prepared = _cluster(state), loaded.prepared
    link, servers = placement_link(cluster), cluster.servers
    return fetch(
        ("idle", loaded.key, link, servers),
        lambda: idle_spans(prepared.tasks, prepared.decomposition, link, servers),
        "Finding the best split",
    )


def _cluster(state: AppState) -> Cluster:
    """Return the servers that run tasks; all of them where each has an engine of language models."""
    spec = state.scenario.cluster
    return spec.build(engines=all(group.engine for group in spec.servers))


def pick_rule(state: AppState) -> None:
    """Draw the button that names the rule; behind it the choice, and what each edge must satisfy."""
    box = st.popover(
        f"Rule: **{plain(state.scenario.contraction)}**",
        icon=":material/rule:",
        help=words("contraction").about,
    )
    with box:
        field(state, "contraction")
        _conditions(state)


def _conditions(state: AppState) -> None:
    rule = RULES[state.scenario.contraction]
    st.caption(f"**{plain(rule.name)}**: an edge {rule.condition}")


def headline(state: AppState, loaded: LoadedModel, spans: Sequence[IdleSpan]) -> None:
    """Say what contraction left to distribute, show it in figures, and say when two tasks may merge."""
    link = placement_link(_cluster(state))
    what = "link" if link.route is None else "path of links"
    first, second = contraction_headline(
        loaded, spans, f"this cluster's {format_bandwidth(link.speed)} {what}"
    )
    st.markdown(f"**{plain(first)}**")
    if second:
        st.markdown(plain(second))
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    after_s = contracted.dag.critical_path(contracted.sum_over_tasks(costed.compute_s))[0]
    most_s = costed.total_compute_s - costed.critical_path_s
    tiles(
        [
            ("Operators", f"{len(contracted.graph.operators):,}", "Nodes of the model graph."),
            ("Tasks", f"{len(contracted.tasks):,}", "What the planner places: merged operators."),
            ("Steps", f"{len(contracted.steps):,}", "Merges, each allowed by the rule."),
            ("Sub-graphs", f"{len(spans):,}", "Parts of the model whose tasks could run in parallel."),
            (
                "Longest chain",
                format_time(after_s),
                f"Before: {format_time(costed.critical_path_s)}. Contraction must not make it longer.",
            ),
            (
                "Saved at most",
                format_time(most_s),
                f"One after the other, the operators take {format_time(costed.total_compute_s)}; no split "
                "takes less than the "
                "longest chain.",
            ),
        ]
    )
    _conditions(state)


def counted(state: AppState, loaded: LoadedModel) -> tuple[int, ...] | None:
    """Return the configurations of each sub-graph, if they were counted for this very model."""
    if loaded.configurations is not None:
        return loaded.configurations
    result = state.result_of("count", ConfigurationCounts)
    if result is None or state.results["count"].fingerprint != loaded.key:
        return None
    return result.configurations


def subgraphs_with_counts(
    state: AppState, loaded: LoadedModel, device: str, spans: Sequence[IdleSpan]
) -> None:
    """Show the table of sub-graphs, and the count where it takes more than a moment."""
    counts = counted(state, loaded)
    if counts is None:
        st.caption("This model's sub-graphs are large: their configurations are counted on request.")
        symbols = state.symbols.get(state.model, {})
        run_area(
            state,
            PageRun(
                kind="count",
                label="Count the configurations",
                result_type=ConfigurationCounts,
                answer=lambda state, counts: None,  # the table below has them
                request=CountAsked(model=state.model, symbols=symbols, device=device),
                version=loaded.key,
            ),
        )
    st.caption("Times run from the end of a sub-graph's root to the start of its sink.")
    prepared = loaded.prepared
    table(
        left_to_distribute(prepared.contracted, prepared.decomposition, spans, counts),
        "subgraphs",
        "What is left to distribute: every sub-graph with its tasks, times and bytes",
    )


def contraction_headline(loaded: LoadedModel, idle: Sequence[IdleSpan], link: str) -> tuple[str, str]:
    """Two sentences: what contraction left and the most that splitting saves; what remains of that here.

    The most is T₁ − T∞ as a share of T₁, with transfers and waits that cost nothing; ``link`` names the
    cluster's link, over which the second sentence counts the transfers, without other traffic.
    """
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    operators, tasks = len(contracted.graph.operators), len(contracted.tasks)
    became = f"{_count(operators, 'operator')} become {_count(tasks, 'task')}"
    if not idle:
        order = ", one after the other" if tasks > 1 else ""
        return f"{became}{order}: nothing in it can run in parallel.", ""
    total = costed.total_compute_s
    most = 100 * (1 - costed.critical_path_s / total) if total > 0 else 0.0
    here = sum(s.local_s - s.best_s for s in idle)
    places = "place is" if len(idle) == 1 else "places are"
    first = (
        f"{became}; {len(idle):,} {places} left where work could run in parallel; splitting can save at "
        f"most {_percent(most)} of the computing time on {costed.device}."
    )
    if total <= 0 or here <= 1e-9 * total:
        second = f"Over {link}, even without other traffic, splitting saves nothing: transfers take longer."
    else:
        second = (
            f"Over {link}, without other traffic, splitting saves {_percent(100 * here / total)} of that "
            f"time ({format_time(here)} of {format_time(total)})."
        )
    return first, second


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _percent(value: float) -> str:
    """Format A share in per cent, with the digits that it needs.

    >>> _percent(2.84), _percent(36.36), _percent(0.021)
    ('2.8 %', '36.4 %', '0.02 %')
    """
    return f"{value:.1f} %" if value >= 0.1 else f"{format_number(value, 1)} %"
