"""The cluster as a picture: server groups, their GPUs and slices, the links, background load as fill."""

from __future__ import annotations

from nona.hardware.cluster import Cluster
from nona.report.inputs.cluster import GroupPicture, group_picture, link_lines
from nona.ui.widgets.drawing.drawing import Node, colour, el
from nona.ui.widgets.migview.migview import size_colour
from nona.units import format_time

MOST_SERVERS, MOST_GPUS = 24, 8


def cluster_picture(cluster: Cluster, compute_busy: float, link_busy: float) -> Node:
    """All groups above the link that they share; ``…_busy`` are the background's utilisations."""
    groups = [group_picture(cluster, g) for g in cluster.groups]
    return el(
        "div",
        "cluster",
        el("div", "groups", *[_group(g, compute_busy) for g in groups]),
        el("div", "wires", *[el("i", "") for _ in range(min(len(groups), 12))], aria_hidden="true"),
        _links(cluster, link_busy),
        el(
            "p",
            "note",
            "Grey fill: background load, ",
            f"{compute_busy:.0%} of every executor and {link_busy:.0%} of every link.",
        ),
    )


def _group(group: GroupPicture, busy: float) -> Node:
    shown, gpus = min(group.servers, MOST_SERVERS), min(group.gpus, MOST_GPUS)
    gpu = [
        el("i", "", __f=f"{fraction:.4f}", __c=colour(size_colour(slices or 7)), __busy=f"{busy:.0%}")
        for _, fraction, slices in group.slices
    ]
    server = el("span", "server", *[el("span", "gpu", *gpu) for _ in range(gpus)])
    more = group.servers - shown
    names = ", ".join(dict.fromkeys(name for name, _, _ in group.slices))
    about = f"{group.servers:,} servers with {group.gpus} GPU each: {group.device}, {group.sharing} ({names})"
    return el(
        "div",
        "group",
        el(
            "div",
            "head",
            el("b", "", _plural(group.servers, "server")),
            f" with {group.gpus} × {group.device}",
        ),
        el(
            "div",
            "servers",
            *[server for _ in range(shown)],
            el("span", "more", f"+ {more:,} more") if more else None,
            role="img",
            aria_label=about,
        ),
        el("div", "foot", f"{group.sharing} · {group.vcpus} vCPUs each"),
    )


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _links(cluster: Cluster, busy: float) -> Node:
    network = cluster.network
    discipline = "one message after the other" if network.discipline == "fifo" else "shared equally"
    bars = []
    for name, rate in link_lines(cluster):
        last = name in ("Core", "Link")
        about = f"{rate}, {discipline}, {format_time(network.latency_s)} latency" if last else rate
        bars.append(
            el(
                "div",
                "link",
                el("b", "", name),
                el("span", "", about),
                role="img",
                aria_label=f"{name}: {about}, background {busy:.0%}",
                __busy=f"{busy:.0%}",
            )
        )
    return el("div", "links", *bars)
