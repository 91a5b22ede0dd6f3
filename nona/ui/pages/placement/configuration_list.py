"""Configurations of a sub-graph as a list: probability as a bar, next to the servers with their tasks."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.placements.figures.placement import servers_of
from nona.results.placement.configuration import PlacedConfiguration, PlacedSubgraph
from nona.ui.widgets.drawing.drawing import Node, el

FIRST, MOST, MOST_TASKS = 4, 40, 8


def configuration_list(subgraph: PlacedSubgraph) -> Node:
    """The configurations, the most probable first; those beyond ``FIRST`` behind a line to open."""
    ordered = sorted(subgraph.configurations, key=lambda c: -c.probability)
    items = [_item(c, subgraph.root, subgraph.sink, i + 1) for i, c in enumerate(ordered[:MOST])]
    rest = ordered[FIRST:MOST]
    more = None
    if rest:
        share = 100 * sum(c.probability for c in ordered[FIRST:])
        more = el(
            "details",
            "more-items",
            el("summary", "", f"Show {len(rest)} more, which share {share:.3g} %"),
            el("ol", "configurations", *items[FIRST:]),
            data_name="more",
        )
    hidden = len(ordered) - MOST
    note = el("p", "note", f"{hidden} more are in the download.") if hidden > 0 else None
    return el("div", "", el("ol", "configurations", *items[:FIRST]), more, note)


def _item(configuration: PlacedConfiguration, root: str | None, sink: str | None, number: int) -> Node:
    share = 100 * configuration.probability
    servers = servers_of(configuration, root, sink)
    about = "; ".join(f"{name}: {', '.join(tasks)}" for name, tasks in servers)
    kind = "local" if configuration.is_local else f"{len(servers)} servers"
    return el(
        "li",
        "configuration local" if configuration.is_local else "configuration",
        el(
            "div",
            "share",
            el("b", "", f"{share:.3g} %"),
            el("span", "tag", kind),
            el("div", "meter", el("i", ""), __w=f"{share:.2f}%", aria_hidden="true"),
        ),
        el(
            "div",
            "boxes",
            *[_server(name, tasks, i) for i, (name, tasks) in enumerate(servers)],
            role="img",
            aria_label=f"Configuration {number}, {share:.3g} %: {about}",
        ),
    )


def _server(name: str, tasks: Sequence[str], number: int) -> Node:
    shown = list(tasks) if len(tasks) <= MOST_TASKS else [*tasks[: MOST_TASKS - 2]]
    hidden = len(tasks) - len(shown)
    chips: list[Node] = [el("span", "chip", _short(t)) for t in shown]
    if hidden:
        chips += [el("span", "chip quiet", f"{hidden - 1} more"), el("span", "chip", _short(tasks[-1]))]
    return el("div", "box", el("div", "name", name), *chips, __c="var(--c0)" if number == 0 else "var(--c1)")


def _short(text: str) -> str:
    return text if len(text) <= 30 else text[:14] + "…" + text[-15:]
