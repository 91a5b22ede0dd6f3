"""The cluster as a drawing, in the colours of a run's loads."""

from __future__ import annotations

import streamlit as st

from nona.app.layout.job_panel import current_job, poll_interval
from nona.app.pages.scenario.mig import size_colour
from nona.app.session.state import AppState
from nona.app.widgets.components import SHADES, Node, colour, draw, el, shade
from nona.app.widgets.fields import plain
from nona.app.widgets.results import table
from nona.cluster.hardware.cluster import Cluster
from nona.core.tables import share_text
from nona.queries.chart_data import LiveRun, ResourceLoad
from nona.queries.report.clusters import (
    ClusterMap,
    ExecutorCell,
    ServerRow,
    Unit,
    background_load,
    cluster_map,
    executors,
)
from nona.scenario.schema import Scenario

DETAILED = 24  # executors up to which each has its bar and its number
CELLS = 1600  # executors up to which each has its cell; beyond, each server has one
PALEST = 0.4  # of the scale, in which bars are drawn: a short bar in the palest colour is not seen
MOST_UNITS, MOST_SERVERS = 32, 1200  # that are drawn


def cluster_drawing(scenario: Scenario, load: ResourceLoad | None, key: str = "cluster-drawing") -> None:
    """Draw the servers that run tasks with the load of a run; without one, all with the background load."""
    cluster = scenario.cluster.build(engines=load is None)
    draw(key, cluster_tree(cluster, load or _background(scenario, cluster), load is not None))


def _background(scenario: Scenario, cluster: Cluster) -> ResourceLoad:
    busy = scenario.background
    return background_load(cluster, busy.compute.utilization, busy.network.utilization)


def cluster_tree(cluster: Cluster, load: ResourceLoad, measured: bool) -> Node:
    """Return the drawing as elements; ``measured``: the loads are those of a run, and give the colours.

    Else executors have the colours of their sizes, as in the MIG editor, and loads are the background's.
    """
    drawing = cluster_map(cluster, load)
    room, units = MOST_SERVERS, []
    for unit in drawing.units[:MOST_UNITS]:
        units.append(_unit(unit, drawing.executors, max(1, room), measured))
        room -= len(unit.servers)
    hidden = len(drawing.units) - MOST_UNITS
    return el(
        "div",
        "clustermap",
        _scale() if measured else _sizes(drawing),
        _core(drawing, "busy" if measured else "background"),
        el("div", "units", *units),
        el("p", "note", f"{hidden:,} more racks are not drawn; {_rest(drawing)}.") if hidden > 0 else None,
    )


def _rest(cluster: ClusterMap) -> str:
    spreads = [unit.spread for unit in cluster.units[MOST_UNITS:]]
    low, high = _share(min(s[1] for s in spreads)), _share(max(s[2] for s in spreads))
    return f"their GPUs are {low if low == high else f'{low} to {high}'} busy"


def _scale() -> Node:
    caption = "Share of the time that each GPU or slice and link is busy, background included: 0 %"
    steps = [el("i", "", __c=shade((k + 0.5) / SHADES)) for k in range(SHADES)]
    return el("p", "note scale", caption, el("span", "steps", *steps, aria_hidden="true"), "100 %")


def _sizes(cluster: ClusterMap) -> Node | None:
    """Return the note on the bars, each its executor's part of the GPU; ``None`` beyond :data:`CELLS`."""
    if cluster.executors > CELLS:
        return None
    return el("p", "note", "Coloured bars show each slice's share of its GPU, not its load.")


def _core(cluster: ClusterMap, word: str) -> Node:
    load_text = f"{_share(cluster.share)} {word}"
    return el(
        "div",
        "core",
        el("b", "", cluster.core),
        el("span", "", cluster.about),
        el("b", "number", load_text),
        role="img",
        aria_label=f"{cluster.core}: {cluster.about}, {load_text}",
        __busy=f"{100 * cluster.share:.1f}%",
        __c=shade(max(cluster.share, PALEST)),
    )


def _unit(unit: Unit, executors: int, most: int, measured: bool) -> Node:
    """Return the drawing of a rack or group: its uplink, its load, and its first servers."""
    shown, more = unit.servers[:most], len(unit.servers) - most
    load_text = _unit_text(unit, measured)
    if executors <= DETAILED:
        inside = [_detailed(server, measured) for server in shown]
    elif executors <= CELLS:
        inside = [_compact(server, measured) for server in shown]
    else:
        inside = [_dot(server, measured) for server in shown]
    kind = "detailed" if executors <= DETAILED else "compact"
    return el(
        "div",
        "unit",
        _wire(unit, measured),
        el("div", "head", el("b", "", unit.title), el("span", "number", load_text)),
        el("div", "foot", unit.about),
        el("div", f"boxes-{kind}", *inside, el("span", "more", f"+ {more:,} more") if more > 0 else None),
        role="group",
        tabindex="0",
        aria_label=f"{unit.title}, {unit.about}: GPUs {load_text}{_uplink_words(unit)}",
    )


