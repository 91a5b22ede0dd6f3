"""How each policy used what only some scenarios model: shared links, paid waiting, limited memory."""

from __future__ import annotations

from collections.abc import Mapping

from nona.report.means import mean_text
from nona.report.serverless.words import PER, cost_text
from nona.report.text import or_dash, share_text
from nona.results.serverless.outcome import PolicyOutcome
from nona.units import format_time


def transfer_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """The transfers of each policy over a network that they share; none where they do not."""
    return [
        {
            "policy": name,
            "mean transfer": mean_text(used.mean_s, format_time),
            "of it waiting": mean_text(used.wait_s, format_time),
            "core": or_dash(used.core_utilization, share_text),
            "busiest link": used.busiest_link,
            "its use": or_dash(used.busiest_utilization, share_text),
        }
        for name, p in policies.items()
        for used in [p.transfers]
        if used is not None
    ]


def container_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """The containers of each policy, where they pay for waiting or need memory."""
    return [
        {
            "policy": name,
            f"executing, $ per {PER:,}": cost_text(of.executing_per_call_usd),
            f"idle, $ per {PER:,}": cost_text(of.idle_per_call_usd),
            "time busy": or_dash(of.busy, share_text),
            "time idle": or_dash(of.idle, share_text),
            "time starting": or_dash(of.starting, share_text),
        }
        for name, p in policies.items()
        for of in [p.containers]
        if of is not None
    ]


def memory_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """What the containers of each policy hold of the nodes' memory, where it is limited."""
    return [
        {
            "policy": name,
            "memory held": or_dash(of.mean, share_text),
            "at most on a node": or_dash(of.most, share_text),
            "evictions a batch": mean_text(of.evictions, "{:.3g}".format),
        }
        for name, p in policies.items()
        for of in [p.memory]
        if of is not None
    ]


def standing_rows(policies: Mapping[str, PolicyOutcome]) -> list[dict[str, str]]:
    """The instances of each policy whose instances stand, and the parts of their cost."""
    return [
        {
            "policy": name,
            "instances": or_dash(s.instances, "{:.1f}".format),
            "starts": or_dash(s.starts, "{:.1f}".format),
            "busy": or_dash(s.busy_share, share_text),
            "idle": or_dash(s.idle_share, share_text),
        }
        for name, p in policies.items()
        if (s := p.standing) is not None
    ]