def _unit_text(unit: Unit, measured: bool) -> str:
    mean, low, high = unit.spread
    if not measured:
        return f"{_share(mean)} background"
    between = f" ({_share(low)} to {_share(high)})" if _share(low) != _share(high) else ""
    return f"{_share(mean)} busy{between}"


def _wire(unit: Unit, measured: bool) -> Node:
    """Return the line from the core to the unit; with uplinks it is as dark as they are busy, and says so."""
    if unit.uplink is None:
        return el("div", "wire", el("i", "", __c="var(--line)"), aria_hidden="true")
    up, down = unit.uplink
    return el(
        "div",
        "wire",
        el("i", "", __c=shade(max(up, down)) if measured else "var(--line)"),
        el("span", "", f"↑ {_share(up)}  ↓ {_share(down)}") if measured else None,
        title=f"Uplink: {_share(up)} busy towards the core, {_share(down)} from it",
    )


def _uplink_words(unit: Unit) -> str:
    return "" if unit.uplink is None else f"; uplink {_share(max(unit.uplink))} busy"


def _detailed(server: ServerRow, measured: bool) -> Node:
    rows = [_executor(cell, measured) for gpu in server.gpus for cell in gpu]
    card = None
    if server.card_utilization is not None and measured:
        card = el(
            "span", "card", f"↑ {_share(server.card_utilization[0])} ↓ {_share(server.card_utilization[1])}"
        )
    name = el("div", "name", f"Server {server.number}", card)
    return el("div", "box", name, *rows, title=_server_tooltip(server))


def _executor(cell: ExecutorCell, measured: bool) -> Node:
    share, tone = cell.fraction, _size(cell)
    if measured:
        share, tone = cell.share, shade(max(cell.share, PALEST))
    return el(
        "div",
        "executor",
        el("span", "", cell.name),
        el("div", "meter", el("i", ""), __w=f"{100 * share:.1f}%", __mc=tone),
        el("b", "number", _share(cell.share)) if measured else None,
    )


def _size(cell: ExecutorCell) -> str:
    """Return the colour of its size, paler than in the editor: there are many of them."""
    return f"color-mix(in srgb, {colour(size_colour(cell.slices or 7))} 55%, var(--st-background-color))"


def _compact(server: ServerRow, measured: bool) -> Node:
    gpus = [el("span", "gpu", *[_cell(cell, measured) for cell in gpu]) for gpu in server.gpus]
    card = (
        None
        if server.card_utilization is None or not measured
        else el("i", "nic", __c=shade(max(server.card_utilization)))
    )
    return el("span", "server", card, *gpus, title=_server_tooltip(server))


def _cell(cell: ExecutorCell, measured: bool) -> Node:
    return el("i", "", __f=f"{cell.fraction:.4f}", __c=shade(cell.share) if measured else _size(cell))


def _dot(server: ServerRow, measured: bool) -> Node:
    tone = shade(server.share) if measured else _size(server.gpus[0][0])
    return el("i", "dot", title=_server_tooltip(server), __c=tone)


def _server_tooltip(server: ServerRow) -> str:
    cells = [f"{c.name} {_share(c.share)}" for gpu in server.gpus for c in gpu]
    listed = ", ".join(cells[:16]) + (" …" if len(cells) > 16 else "")
    card = ""
    if server.card_utilization is not None:
        card = f"; card {_share(server.card_utilization[0])} out, {_share(server.card_utilization[1])} in"
    return f"Server {server.number}: {listed} busy{card}"


def _share(share: float) -> str:
    """Format A share in per cent; small ones with a digit more, so that a little load is not none.

    >>> _share(0.0), _share(0.004), _share(0.52)
    ('0 %', '0.4 %', '52 %')
    """
    return share_text(share, digits=1 if 0 < share < 0.0995 else 0)


KIND = "simulate"
POLL_S = 0.6


def cluster_result(scenario: Scenario, load: ResourceLoad) -> None:
    """Draw the cluster with the load that a run put on it."""
    cluster_drawing(scenario, load, "cluster-result")
    with st.expander("Every GPU or slice as a table", icon=":material/table:"):
        rows = executors(cluster_map(scenario.cluster.build(), load))
        table(rows, "executor-loads", "Utilisation of every executor and of its server's card")


def live_cluster(state: AppState) -> None:
    """Draw the cluster with the load of the simulation that runs."""
    every_s = poll_interval(current_job(state, KIND), POLL_S)
    if every_s is not None:
        st.fragment(_live, run_every=every_s)(state)


def _live(state: AppState) -> None:
    job = current_job(state, KIND)
    if job is None or not job.running or not job.live or job.fingerprint != state.fingerprint(KIND):
        return  # with another scenario on the page there is no cluster to draw the loads in
    live = LiveRun.from_json(job.live)
    if not live.loads:
        return
    # The run's text begins with the scheduler; those that ended keep their place in the order.
    name = next((n for n in live.loads if live.now.startswith(f"{n},")), list(live.loads)[-1])
    with st.container(border=True, key="live-cluster"):
        st.markdown(f"**{plain(f'The cluster so far under {name}')}**")
        cluster_drawing(state.scenario, live.loads[name], "cluster-live")
